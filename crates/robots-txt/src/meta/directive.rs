//! A single directive.

use std::fmt;

use super::UnavailableAfter;

/// A directive that restricts what a robot may do with a page.
///
/// `index`, `follow` and `all` state the default and are not directives; `none` is represented as
/// [`NoIndex`](Self::NoIndex) and [`NoFollow`](Self::NoFollow).
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Directive {
    /// `noindex`: the page is not shown in search results.
    NoIndex,
    /// `nofollow`: links on the page are not followed.
    NoFollow,
    /// `noarchive`: no cached copy of the page is shown, and Bing's chat does not use the page.
    NoArchive,
    /// `nocache`: like `noarchive`, except that Bing's chat may show the URL, title and snippet.
    NoCache,
    /// `nosnippet`: no text or video from the page is shown.
    NoSnippet,
    /// `notranslate`: no translation of the page is offered.
    NoTranslate,
    /// `noimageindex`: images on the page are not indexed.
    NoImageIndex,
    /// `indexifembedded`: despite `noindex`, the page may be indexed when embedded in others.
    IndexIfEmbedded,
    /// `max-snippet`: the maximum number of characters in a snippet.
    MaxSnippet(Limit),
    /// `max-image-preview`: the maximum size of a preview image.
    MaxImagePreview(ImagePreview),
    /// `max-video-preview`: the maximum length of a preview video in seconds.
    MaxVideoPreview(Limit),
    /// `unavailable_after`: the page is not shown after the given time.
    UnavailableAfter(UnavailableAfter),
}

/// A limit for a text or video preview; smaller limits are stricter.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Limit {
    /// The maximum number of characters or seconds; 0 means that there is no preview.
    AtMost(u32),
    /// There is no limit (`-1`).
    Unlimited,
}

/// The size of a preview image; smaller sizes are stricter.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ImagePreview {
    /// No preview image is shown.
    None,
    /// A preview image of the default size is shown.
    Standard,
    /// A preview image up to the width of the screen is shown.
    Large,
}

/// The names of the directives that take a value.
const VALUED: [&str; 4] = [
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
];

/// The names of the directives that take no value.
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
    /// Returns all known directive names, without values.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let words = WORDS.iter().map(|(word, _)| *word);
        words
            .chain(VALUED)
            .chain(["none", "all", "index", "follow"])
    }

    /// Returns the directives that a word stands for (at most two), or `None` if the word is
    /// unknown.
    pub(super) fn from_word(word: &str) -> Option<[Option<Self>; 2]> {
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

    /// Returns the directive with the given name and value.
    pub(super) fn from_pair(name: &str, value: &str) -> Option<Self> {
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

    /// Returns `true` if the text is the name of a directive, whether or not it takes a value; `-`
    /// and `_` are equivalent.
    pub(super) fn is_name(name: &str) -> bool {
        // A misspelt `max_snippet: 50` must not be parsed as rules for a robot with that name.
        let same = |known: &str| {
            known.len() == name.len()
                && known.bytes().zip(name.bytes()).all(|(known, byte)| {
                    let signs = [known, byte].iter().all(|sign| b"-_".contains(sign));
                    signs || known.eq_ignore_ascii_case(&byte)
                })
        };
        VALUED.into_iter().any(same) || Self::from_word(name).is_some()
    }

    /// Returns the directive's rank, which is the same for directives that replace each other.
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

    /// Returns `true` if this directive is stricter than another directive with the same rank.
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
    /// Returns the limit as a number; -1 means no limit.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::AtMost(limit) => i64::from(limit),
            Self::Unlimited => -1,
        }
    }

    /// Parses a limit, which consists of digits or is `-1`; numbers that are too large become the
    /// maximum.
    fn parse(text: &str) -> Option<Self> {
        if text == "-1" {
            return Some(Self::Unlimited);
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Parsing digits fails only for numbers that are too large.
        is_number.then(|| Self::AtMost(text.parse().unwrap_or(u32::MAX)))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl ImagePreview {
    /// Returns the name of the image size.
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
    fn limit_consists_of_digits_or_is_minus_one() {
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
    fn hyphens_and_underscores_in_names_are_equivalent() {
        for name in ["max-snippet", "MAX_SNIPPET", "unavailable-after", "None"] {
            assert!(Directive::is_name(name), "{name}");
        }
        for name in ["googlebot", "max-snippets", "max snippet", ""] {
            assert!(!Directive::is_name(name), "{name}");
        }
    }
}
