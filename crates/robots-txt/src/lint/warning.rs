//! A warning and its kind.

use std::fmt;

/// Something in a file that will be read in another way than it is meant.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// Line that it is about, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: WarningKind,
    /// What robots will do, and what to write instead; no control characters.
    pub text: String,
}

/// Declares the kinds and their words.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident = $word:literal,)+) => {
        /// What is wrong with a line.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum WarningKind {
            $($(#[$doc])+ $kind,)+
        }

        impl WarningKind {
            /// Returns the word for it, in lower case with hyphens.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)+
                }
            }
        }
    };
}

kinds! {
    /// Field that robots do not know.
    UnknownField = "unknown-field",
    /// Line without a colon.
    MissingColon = "missing-colon",
    /// Rule that belongs to no group.
    OrphanRule = "orphan-rule",
    /// `Disallow` without a path, beside other rules or in a dialect that refuses all by it.
    EmptyDisallow = "empty-disallow",
    /// `Allow` without a path.
    EmptyAllow = "empty-allow",
    /// `Allow` in a dialect that does not know it.
    UnknownAllow = "unknown-allow",
    /// `User-agent` without a name.
    EmptyAgent = "empty-agent",
    /// `User-agent` whose value is no product token.
    BadAgent = "bad-agent",
    /// Path that does not begin with a slash or has spaces.
    BadPath = "bad-path",
    /// URL in place of a path.
    FullUrl = "full-url",
    /// `%` that two hexadecimal digits do not follow.
    BadEscape = "bad-escape",
    /// Wildcard in a dialect without wildcards.
    Wildcard = "wildcard",
    /// Rule that another of its group always beats.
    ShadowedRule = "shadowed-rule",
    /// Rule that stands twice in its group.
    DuplicateRule = "duplicate-rule",
    /// Name that stands twice in a group.
    DuplicateAgent = "duplicate-agent",
    /// Robot with several groups, which are read together.
    SplitGroup = "split-group",
    /// Robot with several groups, of which the first only is read.
    UnreadGroup = "unread-group",
    /// Blank line that ends a group before its last rule.
    BlankLine = "blank-line",
    /// `Crawl-delay` that will be ignored.
    CrawlDelay = "crawl-delay",
    /// `Request-rate` that will be ignored.
    RequestRate = "request-rate",
    /// `Sitemap` that is no absolute URL.
    Sitemap = "sitemap",
    /// `Host` that will be ignored.
    Host = "host",
    /// `Clean-param` that will be ignored.
    CleanParam = "clean-param",
    /// `Content-Signal` with a word that robots do not know.
    ContentSignal = "content-signal",
    /// `Content-Usage` with a word that robots do not know.
    ContentUsage = "content-usage",
    /// `Noindex` and its kin, which robots.txt does not know.
    Noindex = "noindex",
    /// Byte order mark at the beginning.
    ByteOrderMark = "byte-order-mark",
    /// NUL octet.
    Nul = "nul",
    /// Control character other than NUL and tab.
    ControlCharacter = "control-character",
    /// Octets that are not UTF-8.
    NotUtf8 = "not-utf-8",
    /// Line of more than 16,663 octets.
    LongLine = "long-line",
    /// File of more than 500 KiB.
    LongFile = "long-file",
    /// HTML in place of text.
    Html = "html",
    /// Text in UTF-16.
    Utf16 = "utf-16",
    /// Warnings that were left out.
    More = "more",
}

impl fmt::Display for WarningKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Writes the line and the text.
impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.text)
    }
}
