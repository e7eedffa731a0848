//! Checks pipelined HTTP/1.1 requests against a second, independent parser.
//!
//! The first parser is the listener's: its plain requests, and hyper for the requests that the
//! listener leaves to hyper. The second follows RFC 9112 strictly, with httparse for the heads. The
//! fuzz target `pipelines` includes this file too.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    io,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
    server::conn::http1,
    service::service_fn,
};
use robot_detection::listen::{ListenSettings, PlainHead, PlainReader, RequestFraming};

/// Maximum number of a request's headers.
const MAX_HEADERS: usize = 100;
/// Polls without new data after which the client is considered gone.
const PATIENCE: u32 = 20;

/// A request as one of the parsers reads it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct ParsedRequest {
    method: String,
    target: String,
    body: Vec<u8>,
    /// Whether no other request may follow.
    is_last: bool,
}

/// Checks that both parsers agree, however the bytes are split; returns the number of requests.
/// There are as many responses as requests, or the last response is a refusal, or the client
/// closed.
pub(crate) fn check(input: &[u8], cuts: [usize; 2]) -> usize {
    let expected = expected(input);
    let whole = served(&[input]);
    assert_agrees(input, &whole, &expected);
    let (first, behind) = input.split_at(cuts[0].min(input.len()));
    let (second, third) = behind.split_at(cuts[1].min(behind.len()));
    let parted = served(&[first, second, third]);
    assert_agrees(input, &parted, &expected);
    assert_eq!(parted.seen, whole.seen, "{}", text(input));
    whole.seen.len()
}

fn assert_agrees(input: &[u8], served: &ListenerResult, expected: &[ParsedRequest]) {
    let ListenerResult { seen, statuses } = served;
    let text = text(input);
    assert!(
        expected.starts_with(seen),
        "{text}\nread {seen:#?}\nfor {expected:#?}"
    );
    let passed = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(passed, seen.len(), "{text}\n{statuses:?}");
    assert!(statuses.len() <= seen.len() + 1, "{text}\n{statuses:?}");
    let is_refused = statuses.last().is_some_and(|status| *status != 200);
    let is_last = seen.last().is_some_and(|asked| asked.is_last);
    assert!(
        seen.len() == expected.len() || is_refused || is_last,
        "{text}\nanswers {statuses:?} to {expected:#?}"
    );
}

fn text(input: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(input))
}

/// The listener's result for some bytes.
#[derive(Debug, Default)]
struct ListenerResult {
    seen: Vec<ParsedRequest>,
    /// Statuses of the final responses, in order.
    statuses: Vec<u16>,
}

fn served(pieces: &[&[u8]]) -> ListenerResult {
    let mut served = ListenerResult::default();
    let mut reader = PlainReader::new(&ListenSettings::default());
    let mut at = 0;
    let mut piece: &[u8] = b"";
    loop {
        match reader.push(piece) {
            PlainHead::Plain { request, closes } => {
                served
                    .seen
                    .push(asked(&request.map(|()| Vec::new()), closes));
                served.statuses.push(200);
                if closes {
                    return served;
                }
                piece = b"";
            }
            PlainHead::Partial if at < pieces.len() => {
                piece = pieces[at];
                at += 1;
            }
            PlainHead::Partial if reader.rest().is_empty() => return served,
            _ => break,
        }
    }
    let mut rest = vec![reader.rest().to_vec()];
    rest.extend(pieces[at..].iter().map(|piece| piece.to_vec()));
    parse_with_hyper(rest, &mut served);
    served
}

fn parse_with_hyper(pieces: Vec<Vec<u8>>, served: &mut ListenerResult) {
    let seen = RefCell::new(Vec::new());
    let output = Rc::<RefCell<Vec<u8>>>::default();
    let io = Io {
        pieces: pieces.into_iter(),
        framing: RequestFraming::default(),
        followed: Vec::new(),
        output: Rc::clone(&output),
        is_ended: Rc::default(),
    };
    let is_ended = Rc::clone(&io.is_ended);
    let service = service_fn(|request: Request<Incoming>| {
        let seen = &seen;
        async move { Ok::<_, Infallible>(answer(request, seen).await) }
    });
    {
        let mut builder = http1::Builder::new();
        let connection = builder.writev(false).header_read_timeout(None);
        let mut connection = pin!(connection.serve_connection(io, service));
        let context = &mut Context::from_waker(Waker::noop());
        let (mut before, mut idle) = ((0, 0), 0_u32);
        while connection.as_mut().poll(context).is_pending() {
            let progress = (seen.borrow().len(), output.borrow().len());
            idle = if progress == before { idle + 1 } else { 0 };
            before = progress;
            // hyper sends no more responses once the client has gone.
            is_ended.set(idle > PATIENCE);
            assert!(idle < 2 * PATIENCE, "the connection does not end");
        }
    }
    served.seen.extend(seen.into_inner());
    served.statuses.extend(statuses(&output.borrow()));
}

