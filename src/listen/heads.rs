//! Heads of requests as they came, for what hyper does not hand over.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use http::{Method, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{idle::Activity, listener::ListenSettings, stream::read_again};

/// Bytes kept from before a request, in which the next one's head may have begun.
const SEAM_BYTES: usize = 1024;
/// Room that a connection may keep for its next head.
const KEPT_BYTES: usize = 4 * 1024;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Bytes that one HTTP/1 connection has sent since its last request.
///
/// hyper removes a `Content-Length` beside a `Transfer-Encoding` before anybody
/// sees it, and does not tell how long a head was. Copying what is read, a few
/// hundred bytes of it, costs less than searching them.
#[derive(Debug, Default)]
pub(super) struct Heads {
    kept: Mutex<Vec<u8>>,
    /// One of the constants below.
    state: AtomicU8,
}

const SHORT: u8 = 0;
/// A line of the next head may be beyond the limit.
const LONG: u8 = 1;
/// The connection carries no requests any more.
const OVER: u8 = 2;

/// Connection whose reads are kept for as long as they may be a head.
#[derive(Debug)]
pub(super) struct Overheard<S> {
    stream: S,
    /// What has been read of the stream before, and is read again.
    unread: BytesMut,
    /// None: nothing is kept.
    activity: Option<Arc<Activity>>,
    max_head_bytes: usize,
    max_line_bytes: usize,
    /// Requests at the last read.
    requests: u32,
}

impl Heads {
    /// Tells whether a line of the next head may be beyond the limit.
    pub(super) fn is_long(&self) -> bool {
        self.state.load(Relaxed) == LONG
    }

    /// Keeps nothing from now on: the connection becomes a tunnel.
    pub(super) fn end(&self) {
        self.state.store(OVER, Relaxed);
        *self.kept() = Vec::new();
    }

    /// Tells whether the head of a request in chunks has a `Content-Length` too.
    ///
    /// A head that is not found is taken for a good one: that of a request
    /// which was sent behind the body of another, before that was answered.
    pub(super) fn has_length_beside_chunks(&self, method: &Method, uri: &Uri) -> bool {
        let mut kept = self.kept();
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        let Some(head) = find(&kept, method.as_str().as_bytes(), path.as_bytes()) else {
            return false;
        };
        let end = head.end.min(kept.len());
        kept.drain(..end);
        head.has_length
    }

    fn kept(&self) -> MutexGuard<'_, Vec<u8>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Overheard<S> {
    /// Wraps a connection of which `unread` has been read; without an `activity` nothing is kept.
    pub(super) fn new(
        stream: S,
        unread: BytesMut,
        activity: Option<Arc<Activity>>,
        settings: &ListenSettings,
    ) -> Self {
        Self {
            stream,
            unread,
            activity,
            max_head_bytes: settings.max_header_bytes,
            max_line_bytes: settings.max_header_line_bytes,
            requests: 0,
        }
    }

    pub(super) fn inner(&self) -> &S {
        &self.stream
    }

