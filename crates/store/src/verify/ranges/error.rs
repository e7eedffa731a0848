//! Errors in address list documents.

/// An error in an address list document; the message contains the problem and advice.
///
/// If a list is rejected, the last good copy remains in use.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RangesError {
    /// The document is larger than the limit.
    #[error(
        "the document has {bytes} bytes, more than {max_bytes}; check that the URL points to an \
         address list"
    )]
    TooLarge {
        /// The size of the document.
        bytes: usize,
        /// The maximum size of the document.
        max_bytes: usize,
    },
    /// The document is not UTF-8 text.
    #[error("the document is not UTF-8 text; check that the URL points to an address list")]
    NotText,
    /// The document is a web page.
    #[error("the document is a web page, not an address list; use the URL of the list itself")]
    Page,
    /// The document looks like JSON, but is invalid.
    #[error("the document is damaged JSON: {reason}; try again later")]
    Json {
        /// The error message of the parser.
        reason: String,
    },
    /// The JSON document is nested too deeply.
    #[error(
        "the JSON document is nested more than {max} levels deep; check that the URL points to an \
         address list"
    )]
    TooDeep {
        /// The maximum number of nesting levels.
        max: usize,
    },
    /// The document has more entries than the limit.
    #[error("the document has more than {max} entries; check that it is the right list")]
    TooMany {
        /// The maximum number of entries.
        max: usize,
    },
    /// The document lists no addresses.
    #[error("the document lists no addresses; check that the URL points to an address list")]
    Empty,
    /// The document lists no addresses in the part selected by the URL.
    #[error("the document lists no addresses in {part:?}; correct the text after # in the URL")]
    EmptyPart {
        /// The fragment of the list's URL.
        part: String,
    },
    /// Too many entries are not public addresses.
    #[error(
        "{bad} of {entries} entries are not public addresses, such as {example:?}; try again later"
    )]
    Damaged {
        /// The number of entries that are unreadable or not public.
        bad: usize,
        /// The number of all entries.
        entries: usize,
        /// The first entry that is unreadable or not public, truncated.
        example: String,
    },
    /// The document lists a range that is too wide to belong to a single owner.
    #[error("the document lists {prefix}, which is too wide to prove anything; use another list")]
    TooWide {
        /// The address range that is too wide.
        prefix: String,
    },
    /// The ranges together contain more than half of all addresses in existence.
    #[error("the ranges contain more than half of all addresses; check that it is the right list")]
    Everybody,
    /// The ranges together are too large to belong to a single owner.
    #[error(
        "the ranges contain more than an eighth of all addresses and prove nothing; use another list"
    )]
    TooMuch,
}
