//! Warnings and their kinds.

use std::fmt;

/// A warning about a line that robots interpret differently than intended.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The line that the warning is about, counted from 1.
    pub line: usize,
    /// The kind of the warning.
    pub kind: WarningKind,
    /// The text that describes the effect on robots and the correction; contains no control
    /// characters.
    pub text: String,
}

/// Declares the kinds of warnings and their names.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident = $word:literal,)+) => {
        /// The kind of a warning.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum WarningKind {
            $($(#[$doc])+ $kind,)+
        }

        impl WarningKind {
            /// Returns the name of the kind, in lower case with hyphens.
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
    /// A field that no robot supports.
    UnknownField = "unknown-field",
    /// A line without a colon.
    MissingColon = "missing-colon",
    /// A rule that belongs to no group.
    OrphanRule = "orphan-rule",
    /// `Disallow` without a path, which has no effect or disallows everything in this dialect.
    EmptyDisallow = "empty-disallow",
    /// `Allow` line without a path.
    EmptyAllow = "empty-allow",
    /// `Allow` in a dialect that does not support `Allow`.
    UnknownAllow = "unknown-allow",
    /// `User-agent` line without a name.
    EmptyAgent = "empty-agent",
    /// `User-agent` with a value that is not a product token.
    BadAgent = "bad-agent",
    /// A path that contains spaces or does not start with a slash.
    BadPath = "bad-path",
    /// An absolute URL instead of a path.
    FullUrl = "full-url",
    /// `%` that is not followed by two hexadecimal digits.
    BadEscape = "bad-escape",
    /// A wildcard in a dialect without wildcards.
    Wildcard = "wildcard",
    /// A rule that another rule of its group always overrides.
    ShadowedRule = "shadowed-rule",
    /// A rule that is duplicated in its group.
    DuplicateRule = "duplicate-rule",
    /// A name that is duplicated in a group.
    DuplicateAgent = "duplicate-agent",
    /// A robot with several groups that are combined.
    SplitGroup = "split-group",
    /// A robot with several groups, of which only the first is read.
    UnreadGroup = "unread-group",
    /// A blank line that ends a group before its last rule.
    BlankLine = "blank-line",
    /// `Crawl-delay` line that is ignored.
    CrawlDelay = "crawl-delay",
    /// `Request-rate` line that is ignored.
    RequestRate = "request-rate",
    /// `Sitemap` line whose value is not an absolute URL.
    Sitemap = "sitemap",
    /// `Host` line that is ignored.
    Host = "host",
    /// `Clean-param` line that is ignored.
    CleanParam = "clean-param",
    /// `Content-Signal` line with an unknown word.
    ContentSignal = "content-signal",
    /// `Content-Usage` line with an unknown word.
    ContentUsage = "content-usage",
    /// `Noindex` or a similar field, which robots.txt does not support.
    Noindex = "noindex",
    /// A byte order mark at the beginning of the file.
    ByteOrderMark = "byte-order-mark",
    /// A NUL octet.
    Nul = "nul",
    /// A control character other than NUL and tab.
    ControlCharacter = "control-character",
    /// Invalid UTF-8.
    NotUtf8 = "not-utf-8",
    /// A line that is longer than 16,663 octets.
    LongLine = "long-line",
    /// A file that is larger than 500 KiB.
    LongFile = "long-file",
    /// An HTML document instead of plain text.
    Html = "html",
    /// A file in UTF-16 encoding.
    Utf16 = "utf-16",
    /// A statement of how many warnings were omitted.
    More = "more",
}

impl fmt::Display for WarningKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Writes the line number and the text.
impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.text)
    }
}
