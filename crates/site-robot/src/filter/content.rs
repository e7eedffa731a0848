//! The content of a resource: bytes, text, page and checksum, each made when asked for.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::document::{Page, decode};

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

/// Content of a resource; clones of the resource share it.
#[derive(Debug)]
pub(super) struct Content {
    /// `Content-Type` as received, or of what it was converted to.
    media_type: Option<String>,
    /// Top-level domain of the host, a hint at the language.
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

    /// Adds a hint at the language.
    pub(super) fn of_domain(mut self, domain: Option<&str>) -> Self {
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

    /// Returns `true` if an empty element ends as it begins: else `<script/>` swallows the page.
    fn is_xhtml(&self) -> bool {
        let bare = self.media_type.as_deref().unwrap_or_default();
        let bare = bare.split(';').next().unwrap_or_default().trim();
        bare.eq_ignore_ascii_case("application/xhtml+xml")
    }

    /// Returns the checksum of the bytes, in hexadecimal.
    pub(super) fn md5(&self) -> &str {
        self.md5.get_or_init(|| hexadecimal_md5(&self.body))
    }

    /// Returns what it was converted to, which is done once for all filters.
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
