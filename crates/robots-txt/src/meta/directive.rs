//! One directive.

use std::fmt;

use super::UnavailableAfter;

/// Directive that keeps a robot from something.
///
/// `index`, `follow` and `all` say what holds anyway, so they are none;
/// `none` is [`NoIndex`](Self::NoIndex) and [`NoFollow`](Self::NoFollow).
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Directive {
    /// `noindex`: the page is not shown in results.
    NoIndex,
    /// `nofollow`: links of the page are not followed.
    NoFollow,
    /// `noarchive`: no copy is kept for visitors; Bing's chat leaves the page out.
    NoArchive,
    /// `nocache`: Bing's word for it; its chat shows address, title and snippet.
    NoCache,
    /// `nosnippet`: no text or video of the page is shown.
    NoSnippet,
    /// `notranslate`: no translation is offered.
    NoTranslate,
    /// `noimageindex`: images of the page are not indexed.
    NoImageIndex,
    /// `indexifembedded`: with `noindex`, the page may be indexed inside of others.
    IndexIfEmbedded,
    /// `max-snippet`: characters of a snippet.
    MaxSnippet(Limit),
    /// `max-image-preview`: size of a preview image.
    MaxImagePreview(ImagePreview),
    /// `max-video-preview`: seconds of a preview video.
    MaxVideoPreview(Limit),
    /// `unavailable_after`: not shown after a moment.
    UnavailableAfter(UnavailableAfter),
}

/// Limit of a preview; a smaller one is the stricter.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Limit {
    /// So many characters or seconds; 0 is none at all.
    AtMost(u32),
    /// `-1`: as many as the robot likes.
    Unlimited,
}

/// Size of a preview image; a smaller one is the stricter.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ImagePreview {
    /// No image.
    None,
    /// An image of the usual size.
    Standard,
    /// An image as large as the screen is wide.
    Large,
}

/// Names of the directives that have a value.
const VALUED: [&str; 4] = [
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
];

/// Words that stand for one directive.
const WORDS: [(&str, Directive); 8] = [
    ("noindex", Directive::NoIndex),
    ("nofollow", Directive::NoFollow),
    ("noarchive", Directive::NoArchive),
    ("nocache", Directive::NoCache),
    ("nosnippet", Directive::NoSnippet),
    ("notranslate", Directive::NoTranslate),
    ("noimageindex", Directive::NoImageIndex),
    ("indexifembedded", Directive::IndexIfEmbedded),
];

