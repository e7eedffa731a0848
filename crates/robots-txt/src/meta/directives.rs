//! What holds for one robot.

use std::{fmt, time::SystemTime};

use super::{
    Directive, ImagePreview, Limit, UnavailableAfter,
    items::{ItemKind, Items},
};

/// Directives that hold for one robot; by default it may do everything.
///
/// Of two that contradict each other the stricter holds, whichever comes
/// first: `index, noindex` is `noindex`, of two limits the smaller one holds,
/// of two dates the earlier (Google's "Robots meta tag" specification; what
/// TDG 9.4.7 leaves undefined).
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
    /// One of each rank, in the order of the ranks.
    directives: Vec<Directive>,
}

/// What Bing's chat may show of a page, and models may learn from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ChatUse {
    /// Everything.
    Full,
    /// Address, title and snippet: `nocache`, also beside `noarchive`.
    Limited,
    /// Nothing: `noarchive` alone.
    Excluded,
}

impl RobotsDirectives {
    /// Reads a list as it stands in a META tag; what is not known is skipped.
    #[must_use]
    pub fn parse(content: &str) -> Self {
        Items::of_tag(content)
            .filter_map(|item| match item.kind {
                ItemKind::Directives(directives) => Some(directives),
                ItemKind::Token | ItemKind::Unknown => None,
            })
            .flatten()
            .flatten()
            .collect()
    }

    /// Adds a directive, unless a stricter one is there.
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

    /// Returns the directives, one of each kind.
    pub fn iter(&self) -> impl Iterator<Item = &Directive> {
        self.directives.iter()
    }

    /// Returns `true` if nothing is restricted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.directives.is_empty()
    }

    /// Returns `true` if the page may be indexed.
    #[must_use]
    pub fn index(&self) -> bool {
        !self.has(&Directive::NoIndex)
    }

    /// Returns `true` if links of the page may be followed.
    #[must_use]
    pub fn follow(&self) -> bool {
        !self.has(&Directive::NoFollow)
    }

    /// Returns `true` if a stored copy may be shown: neither `noarchive` nor `nocache`.
    #[must_use]
    pub fn archive(&self) -> bool {
        !self.has(&Directive::NoArchive) && !self.has(&Directive::NoCache)
    }

    /// Returns what Bing's chat may show: it distinguishes `noarchive` and `nocache`.
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

    /// Returns `true` if `nosnippet` is absent; see [`snippet_limit`](Self::snippet_limit).
    #[must_use]
    pub fn snippet(&self) -> bool {
        !self.has(&Directive::NoSnippet)
    }

    /// Returns `true` if a translation may be offered.
    #[must_use]
    pub fn translate(&self) -> bool {
        !self.has(&Directive::NoTranslate)
    }

    /// Returns `true` if images of the page may be indexed.
    #[must_use]
    pub fn imageindex(&self) -> bool {
        !self.has(&Directive::NoImageIndex)
    }

    /// Returns `true` if the page may be indexed inside of others, though not by itself.
    ///
    /// `indexifembedded` counts only beside `noindex`.
    #[must_use]
    pub fn indexifembedded(&self) -> bool {
        self.has(&Directive::IndexIfEmbedded) && !self.index()
    }

    /// Returns the characters of a snippet that `max-snippet` allows, if it is there.
    #[must_use]
    pub fn max_snippet(&self) -> Option<Limit> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxSnippet(limit) => Some(*limit),
                _ => None,
            })
    }

    /// Returns the characters of a snippet in the end: `nosnippet` beats `max-snippet`.
    #[must_use]
    pub fn snippet_limit(&self) -> Limit {
        if self.snippet() {
            self.max_snippet().unwrap_or(Limit::Unlimited)
        } else {
            Limit::AtMost(0)
        }
    }

    /// Returns the size of a preview image that is allowed, if that is said.
    #[must_use]
    pub fn max_image_preview(&self) -> Option<ImagePreview> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxImagePreview(size) => Some(*size),
                _ => None,
            })
    }

    /// Returns the seconds of a preview video that are allowed, if that is said.
    #[must_use]
    pub fn max_video_preview(&self) -> Option<Limit> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxVideoPreview(limit) => Some(*limit),
                _ => None,
            })
    }

    /// Returns the moment after which the page is not shown, if there is one.
    #[must_use]
    pub fn unavailable_after(&self) -> Option<&UnavailableAfter> {
        self.directives
            .iter()
            .find_map(|directive| match directive {
                Directive::UnavailableAfter(after) => Some(after),
                _ => None,
            })
    }

    /// Returns `true` if the page may be shown in results now.
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

/// Writes the list as a META tag or a header holds it, `all` for an empty one.
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
    fn by_default_everything_is_allowed() {
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
    fn of_a_conflict_the_stricter_holds() {
        // TDG 9.4.7, said there to be undefined.
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
    fn nosnippet_beats_max_snippet() {
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
    fn bing_s_chat_tells_noarchive_and_nocache_apart() {
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
