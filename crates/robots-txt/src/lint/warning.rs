//! Warnings about a robots.txt file, and the kinds of warnings.

use std::fmt;

/// A warning about a line that robots interpret differently than intended.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The number of the line that the warning refers to, counted from 1.
    pub line: usize,
    /// The kind of the warning.
    pub kind: WarningKind,
    /// A description of the effect on robots and of the correction, without control characters.
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
            /// Returns the name of the kind of warning, in lower case with hyphens.
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
    /// A `Disallow` without a path, which either has no effect or disallows everything in this
    /// dialect.
    EmptyDisallow = "empty-disallow",
    /// An `Allow` line without a path.
    EmptyAllow = "empty-allow",
    /// An `Allow` line in a dialect that does not support `Allow`.
    UnknownAllow = "unknown-allow",
    /// A `User-agent` line without a name.
    EmptyAgent = "empty-agent",
    /// A `User-agent` line with a value that is not a product token.
    BadAgent = "bad-agent",
    /// A token for a use of pages that no draft defines.
    PolicyToken = "policy-token",
    /// A path that contains spaces or does not start with a slash.
    BadPath = "bad-path",
    /// An absolute URL instead of a path.
    FullUrl = "full-url",
    /// A `%` that is not followed by two hexadecimal digits.
    BadEscape = "bad-escape",
    /// A wildcard in a dialect without wildcards.
    Wildcard = "wildcard",
    /// A rule that another rule of its group always overrides.
    ShadowedRule = "shadowed-rule",
    /// A rule that occurs twice in its group.
    DuplicateRule = "duplicate-rule",
    /// A robot's name that occurs twice in a group.
    DuplicateAgent = "duplicate-agent",
    /// A robot that has several groups, which are combined.
    SplitGroup = "split-group",
    /// A robot that has several groups, of which only the first is read.
    UnreadGroup = "unread-group",
    /// A group that lacks rules for all robots, so that its robots may fetch more than others.
    LostRules = "lost-rules",
    /// A robot without rules, to which the next group's rules therefore apply.
    EmptyGroup = "empty-group",
    /// A rule for a parameter that matches only one of its positions in a query.
    QueryPosition = "query-position",
    /// A blank line that ends a group before its last rule.
    BlankLine = "blank-line",
    /// A `Crawl-delay` line that is ignored.
    CrawlDelay = "crawl-delay",
    /// A `Request-rate` line that is ignored.
    RequestRate = "request-rate",
    /// A `Sitemap` line with a value that is not an absolute URL.
    Sitemap = "sitemap",
    /// A `Host` line that is ignored.
    Host = "host",
    /// A `Clean-param` line that is ignored.
    CleanParam = "clean-param",
    /// A `Content-Signal` line that contains an unknown word.
    ContentSignal = "content-signal",
    /// A `Content-Usage` line that contains an unknown word.
    ContentUsage = "content-usage",
    /// A `Noindex` line or a similar line, which is not supported in robots.txt.
    Noindex = "noindex",
    /// A byte order mark at the beginning of the file.
    ByteOrderMark = "byte-order-mark",
    /// A line that contains a NUL octet.
    Nul = "nul",
    /// A line that contains a control character other than NUL and tab.
    ControlCharacter = "control-character",
    /// A line that is not valid UTF-8.
    NotUtf8 = "not-utf-8",
    /// A line that is longer than 16,663 octets.
    LongLine = "long-line",
    /// A file that is larger than 500 KiB.
    LongFile = "long-file",
    /// An HTML document instead of plain text.
    Html = "html",
    /// A file that is encoded in UTF-16.
    Utf16 = "utf-16",
    /// A final warning that reports how many warnings were omitted.
    More = "more",
}

impl fmt::Display for WarningKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Writes the line number and the text of the warning.
impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.text)
    }
}
