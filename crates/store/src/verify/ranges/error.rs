//! Errors of published documents.

/// Error of a published document; the text tells what is wrong and what to do.
///
/// A list that is refused leaves the last good copy in force.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RangesError {
    /// It is larger than the limit.
    #[error(
        "it has {bytes} bytes, more than {max_bytes}: check that the URL is that of a list of addresses"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// Largest size.
        max_bytes: usize,
    },
    /// It is not text in UTF-8.
    #[error("it is no text in UTF-8: check that the URL is that of a list of addresses")]
    NotText,
    /// It is a page for people.
    #[error("it is a page, not a list of addresses: use the URL of the list itself")]
    Page,
    /// It begins as JSON and goes on otherwise.
    #[error("it is damaged JSON: {reason}: try again later")]
    Json {
        /// Reason of the parser.
        reason: String,
    },
    /// Its objects and lists lie too deep within each other.
    #[error(
        "its JSON is more than {max} levels deep: check that the URL is that of a list of addresses"
    )]
    TooDeep {
        /// Most levels.
        max: usize,
    },
    /// It has more entries than the limit.
    #[error("it has more than {max} entries: check that it is the right list")]
    TooMany {
        /// Most entries.
        max: usize,
    },
    /// It lists no address.
    #[error("it lists no addresses: check that the URL is that of a list of addresses")]
    Empty,
    /// It lists no address in the part that the URL selects.
    #[error("it lists no addresses in {part:?}: correct what stands after # in the URL")]
    EmptyPart {
        /// The fragment of the URL.
        part: String,
    },
    /// Too many of its entries are no public addresses.
    #[error(
        "{bad} of its {entries} entries are no public addresses, such as {example:?}: try again later"
    )]
    Damaged {
        /// Entries that cannot be read or are not public.
        bad: usize,
        /// All entries.
        entries: usize,
        /// The first of them, cut.
        example: String,
    },
    /// It lists a range that nobody has alone.
    #[error(
        "it lists {prefix}, in which anybody may be: its addresses prove nothing, use another list"
    )]
    TooWide {
        /// The range.
        prefix: String,
    },
    /// All its ranges together are half of all addresses.
    #[error("its ranges hold more than half of all addresses: check that it is the right list")]
    Everybody,
    /// All its ranges together are so large that nobody has them alone.
    #[error(
        "its ranges hold more than an eighth of all addresses: they prove nothing, use another list"
    )]
    TooMuch,
}