impl Directive {
    /// Returns every word that is known, without values.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let words = WORDS.iter().map(|(word, _)| *word);
        words
            .chain(VALUED)
            .chain(["none", "all", "index", "follow"])
    }

    /// Returns what a word stands for, up to two directives; `None` for a word that is none.
    pub(super) fn of_word(word: &str) -> Option<[Option<Self>; 2]> {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        if is("none") {
            return Some([Some(Self::NoIndex), Some(Self::NoFollow)]);
        }
        if ["all", "index", "follow"].into_iter().any(is) {
            return Some([None, None]);
        }
        let (_, directive) = WORDS.iter().find(|(name, _)| is(name))?;
        Some([Some(directive.clone()), None])
    }

    /// Returns the directive of a name and a value.
    pub(super) fn of_pair(name: &str, value: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("max-snippet") {
            Limit::parse(value).map(Self::MaxSnippet)
        } else if is("max-video-preview") {
            Limit::parse(value).map(Self::MaxVideoPreview)
        } else if is("max-image-preview") {
            ImagePreview::parse(value).map(Self::MaxImagePreview)
        } else if is("unavailable_after") {
            UnavailableAfter::parse(value).map(Self::UnavailableAfter)
        } else {
            None
        }
    }

    /// Returns `true` if a name is a directive's, with or without a value, `-` and `_` being the
    /// same.
    pub(super) fn is_name(name: &str) -> bool {
        // A misspelt `max_snippet: 50` must not pass for rules of a robot of that name.
        let same = |known: &str| {
            known.len() == name.len()
                && known.bytes().zip(name.bytes()).all(|(known, byte)| {
                    let signs = [known, byte].iter().all(|sign| b"-_".contains(sign));
                    signs || known.eq_ignore_ascii_case(&byte)
                })
        };
        VALUED.into_iter().any(same) || Self::of_word(name).is_some()
    }

    /// Returns what tells apart directives that do not replace each other.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::NoIndex => 0,
            Self::NoFollow => 1,
            Self::NoArchive => 2,
            Self::NoCache => 3,
            Self::NoSnippet => 4,
            Self::NoTranslate => 5,
            Self::NoImageIndex => 6,
            Self::IndexIfEmbedded => 7,
            Self::MaxSnippet(_) => 8,
            Self::MaxImagePreview(_) => 9,
            Self::MaxVideoPreview(_) => 10,
            Self::UnavailableAfter(_) => 11,
        }
    }

    /// Returns `true` if this one replaces another of the same rank.
    pub(super) fn is_stricter_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MaxSnippet(ours), Self::MaxSnippet(theirs))
            | (Self::MaxVideoPreview(ours), Self::MaxVideoPreview(theirs)) => ours < theirs,
            (Self::MaxImagePreview(ours), Self::MaxImagePreview(theirs)) => ours < theirs,
            (Self::UnavailableAfter(ours), Self::UnavailableAfter(theirs)) => {
                ours.unix_seconds() < theirs.unix_seconds()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIndex => f.write_str("noindex"),
            Self::NoFollow => f.write_str("nofollow"),
            Self::NoArchive => f.write_str("noarchive"),
            Self::NoCache => f.write_str("nocache"),
            Self::NoSnippet => f.write_str("nosnippet"),
            Self::NoTranslate => f.write_str("notranslate"),
            Self::NoImageIndex => f.write_str("noimageindex"),
            Self::IndexIfEmbedded => f.write_str("indexifembedded"),
            Self::MaxSnippet(limit) => write!(f, "max-snippet:{limit}"),
            Self::MaxImagePreview(size) => write!(f, "max-image-preview:{size}"),
            Self::MaxVideoPreview(limit) => write!(f, "max-video-preview:{limit}"),
            Self::UnavailableAfter(after) => write!(f, "unavailable_after: {after}"),
        }
    }
}

impl Limit {
    /// Returns the number that stands for it: -1 for no limit.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::AtMost(limit) => i64::from(limit),
            Self::Unlimited => -1,
        }
    }

    /// Reads digits, or `-1`; a number that is too large counts as the largest.
    fn parse(text: &str) -> Option<Self> {
        if text == "-1" {
            return Some(Self::Unlimited);
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Of digits alone, only a number that is too large is refused.
        is_number.then(|| Self::AtMost(text.parse().unwrap_or(u32::MAX)))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl ImagePreview {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::Large => "large",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut sizes = [Self::None, Self::Standard, Self::Large].into_iter();
        sizes.find(|size| text.eq_ignore_ascii_case(size.as_str()))
    }
}

impl fmt::Display for ImagePreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_a_number_of_digits_or_minus_one() {
        assert_eq!(Limit::parse("50"), Some(Limit::AtMost(50)));
        assert_eq!(Limit::parse("0050"), Some(Limit::AtMost(50)));
        assert_eq!(Limit::parse("-1"), Some(Limit::Unlimited));
        let largest = Limit::AtMost(u32::MAX);
        assert_eq!(Limit::parse("99999999999999999999"), Some(largest));
        for text in ["", "-2", "+50", "5.5", "fifty", "50 characters", "٥"] {
            assert_eq!(Limit::parse(text), None, "{text}");
        }
        assert!(Limit::AtMost(u32::MAX) < Limit::Unlimited);
    }

    #[test]
    fn names_are_known_however_their_signs_are_written() {
        for name in ["max-snippet", "MAX_SNIPPET", "unavailable-after", "None"] {
            assert!(Directive::is_name(name), "{name}");
        }
        for name in ["googlebot", "max-snippets", "max snippet", ""] {
            assert!(!Directive::is_name(name), "{name}");
        }
    }
}