/// Reads the whole body, as the proxy does; refuses what the proxy would.
async fn answer(
    request: Request<Incoming>,
    seen: &RefCell<Vec<ParsedRequest>>,
) -> Response<Full<Bytes>> {
    let is_refused = request.method() == Method::CONNECT;
    let (parts, body) = request.into_parts();
    let body = body.collect().await;
    let mut response = Response::new(Full::default());
    match body {
        Ok(body) if !is_refused => {
            let body = body.to_bytes().to_vec();
            let is_last = is_last(parts.version, &parts.headers);
            let request = Request::from_parts(parts, body);
            seen.borrow_mut().push(asked(&request, is_last));
        }
        _ => {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert("connection", close);
        }
    }
    response
}

fn asked(request: &Request<Vec<u8>>, is_last: bool) -> ParsedRequest {
    ParsedRequest {
        method: request.method().to_string(),
        target: request.uri().to_string(),
        body: request.body().clone(),
        is_last,
    }
}

fn is_last(version: Version, headers: &HeaderMap) -> bool {
    let lines = headers.get_all("connection").iter();
    let mut tokens = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    // A server need not keep an old connection, whatever the client requests (RFC 9112 §9.3).
    version == Version::HTTP_10
        || tokens.any(|found| found.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// Reads the final statuses of responses without bodies.
fn statuses(mut output: &[u8]) -> Vec<u16> {
    let mut statuses = Vec::new();
    while !output.is_empty() {
        let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Response::new(&mut lines);
        let Ok(httparse::Status::Complete(len)) = parsed.parse(output) else {
            panic!("no response: {}", text(output));
        };
        let status = parsed.code.unwrap();
        if status >= 200 {
            statuses.push(status);
        }
        output = &output[len..];
    }
    statuses
}

/// A client that sends pieces, of which hyper gets what the listener passes on.
struct Io {
    pieces: std::vec::IntoIter<Vec<u8>>,
    framing: RequestFraming,
    followed: Vec<u8>,
    output: Rc<RefCell<Vec<u8>>>,
    is_ended: Rc<Cell<bool>>,
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        while self.followed.is_empty() {
            if self.framing.has_ended() {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            let Some(piece) = self.pieces.next() else {
                if self.is_ended.get() {
                    return Poll::Ready(Ok(()));
                }
                return Poll::Pending;
            };
            self.followed = self.framing.follow(&piece).into_owned();
        }
        let len = self.followed.len().min(buf.remaining());
        buf.put_slice(&self.followed[..len]);
        self.followed.drain(..len);
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.output.borrow_mut().extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Parses the complete requests before the first invalid or incomplete one.
fn expected(input: &[u8]) -> Vec<ParsedRequest> {
    let mut expected = Vec::new();
    let mut rest = input;
    while let Some((asked, behind)) = request(rest) {
        expected.push(asked);
        rest = behind;
    }
    expected
}

fn request(input: &[u8]) -> Option<(ParsedRequest, &[u8])> {
    let (head, skipped) = encoded(input)?;
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut lines);
    let Ok(httparse::Status::Complete(len)) = parsed.parse(&head) else {
        return None;
    };
    let behind = input.get(len - (head.len() - (input.len() - skipped)) + skipped..)?;
    let is_old = parsed.version == Some(0);
    let mut headers = HeaderMap::new();
    for line in parsed.headers.iter() {
        let name = http::HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(line.value).ok()?);
    }
    let has_chunks = headers.contains_key("transfer-encoding");
    let length = length(&headers).ok()?;
    let (body, behind) = match length {
        Some(_) if has_chunks => return None,
        Some(length) => behind.split_at_checked(usize::try_from(length).ok()?)?,
        None if has_chunks => {
            if is_old || !ends_with_chunked(&headers) {
                return None;
            }
            let (body, len) = chunks(behind)?;
            let version = Version::HTTP_11;
            let asked = read(&parsed, body, is_last(version, &headers))?;
            return Some((asked, behind.get(len..)?));
        }
        None => (&b""[..], behind),
    };
    let version = if is_old {
        Version::HTTP_10
    } else {
        Version::HTTP_11
    };
    Some((
        read(&parsed, body.to_vec(), is_last(version, &headers))?,
        behind,
    ))
}

fn read(parsed: &httparse::Request<'_, '_>, body: Vec<u8>, is_last: bool) -> Option<ParsedRequest> {
    // As forwarded: without a fragment.
    let target: http::Uri = parsed.path?.parse().ok()?;
    Some(ParsedRequest {
        method: parsed.method?.to_owned(),
        target: target.to_string(),
        body,
        is_last,
    })
}

/// Returns the input with an ASCII target and without leading empty lines, and their length.
fn encoded(input: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut skipped = 0;
    loop {
        match &input[skipped..] {
            [b'\n', ..] => skipped += 1,
            [b'\r', b'\n', ..] => skipped += 2,
            _ => break,
        }
    }
    let input = &input[skipped..];
    let line = &input[..input.iter().position(|byte| *byte == b'\n')?];
    let target = line
        .iter()
        .position(|byte| *byte == b' ')
        .unwrap_or(line.len());
    let mut encoded = input[..target].to_vec();
    for byte in &line[target..] {
        if byte.is_ascii() {
            encoded.push(*byte);
        } else {
            encoded.extend(format!("%{byte:02X}").bytes());
        }
    }
    encoded.extend(&input[line.len()..]);
    Some((encoded, skipped))
}

/// Contradictory or invalid headers.
struct InvalidFraming;

/// Returns the length on which all lines agree, if any.
fn length(headers: &HeaderMap) -> Result<Option<u64>, InvalidFraming> {
    let mut length = None;
    for line in headers.get_all("content-length") {
        let text = line.to_str().map_err(|_| InvalidFraming)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidFraming);
        }
        let told = text.parse::<u64>().map_err(|_| InvalidFraming)?;
        if length.is_some_and(|before| before != told) {
            return Err(InvalidFraming);
        }
        length = Some(told);
    }
    Ok(length)
}

