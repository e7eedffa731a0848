//! Directives for one robot.

use std::{fmt, time::SystemTime};

use super::{
    Directive, ImagePreview, Limit, UnavailableAfter,
    items::{ItemKind, Items},
};

/// The directives that apply to one robot; the default contains no restrictions.
///
/// If directives contradict each other, the stricter directive applies, regardless of the order:
/// `index, noindex` means `noindex`. Of two limits the smaller applies, and of two dates the
/// earlier (Google's "Robots meta tag" specification; undefined in TDG 9.4.7).
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::meta::RobotsDirectives;
///
/// let directives = RobotsDirectives::parse("INDEX,NOINDEX,NOFOLLOW,FOLLOW,FOLLOW");
/// assert!(!directives.index() && !directives.follow() && directives.archive());
/// assert_eq!(directives.to_string(), "noindex, nofollow");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RobotsDirectives {
    /// The directives, sorted by rank; there is at most one of each rank.
    directives: Vec<Directive>,
}

/// The permitted use of a page in Bing's chat and for training AI models.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ChatUse {
    /// The page may be used without restrictions.
    Full,
    /// Only the URL, title and snippet may be used: `nocache`, alone or in combination with
    /// `noarchive`.
    Limited,
    /// The page must not be used: `noarchive` without `nocache`.
    Excluded,
}

impl RobotsDirectives {
    /// Parses the list of directives in a META tag; unknown items are skipped.
    #[must_use]
    pub fn parse(content: &str) -> Self {
        Items::from_tag(content)
            .filter_map(|item| match item.kind {
                ItemKind::Directives(directives) => Some(directives),
                ItemKind::Token | ItemKind::Unknown => None,
            })
            .flatten()
            .flatten()
            .collect()
    }

    /// Adds a directive unless a stricter directive of the same kind is present.
    pub fn add(&mut self, directive: Directive) {
        let rank = directive.rank();
        match self.directives.binary_search_by_key(&rank, Directive::rank) {
            Err(at) => self.directives.insert(at, directive),
            Ok(at) => {
                if let Some(known) = self.directives.get_mut(at)
                    && directive.is_stricter_than(known)
                {
                    *known = directive;
                }
            }
        }
    }

    /// Returns the directives, at most one of each kind.
    pub fn iter(&self) -> impl Iterator<Item = &Directive> {
        self.directives.iter()
    }

    /// Returns `true` if there are no directives and therefore no restrictions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.directives.is_empty()
    }

    /// Returns `true` if the page may be indexed.
    #[must_use]
    pub fn index(&self) -> bool {
        !self.has(&Directive::NoIndex)
    }

    /// Returns `true` if links on the page may be followed.
    #[must_use]
    pub fn follow(&self) -> bool {
        !self.has(&Directive::NoFollow)
    }

    /// Returns `true` if a cached copy of the page may be shown, because neither `noarchive` nor
    /// `nocache` is present.
    #[must_use]
    pub fn archive(&self) -> bool {
        !self.has(&Directive::NoArchive) && !self.has(&Directive::NoCache)
    }

    /// Returns the permitted use in Bing's chat, which distinguishes between `noarchive` and
    /// `nocache`.
    #[must_use]
    pub fn chat_use(&self) -> ChatUse {
        if self.has(&Directive::NoCache) {
            ChatUse::Limited
        } else if self.has(&Directive::NoArchive) {
            ChatUse::Excluded
        } else {
            ChatUse::Full
        }
    }

    /// Returns `true` if a snippet may be shown, because `nosnippet` is not present; see also
    /// [`snippet_limit`](Self::snippet_limit).
    #[must_use]
    pub fn snippet(&self) -> bool {
        !self.has(&Directive::NoSnippet)
    }

    /// Returns `true` if a translation of the page may be offered.
    #[must_use]
    pub fn translate(&self) -> bool {
        !self.has(&Directive::NoTranslate)
    }

    /// Returns `true` if images on the page may be indexed.
    #[must_use]
    pub fn imageindex(&self) -> bool {
        !self.has(&Directive::NoImageIndex)
    }

    /// Returns `true` if the page may be indexed only when embedded in other pages.
    ///
    /// `indexifembedded` has an effect only together with `noindex`.
    #[must_use]
    pub fn indexifembedded(&self) -> bool {
        self.has(&Directive::IndexIfEmbedded) && !self.index()
    }

    /// Returns the maximum number of characters in a snippet from `max-snippet`, if present.
    #[must_use]
    pub fn max_snippet(&self) -> Option<Limit> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxSnippet(limit) => Some(*limit),
                _ => None,
            })
    }

    /// Returns the effective maximum length of a snippet; `nosnippet` overrides `max-snippet`.
    #[must_use]
    pub fn snippet_limit(&self) -> Limit {
        if self.snippet() {
            self.max_snippet().unwrap_or(Limit::Unlimited)
        } else {
            Limit::AtMost(0)
        }
    }

    /// Returns the maximum size of a preview image, if specified.
    #[must_use]
    pub fn max_image_preview(&self) -> Option<ImagePreview> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxImagePreview(size) => Some(*size),
                _ => None,
            })
    }

    /// Returns the maximum length of a preview video in seconds, if specified.
    #[must_use]
    pub fn max_video_preview(&self) -> Option<Limit> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxVideoPreview(limit) => Some(*limit),
                _ => None,
            })
    }

    /// Returns the time after which the page must not be shown, if specified.
    #[must_use]
    pub fn unavailable_after(&self) -> Option<&UnavailableAfter> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::UnavailableAfter(after) => Some(after),
                _ => None,
            })
    }

    /// Returns `true` if the page may currently be shown in search results.
    #[must_use]
    pub fn is_indexable(&self, now: SystemTime) -> bool {
        let is_over = self.unavailable_after().is_some_and(|it| it.is_past(now));
        self.index() && !is_over
    }

    fn has(&self, directive: &Directive) -> bool {
        self.directives.contains(directive)
    }
}