    pub(super) fn inner_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    fn keep(&mut self, read: &[u8]) {
        let Some(activity) = &self.activity else {
            return;
        };
        let heads = &activity.heads;
        let mut state = heads.state.load(Relaxed);
        if state == OVER {
            return;
        }
        let requests = activity.requests();
        let is_next = self.requests != requests;
        self.requests = requests;
        let mut kept = heads.kept();
        if is_next && kept.ends_with(END_OF_HEAD) {
            state = SHORT;
            if kept.capacity() > KEPT_BYTES {
                *kept = Vec::new();
            }
            kept.clear();
        } else if is_next || kept.len() >= self.max_head_bytes {
            // A body lies before the next head; or empty lines do, which hyper skips.
            let seam = kept.len().saturating_sub(SEAM_BYTES);
            kept.drain(..seam);
        }
        if kept.len() + read.len() > self.max_line_bytes {
            state = LONG;
        }
        heads.state.store(state, Relaxed);
        let is_body = activity.is_serving();
        let len = if is_body { SEAM_BYTES } else { read.len() };
        let start = read.len().saturating_sub(len);
        kept.extend_from_slice(read.get(start..).unwrap_or_default());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Overheard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if this.unread.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        } else {
            read_again(&mut this.unread, buf);
        }
        this.keep(buf.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Overheard<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Head of a request in chunks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct ChunkedHead {
    /// Where it ends among the bytes.
    end: usize,
    has_length: bool,
}

/// Finds the first head of such a request; bodies may lie before and behind it.
fn find(bytes: &[u8], method: &[u8], path: &[u8]) -> Option<ChunkedHead> {
    let mut end = 0;
    let mut is_inside = false;
    let (mut is_chunked, mut has_length) = (false, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let line = line.trim_ascii_end();
        if is_inside && line.is_empty() {
            if is_chunked {
                return Some(ChunkedHead { end, has_length });
            }
            (is_inside, has_length) = (false, false);
        } else if is_inside {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            is_chunked |= name.eq_ignore_ascii_case(b"transfer-encoding");
            has_length |= name.eq_ignore_ascii_case(b"content-length");
        } else {
            is_inside = is_request_line(line, method, path);
        }
    }
    None
}

/// Tells whether a line ends with such a request line; a body may lie before it.
fn is_request_line(line: &[u8], method: &[u8], path: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b" HTTP/1.1") else {
        return false;
    };
    // hyper takes what is behind `#` for no part of the path.
    let mut targets = line.rsplitn(2, |byte| *byte == b' ');
    let (target, before) = (targets.next(), targets.next());
    before.is_some_and(|before| before.ends_with(method))
        && target.is_some_and(|target| memchr::memmem::find(target, path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: &str = "Transfer-Encoding: chunked\r\n";

    /// One connection as hyper reads it.
    struct Heard {
        activity: Arc<Activity>,
        overheard: Overheard<()>,
    }

    impl Heard {
        fn new() -> Self {
            let activity = Arc::<Activity>::default();
            let settings = ListenSettings::default();
            Self {
                overheard: Overheard::new(
                    (),
                    BytesMut::new(),
                    Some(Arc::clone(&activity)),
                    &settings,
                ),
                activity,
            }
        }

        fn read(&mut self, text: &str) -> &mut Self {
            self.overheard.keep(text.as_bytes());
            self
        }

        fn begins(&mut self, method: &str, target: &str) -> bool {
            self.activity.request_begins();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let heads = &self.activity.heads;
            heads.has_length_beside_chunks(&method, &target.parse().unwrap())
        }

        fn ends(&mut self) -> &mut Self {
            self.activity.request_ends();
            self
        }

        fn kept(&self) -> usize {
            self.activity.heads.kept().len()
        }
    }

    #[test]
    fn a_length_is_found_beside_chunks_only() {
        for (lines, expected) in [
            ("", false),
            ("Content-Length: 5\r\n", false),
            (CHUNKS, false),
            (
                "Transfer-Encoding: chunked\r\nContent-Length: abc\r\n",
                true,
            ),
            ("Transfer-Encoding: chunked\r\nCONTENT-LENGTH:+5\r\n", true),
            ("content-length: 5\r\ntRANSFER-eNCODING: chunked\r\n", true),
            ("Transfer-Encoding: chunked\nContent-Length: 5\n", true),
            (
                "Transfer-Encoding: chunked\r\nX: POST /x HTTP/1.1\r\nContent-Length: 5\r\n",
                true,
            ),
            (
                "Transfer-Encoding: chunked\r\nX: Content-Length: 5\r\n",
                false,
            ),
        ] {
            let mut heard = Heard::new();
            heard.read(&format!("POST /x?a HTTP/1.1\r\n{lines}\r\n"));
            assert_eq!(heard.begins("POST", "/x?a"), expected, "{lines}");
        }
    }

    #[test]
    fn a_head_may_come_in_pieces() {
        let head = format!("POST /x HTTP/1.1\r\nHost: a\r\n{CHUNKS}Content-Length: 5\r\n\r\n");
        for piece in [1, 7, 30] {
            let mut heard = Heard::new();
            for part in head.as_bytes().chunks(piece) {
                heard.read(std::str::from_utf8(part).unwrap());
            }
            assert!(heard.begins("POST", "/x"), "{piece}");
        }
    }

    #[test]
    fn a_body_is_no_head() {
        let dump = format!("POST /x HTTP/1.1\r\n{CHUNKS}Content-Length: 5\r\n\r\n");
        let mut heard = Heard::new();
        heard.read(&format!("POST /x HTTP/1.1\r\n{CHUNKS}\r\n5a\r\n{dump}"));
        assert!(!heard.begins("POST", "/x"));
    }

    #[test]
    fn requests_behind_others_are_found() {
        let good = format!("POST /x HTTP/1.1\r\n{CHUNKS}\r\n0\r\n\r\n");
        let bad = format!("POST /x HTTP/1.1\r\n{CHUNKS}Content-Length: 0\r\n\r\n");
        let mut heard = Heard::new();
        heard.read(&format!(
            "GET / HTTP/1.1\r\n\r\nPOST /x HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody{good}{bad}"
        ));
        heard.begins("GET", "/");
        heard.ends();
        heard.activity.request_begins();
        heard.ends();
        assert!(!heard.begins("POST", "/x"));
        assert!(heard.ends().begins("POST", "/x"));
    }

    #[test]
    fn a_head_that_begins_behind_a_long_body_is_found() {
        let mut heard = Heard::new();
        heard.read("POST /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
        assert!(!heard.begins("POST", "/a"));
        let bad = format!("POST /x HTTP/1.1\r\n{CHUNKS}Content-Length: 0\r\n");
        heard.read(&"x".repeat(50_000));
        heard.read(&format!("{}{bad}", "x".repeat(50_000)));
        assert!(heard.ends().read("\r\n").begins("POST", "/x"));
    }

    #[test]
    fn little_is_kept() {
        let mut heard = Heard::new();
        for request in 0..1000 {
            let body = if request % 2 == 0 { "body" } else { "" };
            heard.read(&format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{body}"));
            heard.begins("GET", "/");
            heard.ends();
            assert!(heard.kept() <= SEAM_BYTES + 64);
        }
        // Empty lines, and a body.
        let max = ListenSettings::default().max_header_bytes + 1000;
        for _ in 0..1000 {
            heard.read(&"x".repeat(1000));
            assert!(heard.kept() <= max);
        }
        heard.activity.request_begins();
        for _ in 0..1000 {
            heard.read(&"x".repeat(10_000));
            assert!(heard.kept() <= max);
        }
        heard.ends().read("\r\n\r\n");
        heard.begins("GET", "/");
        heard.ends().read("GET / HTTP/1.1\r\n\r\n");
        assert_eq!(heard.kept(), 18);
        assert!(heard.activity.heads.kept().capacity() <= KEPT_BYTES);
    }

    #[test]
    fn nothing_of_a_tunnel_is_kept() {
        let mut heard = Heard::new();
        heard.read("GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n");
        heard.begins("GET", "/");
        heard.activity.heads.end();
        heard.read("frame").ends().read("frame");
        assert_eq!(heard.kept(), 0);
    }

    #[test]
    fn a_head_is_long_until_a_request_ends_with_its_head() {
        let mut heard = Heard::new();
        heard.read("GET / HTTP/1.1\r\n\r\n");
        heard.begins("GET", "/");
        assert!(!heard.ends().activity.heads.is_long());
        heard.read("GET / HTTP/1.1\r\nX: ").read(&"x".repeat(8200));
        heard.read("\r\n\r\n").begins("GET", "/");
        assert!(heard.ends().activity.heads.is_long());
        heard.read("GET / HTTP/1.1\r\n\r\n");
        assert!(!heard.activity.heads.is_long());
    }
}
