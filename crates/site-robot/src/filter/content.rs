//! Content of a resource: bytes, text, parsed page and checksum, each computed on first use.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::document::{Page, decode};

/// A server's response: header fields and body.
///
/// Header values are as received and do not include the header names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReceivedResource {
    /// HTTP status code.
    pub status: u16,
    /// Value of the `Content-Type` header, including parameters.
    pub content_type: Option<String>,
    /// Value of `Content-Encoding` as received; the stored body is decompressed.
    pub content_encoding: Option<String>,
    /// Value of the `Content-Language` header.
    pub content_language: Option<String>,
    /// Value of the `Expires` header.
    pub expires: Option<String>,
    /// Value of the `Last-Modified` header.
    pub last_modified: Option<String>,
    /// Value of the `ETag` header.
    pub etag: Option<String>,
    /// Canonical URL specified in a `Link` header.
    pub canonical: Option<String>,
    /// Directives in `X-Robots-Tag` that apply to all robots.
    pub robots: Option<String>,
    /// Decompressed response body.
    pub body: Bytes,
}

impl ReceivedResource {
    /// Returns the media type without parameters, in lower case.
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

/// Content of a resource, shared by all clones of the resource.
#[derive(Debug)]
pub(super) struct Content {
    /// Value of `Content-Type` as received, or the media type after conversion.
    media_type: Option<String>,
    /// Top-level domain of the host, used as a hint for encoding detection.
    domain: Option<String>,
    body: Bytes,
    text: OnceLock<Text>,
    page: OnceLock<Page>,
    md5: OnceLock<String>,
    converted: OnceLock<Option<Arc<Self>>>,
}

#[derive(Debug)]
struct Text {
    text: String,
    charset: &'static str,
}

impl Content {
    pub(super) fn new(media_type: Option<String>, body: Bytes) -> Self {
        Self {
            media_type,
            domain: None,
            body,
            text: OnceLock::new(),
            page: OnceLock::new(),
            md5: OnceLock::new(),
            converted: OnceLock::new(),
        }
    }

    /// Sets the top-level domain that serves as a hint for encoding detection.
    pub(super) fn with_domain(mut self, domain: Option<&str>) -> Self {
        self.domain = domain.map(str::to_owned);
        self
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    pub(super) fn text(&self) -> &str {
        &self.decoded().text
    }

    pub(super) fn charset(&self) -> &'static str {
        self.decoded().charset
    }

    pub(super) fn page(&self) -> &Page {
        self.page.get_or_init(|| {
            if self.is_xhtml() {
                Page::read_xhtml(self.text())
            } else {
                Page::read(self.text())
            }
        })
    }

    /// Returns `true` for XHTML, where `<script/>` is a complete element and must not swallow the
    /// rest of the page.
    fn is_xhtml(&self) -> bool {
        let bare = self.media_type.as_deref().unwrap_or_default();
        let bare = bare.split(';').next().unwrap_or_default().trim();
        bare.eq_ignore_ascii_case("application/xhtml+xml")
    }

    /// Returns the MD5 checksum of the bytes, in hexadecimal.
    pub(super) fn md5(&self) -> &str {
        self.md5.get_or_init(|| hexadecimal_md5(&self.body))
    }

    /// Returns the converted content. The conversion runs only once for all filters.
    pub(super) fn converted(&self, convert: impl FnOnce() -> Option<Self>) -> Option<Arc<Self>> {
        let converted = self.converted.get_or_init(|| convert().map(Arc::new));
        converted.as_ref().map(Arc::clone)
    }

    fn decoded(&self) -> &Text {
        self.text.get_or_init(|| {
            let decoded = decode(
                &self.body,
                self.media_type.as_deref(),
                self.domain.as_deref(),
            );
            Text {
                text: decoded.text.into_owned(),
                charset: decoded.charset,
            }
        })
    }
}

fn hexadecimal_md5(bytes: &[u8]) -> String {
    use md5::Digest as _;

    hex::encode(md5::Md5::digest(bytes))
}
