//! Names of the sources of information about a resource.

use std::fmt;

/// A source of information about a resource (Sun 7.1, chapter 44).
///
/// Names are case-insensitive, and spaces are equivalent to hyphens: `enumeration filter` is the
/// same as `enumeration-filter`, and `IP` is the same as `ip`. Names that are not predefined refer
/// to META tags or assigned values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    name: Box<str>,
    known: SourceName,
}

/// Predefined sources of information about a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SourceName {
    Csid,
    Depth,
    EnumerationFilter,
    GenerationFilter,
    Host,
    Ip,
    Path,
    Protocol,
    Url,
    Canonical,
    ContentCharset,
    ContentEncoding,
    ContentLength,
    ContentType,
    Etag,
    Expires,
    Language,
    LastModified,
    Modified,
    Published,
    Robots,
    Status,
    Title,
    Type,
    /// An assigned value or a META tag.
    Other,
}

/// Names of the predefined sources; sources that are known before retrieval come first.
const KNOWN: [(&str, SourceName); 24] = [
    ("csid", SourceName::Csid),
    ("depth", SourceName::Depth),
    ("enumeration-filter", SourceName::EnumerationFilter),
    ("generation-filter", SourceName::GenerationFilter),
    ("host", SourceName::Host),
    ("ip", SourceName::Ip),
    ("path", SourceName::Path),
    ("protocol", SourceName::Protocol),
    ("url", SourceName::Url),
    ("canonical", SourceName::Canonical),
    ("content-charset", SourceName::ContentCharset),
    ("content-encoding", SourceName::ContentEncoding),
    ("content-length", SourceName::ContentLength),
    ("content-type", SourceName::ContentType),
    ("etag", SourceName::Etag),
    ("expires", SourceName::Expires),
    ("language", SourceName::Language),
    ("last-modified", SourceName::LastModified),
    ("modified", SourceName::Modified),
    ("published", SourceName::Published),
    ("robots", SourceName::Robots),
    ("status", SourceName::Status),
    ("title", SourceName::Title),
    ("type", SourceName::Type),
];

impl Source {
    /// Returns the source with the given name.
    pub fn from_name(name: &str) -> Self {
        let words: Vec<_> = name.split_whitespace().collect();
        let name = words.join("-").to_ascii_lowercase();
        let mut known = KNOWN.iter();
        let found = known.find(|(known, _)| *known == name);
        Self {
            known: found.map_or(SourceName::Other, |(_, known)| *known),
            name: name.into(),
        }
    }

    /// Returns the source's name, in lower case and with hyphens.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the source is known before retrieval, at the `MetaData` stage.
    pub const fn is_metadata(&self) -> bool {
        use SourceName::{
            Csid, Depth, EnumerationFilter, GenerationFilter, Host, Ip, Path, Protocol, Url,
        };
        matches!(
            self.known,
            Csid | Depth | EnumerationFilter | GenerationFilter | Host | Ip | Path | Protocol | Url
        )
    }

    /// Returns `true` if the source's values are case-insensitive.
    pub(super) const fn is_caseless(&self) -> bool {
        use SourceName::{ContentType, Host, Protocol, Type};
        matches!(self.known, Host | Protocol | ContentType | Type)
    }

    pub(super) const fn known(&self) -> SourceName {
        self.known
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