fn ends_with_chunked(headers: &HeaderMap) -> bool {
    let codings = headers.get_all("transfer-encoding");
    let last = codings.iter().next_back().map(HeaderValue::as_bytes);
    let last = last.and_then(|line| line.rsplit(|byte| *byte == b',').next());
    last.is_some_and(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Parses a chunked body strictly (RFC 9112 §7.1); returns the body and the number of bytes read.
pub(crate) fn chunks(input: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = line(input, &mut at)?;
        let digits = line
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let rest = &line[digits..];
        let blanks = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        if !matches!(rest.get(blanks), None | Some(b';')) {
            return None;
        }
        let digits = std::str::from_utf8(&line[..digits]).ok()?;
        let size = usize::try_from(u64::from_str_radix(digits, 16).ok()?).ok()?;
        if size == 0 {
            break;
        }
        let end = at.checked_add(size)?;
        body.extend_from_slice(input.get(at..end)?);
        at = end;
        if !self::line(input, &mut at)?.is_empty() {
            return None;
        }
    }
    let start = at;
    while !line(input, &mut at)?.is_empty() {}
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    match httparse::parse_headers(&input[start..at], &mut lines) {
        Ok(httparse::Status::Complete((len, _))) if len == at - start => Some((body, at)),
        _ => None,
    }
}

/// Takes a line that ends with CR LF and contains neither elsewhere.
fn line<'i>(input: &'i [u8], at: &mut usize) -> Option<&'i [u8]> {
    let rest = input.get(*at..)?;
    let len = rest.iter().position(|byte| *byte == b'\n')?;
    let line = rest[..len].strip_suffix(b"\r")?;
    *at += len + 1;
    (!line.contains(&b'\r')).then_some(line)
}
