//! What a server answered.

use bytes::Bytes;

/// Answer of a server: the facts of its headers, and the body.
///
/// Header values are as received, each without its name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReceivedResource {
    /// Status code.
    pub status: u16,
    /// `Content-Type`, parameters included.
    pub content_type: Option<String>,
    /// `Content-Encoding` of what was received; the body is decompressed.
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `Expires`.
    pub expires: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// `ETag`.
    pub etag: Option<String>,
    /// Canonical URL of a `Link` header.
    pub canonical: Option<String>,
    /// Directives of `X-Robots-Tag` that hold for all robots.
    pub robots: Option<String>,
    /// Body, decompressed.
    pub body: Bytes,
}

impl ReceivedResource {
    /// Returns the media type without parameters, in lower case.
    #[must_use]
    pub fn media_type(&self) -> Option<String> {
        self.bare_type().map(str::to_ascii_lowercase)
    }

    /// Returns the media type without parameters, as received.
    pub(super) fn bare_type(&self) -> Option<&str> {
        let value = self.content_type.as_deref()?;
        let media_type = value.split(';').next().unwrap_or_default().trim();
        (!media_type.is_empty()).then_some(media_type)
    }
}