impl Extend<Directive> for RobotsDirectives {
    fn extend<I: IntoIterator<Item = Directive>>(&mut self, directives: I) {
        for directive in directives {
            self.add(directive);
        }
    }
}

impl FromIterator<Directive> for RobotsDirectives {
    fn from_iter<I: IntoIterator<Item = Directive>>(directives: I) -> Self {
        let mut all = Self::default();
        all.extend(directives);
        all
    }
}

/// Writes the list in the format of META tags and headers; an empty list is written as `all`.
impl fmt::Display for RobotsDirectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("all");
        }
        for (at, directive) in self.directives.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            directive.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn everything_is_allowed_by_default() {
        for content in [
            "",
            "all",
            "index, follow",
            "INDEX,FOLLOW",
            "noodp, max-snippet:x",
        ] {
            let it = RobotsDirectives::parse(content);
            assert_eq!(it, RobotsDirectives::default(), "{content}");
            assert!(it.index() && it.follow() && it.archive() && it.snippet());
            assert!(it.translate() && it.imageindex() && !it.indexifembedded());
            assert_eq!(it.max_snippet(), None);
            assert_eq!(it.max_image_preview(), None);
            assert_eq!(it.max_video_preview(), None);
            assert_eq!(it.unavailable_after(), None);
            assert_eq!(it.to_string(), "all");
        }
    }

    #[test]
    fn each_directive_restricts_one_thing() {
        let one = RobotsDirectives::parse;
        assert!(!one("noindex").index() && one("noindex").follow());
        assert!(!one("nofollow").follow() && one("nofollow").index());
        assert!(!one("none").index() && !one("none").follow() && one("none").archive());
        assert!(!one("noarchive").archive() && !one("nocache").archive());
        assert!(!one("nosnippet").snippet() && !one("notranslate").translate());
        assert!(!one("noimageindex").imageindex() && one("noimageindex").index());
        assert!(!one("indexifembedded").indexifembedded());
        assert!(one("indexifembedded, none").indexifembedded());
        assert!(!one("indexifembedded, none").index());
    }

    #[test]
    fn stricter_of_two_directives_applies() {
        // Undefined according to TDG 9.4.7.
        let it = RobotsDirectives::parse("INDEX,NOINDEX,NOFOLLOW,FOLLOW,FOLLOW");
        assert!(!it.index() && !it.follow());
        let strict = "max-snippet:20, max-image-preview:none, max-video-preview:3, \
            unavailable_after: 2010-01-01";
        let loose = "max-snippet:-1, max-image-preview:large, max-video-preview:30, \
            unavailable_after: 2 Jan 2010";
        let expected = RobotsDirectives::parse(strict);
        for both in [format!("{strict}, {loose}"), format!("{loose}, {strict}")] {
            assert_eq!(RobotsDirectives::parse(&both), expected, "{both}");
        }
        let it = RobotsDirectives::parse("max-image-preview:large,max-image-preview:standard");
        assert_eq!(it.max_image_preview(), Some(ImagePreview::Standard));
        let it = RobotsDirectives::parse("max-snippet:0,max-snippet:-1");
        assert_eq!(it.max_snippet(), Some(Limit::AtMost(0)));
    }

    #[test]
    fn nosnippet_overrides_max_snippet() {
        let it = RobotsDirectives::parse("max-snippet:50, nosnippet");
        assert!(!it.snippet());
        assert_eq!(it.snippet_limit(), Limit::AtMost(0));
        assert_eq!(it.max_snippet(), Some(Limit::AtMost(50)));
        let it = RobotsDirectives::parse("max-snippet:50");
        assert_eq!(it.snippet_limit(), Limit::AtMost(50));
        let it = RobotsDirectives::default();
        assert_eq!(it.snippet_limit(), Limit::Unlimited);
    }

    #[test]
    fn bing_chat_distinguishes_noarchive_and_nocache() {
        let chat = |content| RobotsDirectives::parse(content).chat_use();
        assert_eq!(chat("noindex"), ChatUse::Full);
        assert_eq!(chat("noarchive"), ChatUse::Excluded);
        assert_eq!(chat("nocache"), ChatUse::Limited);
        assert_eq!(chat("noarchive, nocache"), ChatUse::Limited);
    }

    #[test]
    fn page_is_indexable_until_its_date() {
        let it = RobotsDirectives::parse("unavailable_after: 1970-01-01T00:01Z");
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(it.is_indexable(at(60)));
        assert!(!it.is_indexable(at(61)));
        assert!(!RobotsDirectives::parse("none").is_indexable(at(0)));
    }
}
