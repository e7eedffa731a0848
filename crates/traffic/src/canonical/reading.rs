//! Reads the canonical URL from the response to a robot while the response is being forwarded.

use std::{
    io::Read as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use hyper::body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use url::Url;

use super::{canonicals::Canonicals, keeper::same_site, table::known_as};
use robot_detection_site_robot::document::{Page, decode};
use robot_detection_site_robot::site_robot::{canonical, source::canonical_in};

/// Maximum number of compressed and decompressed bytes of a page that are searched; enough for most
/// HTML heads.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum length of a URL in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// A reader that searches a response for the canonical URL.
#[derive(Debug)]
pub struct CanonicalReader {
    canonicals: Canonicals,
    url: Url,
    /// Requested URL in the form used as a key.
    known_as: String,
}

/// The start of a page's body, collected so far.
#[derive(Debug)]
struct PageStart {
    reading: CanonicalReader,
    content_type: Option<String>,
    is_gzip: bool,
    bytes: Vec<u8>,
}

pin_project! {
    /// A response body whose start is searched while the body is being forwarded.
    #[derive(Debug)]
    pub struct CanonicalBody<B> {
        #[pin]
        inner: B,
        page: Option<PageStart>,
    }
}

impl CanonicalReader {
    /// Creates a reader for the response to a request. Returns `None` if the request has no host.
    pub fn of<B>(canonicals: &Canonicals, request: &Request<B>, is_https: bool) -> Option<Self> {
        let host = match request.uri().authority() {
            Some(authority) => authority.as_str(),
            None => request.headers().get(header::HOST)?.to_str().ok()?,
        };
        let path = request.uri().path();
        let scheme = if is_https { "https" } else { "http" };
        let is_short = host.len() + path.len() <= MAX_URL_BYTES;
        Some(Self {
            canonicals: canonicals.clone(),
            url: Url::parse(&format!("{scheme}://{host}{path}"))
                .ok()
                .filter(|_| is_short)?,
            known_as: known_as(host, path),
        })
    }

    /// Reads the head of a response; if the head contains no canonical URL, the returned body is
    /// searched too.
    pub fn read<B>(self, status: StatusCode, headers: &HeaderMap, body: B) -> CanonicalBody<B> {
        let page = match status {
            StatusCode::OK => self.read_head(headers),
            // A redirect to this URL would lead to an error page or to an endless loop.
            _ if status.is_redirection() && status != StatusCode::NOT_MODIFIED
                || status.is_client_error() =>
            {
                self.canonicals.learn(self.known_as, None);
                None
            }
            _ => None,
        };
        CanonicalBody { inner: body, page }
    }

    fn read_head(self, headers: &HeaderMap) -> Option<PageStart> {
        let links = headers.get_all(header::LINK).iter();
        let mut links = links.filter_map(|link| canonical_in(link.to_str().ok()?));
        if let Some(link) = links.next() {
            self.learn(None, Some(&link));
            return None;
        }
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let content_type = text(header::CONTENT_TYPE)?;
        let is_html = content_type
            .trim_start()
            .get(..9)
            .is_some_and(|start| start.eq_ignore_ascii_case("text/html"));
        let encoding = text(header::CONTENT_ENCODING).unwrap_or("identity");
        let is_gzip = encoding.eq_ignore_ascii_case("gzip");
        (is_html && (is_gzip || encoding.eq_ignore_ascii_case("identity"))).then(|| PageStart {
            content_type: Some(content_type.to_owned()),
            is_gzip,
            bytes: Vec::new(),
            reading: self,
        })
    }

    fn learn(self, page: Option<&Page>, header: Option<&str>) {
        let named = canonical(page, header, &self.url);
        let named = named.filter(|named| named.as_str().len() <= MAX_URL_BYTES);
        if let Some((_, named)) = named.and_then(|named| same_site(&self.url, &named)) {
            self.canonicals.learn(self.known_as, Some(named));
        }
    }
}

impl PageStart {
    /// Adds a part of the body. Returns `true` once enough bytes have been collected.
    fn take(&mut self, data: &[u8]) -> bool {
        let room = MAX_BYTES - self.bytes.len().min(MAX_BYTES);
        self.bytes
            .extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        self.bytes.len() >= MAX_BYTES
    }

    fn end(self) {
        let mut text = self.bytes;
        if self.is_gzip {
            let mut plain = Vec::new();
            let decoder = MultiGzDecoder::new(&*text);
            // Bytes decompressed before an error are the start of the page.
            let _ = decoder.take(MAX_BYTES as u64).read_to_end(&mut plain);
            text = plain;
        }
        let decoded = decode(&text, self.content_type.as_deref(), None);
        self.reading.learn(Some(&Page::read(&decoded.text)), None);
    }
}

impl<B: Body<Data = Bytes>> Body for CanonicalBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        let has_all = match (&frame, &mut *this.page) {
            (Some(Ok(frame)), Some(page)) => {
                let data = frame.data_ref().map(|data| &**data);
                page.take(data.unwrap_or_default()) || this.inner.is_end_stream()
            }
            (Some(Err(_)), page) => {
                // An incomplete response is discarded.
                *page = None;
                false
            }
            (None, _) => true,
            (Some(Ok(_)), None) => false,
        };
        if let Some(page) = this.page.take_if(|_| has_all) {
            page.end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
