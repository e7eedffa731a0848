//! Names of the sources of information.

use std::fmt;

/// Source of information about a resource (Sun 7.1, chapter 44).
///
/// Upper and lower case are the same, and so are a space and a hyphen:
/// `enumeration filter` is `enumeration-filter`, `IP` is `ip`. A name that is
/// not listed there is that of a META tag, or of what a directive assigns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    name: Box<str>,
    known: SourceName,
}

/// Sources that are not META tags.
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
    /// Assigned by a function, or a META tag's name.
    Other,
}

/// Names and what is known by them; what stands first is known before retrieval.
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
    /// Returns the source of that name.
    pub fn named(name: &str) -> Self {
        let words: Vec<_> = name.split_whitespace().collect();
        let name = words.join("-").to_ascii_lowercase();
        let mut known = KNOWN.iter();
        let found = known.find(|(known, _)| *known == name);
        Self {
            known: found.map_or(SourceName::Other, |(_, known)| *known),
            name: name.into(),
        }
    }

    /// Returns the name, in lower case with hyphens.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if it is known before the resource is retrieved, at the stage `MetaData`.
    pub const fn is_metadata(&self) -> bool {
        use SourceName::{
            Csid, Depth, EnumerationFilter, GenerationFilter, Host, Ip, Path, Protocol, Url,
        };
        matches!(
            self.known,
            Csid | Depth | EnumerationFilter | GenerationFilter | Host | Ip | Path | Protocol | Url
        )
    }

    /// Returns `true` if upper and lower case are the same in its values.
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
