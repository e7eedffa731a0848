//! Strict parsing of messages: anything that two parsers could read differently is malformed.

/// A request as received by the upstream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: Vec<u8>,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
}

/// A response as received by the client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    /// Whether the connection ended before the body did.
    pub(super) is_cut: bool,
}

/// Progress of parsing a message.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Read<T> {
    /// The complete message, and its length in bytes.
    Whole(T, usize),
    Partial,
    Malformed(&'static str),
}

/// Header and trailer lines, with names in lower case.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .iter()
            .filter(move |(found, _)| found == name)
            .map(|(_, value)| value.as_slice())
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Returns the lines as text, for test output.
    pub(super) fn shown(&self) -> String {
        let lines: Vec<_> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.escape_ascii()))
            .collect();
        lines.join(" | ")
    }

    /// Returns `true` if a header determines the end of the body.
    pub(super) fn has_framing(&self) -> bool {
        self.has_name("content-length") || self.has_name("transfer-encoding")
    }

    /// Returns `true` if `name: value` is one of the lines.
    pub(super) fn has_line(&self, line: &[u8]) -> bool {
        let colon = line.windows(2).position(|pair| pair == b": ").unwrap();
        let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
        self.values(&name).any(|value| value == &line[colon + 2..])
    }
}

/// Parses a request; `early` stops at the end of its head.
pub(super) fn request(bytes: &[u8], early: bool) -> Read<Request> {
    let Some(head) = head(bytes) else {
        return Read::Partial;
    };
    match whole_request(bytes, head, early) {
        Ok(Some((request, len))) => Read::Whole(request, len),
        Ok(None) => Read::Partial,
        Err(reason) => Read::Malformed(reason),
    }
}

/// Parses a response to a request with this method; `ended` means that no more bytes follow.
pub(super) fn response(bytes: &[u8], method: &str, ended: bool) -> Read<Response> {
    let Some(head) = head(bytes) else {
        return Read::Partial;
    };
    match whole_response(bytes, head, method, ended) {
        Ok(Some((response, len))) => Read::Whole(response, len),
        Ok(None) => Read::Partial,
        Err(reason) => Read::Malformed(reason),
    }
}

type ParseResult<T> = Result<Option<(T, usize)>, &'static str>;

fn whole_request(bytes: &[u8], head: usize, early: bool) -> ParseResult<Request> {
    let (line, mut headers) = lines(&bytes[..head])?;
    let [method, target, version] = line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] else {
        return Err("request line is not three words");
    };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return Err("method is not a token");
    }
    if target.is_empty() || !target.iter().all(|byte| is_in_target(*byte)) {
        return Err("target has bytes that no target has");
    }
    if version != b"HTTP/1.1" {
        return Err("version is not HTTP/1.1");
    }
    if headers.values("host").count() != 1 {
        return Err("not one Host");
    }
    let rest = &bytes[head..];
    let framing = if early {
        Framing::Length(0)
    } else {
        framing(&headers)?.unwrap_or(Framing::Length(0))
    };
    let Some((body, len)) = body(rest, framing, &mut headers)? else {
        return Ok(None);
    };
    let request = Request {
        method: String::from_utf8_lossy(method).into_owned(),
        target: target.to_vec(),
        headers,
        body,
    };
    Ok(Some((request, head + len)))
}

fn whole_response(bytes: &[u8], head: usize, method: &str, ended: bool) -> ParseResult<Response> {
    let (line, mut headers) = lines(&bytes[..head])?;
    let status = line
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| line.strip_prefix(b"HTTP/1.0 "))
        .filter(|rest| rest.get(3) == Some(&b' '))
        .and_then(|rest| std::str::from_utf8(&rest[..3]).ok()?.parse().ok())
        .ok_or("status line has not its form")?;
    let framing = framing(&headers)?;
    if (100..200).contains(&status) || status == 204 {
        // RFC 9110 §8.6, RFC 9112 §6.1.
        if framing.is_some() {
            return Err("framing in a response that has no body");
        }
    }
    let is_bodiless =
        method == "HEAD" || (100..200).contains(&status) || status == 204 || status == 304;
    let framing = if is_bodiless {
        Some(Framing::Length(0))
    } else {
        framing
    };
    let rest = &bytes[head..];
    let found = match framing {
        Some(framing) => body(rest, framing, &mut headers)?,
        None if ended => Some((rest.to_vec(), rest.len())),
        None => None,
    };
    let is_cut = found.is_none();
    if is_cut && !ended {
        return Ok(None);
    }
    let (body, len) = found.unwrap_or_else(|| (rest.to_vec(), rest.len()));
    let response = Response {
        status,
        headers,
        body,
        is_cut,
    };
    Ok(Some((response, head + len)))
}

fn head(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

/// Splits a head into its first line and header lines.
fn lines(head: &[u8]) -> Result<(&[u8], Headers), &'static str> {
    let (first, rest) = split_line(head).ok_or("no line")?;
    if first.iter().any(u8::is_ascii_control) {
        return Err("control byte in the first line");
    }
    let mut headers = Headers::default();
    headers.add_all(rest)?;
    Ok((first, headers))
}

impl Headers {
    /// Parses lines up to an empty one.
    fn add_all(&mut self, mut bytes: &[u8]) -> Result<(), &'static str> {
        while let Some((line, rest)) = split_line(bytes) {
            if line.is_empty() {
                return Ok(());
            }
            let colon = line
                .iter()
                .position(|byte| *byte == b':')
                .ok_or("header line without a colon")?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
                return Err("header name is not a token");
            }
            if value
                .iter()
                .any(|byte| byte.is_ascii_control() && *byte != b'\t')
            {
                return Err("control byte in a header value");
            }
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            self.0.push((name, value.to_vec()));
            bytes = rest;
        }
        Err("no empty line")
    }
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
}

fn framing(headers: &Headers) -> Result<Option<Framing>, &'static str> {
    let lengths: Vec<_> = headers.values("content-length").collect();
    let codings: Vec<_> = headers.values("transfer-encoding").collect();
    match (&lengths[..], &codings[..]) {
        ([], []) => Ok(None),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Some(Framing::Chunked)),
        ([length], []) if !length.is_empty() && length.iter().all(u8::is_ascii_digit) => {
            let length = String::from_utf8_lossy(length).parse();
            length
                .map(|length| Some(Framing::Length(length)))
                .map_err(|_| "length too large")
        }
        _ => Err("not exactly one framing"),
    }
}

fn body(bytes: &[u8], framing: Framing, headers: &mut Headers) -> ParseResult<Vec<u8>> {
    match framing {
        Framing::Length(len) => Ok(bytes.get(..len).map(|body| (body.to_vec(), len))),
        Framing::Chunked => chunks(bytes, headers),
    }
}

/// Parses chunks without extensions, and trailers.
fn chunks(bytes: &[u8], headers: &mut Headers) -> ParseResult<Vec<u8>> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let Some((size, _)) = split_line(&bytes[at..]) else {
            return Ok(None);
        };
        if size.is_empty() || size.len() > 8 || !size.iter().all(u8::is_ascii_hexdigit) {
            return Err("chunk size is not a hexadecimal number");
        }
        at += size.len() + 2;
        let size =
            usize::from_str_radix(&String::from_utf8_lossy(size), 16).map_err(|_| "chunk size")?;
        if size == 0 {
            break;
        }
        let Some(chunk) = bytes.get(at..at + size + 2) else {
            return Ok(None);
        };
        if !chunk.ends_with(b"\r\n") {
            return Err("chunk does not end where its size says");
        }
        body.extend(&chunk[..size]);
        at += size + 2;
    }
    let rest = &bytes[at..];
    if rest.starts_with(b"\r\n") {
        return Ok(Some((body, at + 2)));
    }
    let Some(trailers) = head(rest) else {
        return Ok(None);
    };
    headers.add_all(&rest[..trailers])?;
    Ok(Some((body, at + trailers)))
}

/// Bytes beyond ASCII are invalid there, but no parser mistakes them for an end.
fn is_in_target(byte: u8) -> bool {
    (byte.is_ascii_graphic() && byte != b'#') || !byte.is_ascii()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[test]
fn ambiguous_messages_are_malformed() {
    let post = |lines: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n{body}");
    for (bytes, whole) in [
        (post("", ""), true),
        (post("Content-Length: 2\r\n", "ab"), true),
        (
            post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n0\r\n\r\n"),
            true,
        ),
        (
            post("Transfer-Encoding: chunked\r\n", "0\r\nX: y\r\n\r\n"),
            true,
        ),
        (
            post(
                "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
            false,
        ),
        (
            post("Content-Length: 2\r\nContent-Length: 2\r\n", "ab"),
            false,
        ),
        (post("Content-Length: +2\r\n", "ab"), false),
        (post("Transfer-Encoding: xchunked\r\n", ""), false),
        (
            post("Transfer-Encoding: chunked\r\n", "2;x\r\nab\r\n0\r\n\r\n"),
            false,
        ),
        (
            post("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n"),
            false,
        ),
        (post("X : y\r\n", ""), false),
        (post(" X: y\r\n", ""), false),
        (post("X: y\nZ: z\r\n", ""), false),
        (post("X: y\rZ\r\n", ""), false),
        (post("Host: b\r\n", ""), false),
    ] {
        let read = request(bytes.as_bytes(), false);
        assert_eq!(
            matches!(&read, Read::Whole(_, len) if *len == bytes.len()),
            whole,
            "{bytes:?}: {read:?}"
        );
        assert_eq!(matches!(read, Read::Malformed(_)), !whole, "{bytes:?}");
    }
    assert_eq!(
        request(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab",
            false
        ),
        Read::Partial
    );
}
