//! A cache of the header lines that a server has sent before.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};

use crate::listen::fast_path::is_cacheable;

use super::{
    head::{Head, MAX_HEAD_BYTES},
    lines::{HeaderRole, MAX_HEADERS, ResponseFacts},
};

/// The maximum number of cached status lines, of which a server sends few different ones, and the
/// maximum size of each.
const MAX_STATUSES: usize = 8;
const MAX_STATUS_BYTES: usize = 64;
/// The maximum number of cached lines, each of which is represented by one bit.
const MAX_LINES: usize = u32::BITS as usize;
/// The maximum size of a line that is cached with its value.
const MAX_LINE_BYTES: usize = 512;

/// A cache of the header lines received on one connection.
///
/// A server sends nearly the same head each time. A line that equals an earlier line byte for byte
/// has already been validated and has the same meaning, so it costs only one comparison. A head
/// that contains any other line is parsed. Together with smaller futures, this saves a sixth of the
/// instructions for a proxied request.
#[derive(Debug, Default)]
pub(super) struct LineCache {
    statuses: Vec<(Box<[u8]>, StatusCode)>,
    lines: Vec<CachedLine>,
    /// The number of headers in the last response head.
    count: usize,
}

/// A header line that was received before.
#[derive(Debug)]
struct CachedLine {
    /// The whole line including its line end, or only the line's prefix.
    line: Vec<u8>,
    /// The length of the line's prefix: the name, the colon, and the space that follows, if any.
    prefix_len: usize,
    name: HeaderName,
    /// The cached value, which shares no memory with a response; `None` if the value is not cached.
    value: Option<(HeaderValue, HeaderRole)>,
    /// The number of different values received since the value was cached.
    changes: u8,
}

/// A line that matches a cached one, with the same value or a different one.
struct MatchedLine {
    len: usize,
    role: HeaderRole,
    /// The value of the line, or `None` if it equals the cached value.
    value: Option<HeaderValue>,
}

/// A recorder that adds the lines of one response head to the cache.
pub(super) struct LineLearner<'a> {
    known: &'a mut LineCache,
    head: &'a [u8],
    /// A bit set of the cached lines that occur in the parsed head.
    used: u32,
}

impl LineCache {
    /// Parses a response head if its status line and header names are all cached, and also returns
    /// the head's length.
    ///
    /// Returns `None` if the parser must handle the head; `headers` may then be overwritten.
    pub(super) fn head(
        &mut self,
        input: &[u8],
        is_head: bool,
        headers: &mut HeaderMap,
    ) -> Option<(usize, Head)> {
        let mut statuses = self.statuses.iter();
        let (line, status) = statuses.find(|(line, _)| input.starts_with(line))?;
        let (status_len, status) = (line.len(), *status);
        let lines = input.get(status_len..)?;
        let (len, facts) = match self.fill_again(lines, headers) {
            Some(filled) => filled,
            None => self.fill(lines, headers)?,
        };
        let len = status_len + len;
        if len > MAX_HEAD_BYTES {
            return None;
        }
        let head = facts
            .head(headers, status, Version::HTTP_11, is_head)
            .ok()?;
        Some((len, head))
    }

    /// Sets the values in a header map that contains the headers of another head, if the names are
    /// the same.
    fn fill_again(
        &mut self,
        lines: &[u8],
        headers: &mut HeaderMap,
    ) -> Option<(usize, ResponseFacts)> {
        let mut places = headers.iter_mut();
        let filled = self.lines(lines, |name, value| {
            let (_, last) = places.next().filter(|(slot, _)| *slot == name)?;
            if *last != *value {
                *last = value.clone();
            }
            Some(())
        })?;
        places.next().is_none().then_some(filled)
    }

    /// Clears a header map and fills it with the headers of a head.
    fn fill(&mut self, lines: &[u8], headers: &mut HeaderMap) -> Option<(usize, ResponseFacts)> {
        headers.clear();
        headers.reserve(self.count);
        self.lines(lines, |name, value| {
            let added = headers.try_append(name.clone(), value.clone());
            added.is_ok().then_some(())
        })
    }

    /// Reads the header lines up to the empty line, passes each header to `put`, and returns the
    /// total length of the lines.
    fn lines(
        &mut self,
        lines: &[u8],
        mut put: impl FnMut(&HeaderName, &HeaderValue) -> Option<()>,
    ) -> Option<(usize, ResponseFacts)> {
        let mut facts = ResponseFacts::default();
        let (mut len, mut count, mut expected) = (0, 0, 0);
        loop {
            let rest = lines.get(len..)?;
            if rest.starts_with(b"\r\n") {
                self.count = count;
                return Some((len + 2, facts));
            }
            let (number, line_len) = self.line(rest, expected, &mut facts, &mut put)?;
            len += line_len;
            expected = number + 1;
            count += 1;
            if count > MAX_HEADERS {
                return None;
            }
        }
    }

    /// Caches the status line of a final response; the headers are added afterwards.
    pub(super) fn learn<'a>(&'a mut self, head: &'a [u8], status: StatusCode) -> LineLearner<'a> {
        let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
        let (line, head) = head.split_at_checked(end).unwrap_or_default();
        // HTTP/1.0 connections are closed by default (RFC 9112 §9.3), and 1xx responses are not
        // final, so both are left to the parser.
        let is_usual = line.starts_with(b"HTTP/1.1 ") && line.ends_with(b"\r\n");
        let is_known = self.statuses.iter().any(|(known, _)| **known == *line);
        if is_usual && !is_known && !status.is_informational() && line.len() <= MAX_STATUS_BYTES {
            // The oldest status line is evicted, without counting uses, because servers rarely send
            // more status lines than fit.
            if self.statuses.len() == MAX_STATUSES {
                self.statuses.remove(0);
            }
            self.statuses.push((line.into(), status));
        }
        LineLearner {
            known: self,
            head,
            used: 0,
        }
    }

    /// Looks up a header line, which usually follows the same line as in the last head.
    fn line(
        &mut self,
        rest: &[u8],
        expected: usize,
        facts: &mut ResponseFacts,
        put: &mut impl FnMut(&HeaderName, &HeaderValue) -> Option<()>,
    ) -> Option<(usize, usize)> {
        let expected_line = self.lines.get_mut(expected);
        let (number, taken) = match expected_line.and_then(|known| known.take(rest)) {
            Some(taken) => (expected, taken),
            None => self.other_line(rest, expected)?,
        };
        if facts.add(taken.role) {
            let known = self.lines.get(number)?;
            let last = known.value.as_ref().map(|(value, _)| value);
            put(&known.name, taken.value.as_ref().or(last)?)?;
        }
        Some((number, taken.len))
    }

    fn other_line(&mut self, rest: &[u8], expected: usize) -> Option<(usize, MatchedLine)> {
        let order = (expected + 1..self.lines.len()).chain(0..expected);
        for number in order {
            if let Some(taken) = self.lines.get_mut(number)?.take(rest) {
                return Some((number, taken));
            }
        }
        None
    }
}

impl CachedLine {
    fn new(prefix_len: usize, raw: &[u8], name: &HeaderName, value: &[u8]) -> Self {
        let mut known = Self {
            line: raw.get(..prefix_len).unwrap_or_default().to_vec(),
            prefix_len,
            name: name.clone(),
            value: None,
            changes: 0,
        };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            let role = HeaderRole::classify(name, value.as_bytes());
            known.keep(raw, value, role);
        }
        known
    }

    /// Matches a line that has the same name as the cached line, with the same value or a different
    /// one.
    fn take(&mut self, rest: &[u8]) -> Option<MatchedLine> {
        if let Some((_, role)) = &self.value
            && rest.starts_with(&self.line)
        {
            self.changes = 0;
            return Some(MatchedLine {
                len: self.line.len(),
                role: *role,
                value: None,
            });
        }
        let value = rest.strip_prefix(self.line.get(..self.prefix_len)?)?;
        let end = memchr::memchr(b'\n', value)?;
        let value = value.get(..end)?.strip_suffix(b"\r")?;
        // Spaces around a value are not part of the value (RFC 9112 §5.1); the parser removes them.
        if value.trim_ascii().len() != value.len() {
            return None;
        }
        let value = HeaderValue::from_bytes(value).ok()?;
        let role = HeaderRole::classify(&self.name, value.as_bytes());
        let len = self.prefix_len + end + 1;
        // It is not worthwhile to copy a value that changes with each response (a date, a cookie)
        // each time, so it is copied after 1, 2, 4, 8 … changes.
        self.changes = self.changes.wrapping_add(1);
        if self.changes.is_power_of_two() {
            self.keep(rest.get(..len)?, value.clone(), role);
        }
        Some(MatchedLine {
            len,
            role,
            value: Some(value),
        })
    }

    fn keep(&mut self, raw: &[u8], value: HeaderValue, role: HeaderRole) {
        if raw.len() <= MAX_LINE_BYTES && is_cacheable(&self.name) {
            self.line.clear();
            self.line.extend_from_slice(raw);
            self.value = Some((value, role));
        }
    }
}

impl LineLearner<'_> {
    /// Caches the next parsed line of the response head.
    pub(super) fn add(&mut self, line: &httparse::Header<'_>, name: &HeaderName) {
        let end = memchr::memchr(b'\n', self.head).map_or(self.head.len(), |at| at + 1);
        let (raw, rest) = self.head.split_at_checked(end).unwrap_or_default();
        self.head = rest;
        let Some(prefix_len) = prefix_len(raw, line) else {
            return;
        };
        let mut all = self.known.lines.iter().enumerate();
        let found = all.find(|(number, known)| {
            let is_free = self.used & (1 << number) == 0;
            is_free && known.line.get(..known.prefix_len) == raw.get(..prefix_len)
        });
        let number = match found {
            Some((number, _)) => number,
            None if self.known.lines.len() < MAX_LINES => {
                let known = CachedLine::new(prefix_len, raw, name, line.value);
                self.known.lines.push(known);
                self.known.lines.len() - 1
            }
            None => return,
        };
        self.used |= 1 << number;
    }
}

/// Returns the number of bytes before the value of a line, or `None` if the line has unusual spaces
/// or an unusual line end.
fn prefix_len(raw: &[u8], line: &httparse::Header<'_>) -> Option<usize> {
    let after_name = raw.strip_prefix(line.name.as_bytes())?;
    let after_colon = after_name.strip_prefix(b":")?;
    let blank_len = usize::from(after_colon.starts_with(b" "));
    let value = after_colon.get(blank_len..)?.strip_suffix(b"\r\n")?;
    (value == line.value).then_some(line.name.len() + 1 + blank_len)
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use http::header::SET_COOKIE;

    use super::{
        super::{
            Http1Error,
            head::{self, ParseResult},
        },
        *,
    };

    /// Returns the results of parsing successive heads into one map.
    fn parsed(
        heads: &[&[u8]],
        known: &mut LineCache,
    ) -> Vec<(Result<ParseResult, String>, HeaderMap, BytesMut)> {
        let text = |error: Http1Error| error.to_string();
        let mut used = HeaderMap::new();
        used.insert("x-of-another-head", HeaderValue::from_static("1"));
        let heads = heads.iter().map(|head| {
            let mut input = BytesMut::from(*head);
            let parsed = head::parse(&mut input, &mut 0, false, Some(known), &mut used);
            let is_there = matches!(parsed, Ok(ParseResult::Final(_)));
            let headers = if is_there {
                used.clone()
            } else {
                HeaderMap::new()
            };
            (parsed.map_err(text), headers, input)
        });
        heads.collect()
    }

    const HEADS: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nServer: a\r\nDate: b\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nServer: a\r\nDate: c\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 404 Not Found\r\nserver: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nX-A: 3\r\nX-Empty:\r\nX-Empty: \r\nContent-Length:5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: 2\r\nX-A: 1\r\nX-Empty: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length:  5 \r\nServer: \ta \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\rb\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\r\n b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\nDate: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer : a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\r\nDate",
        b"HTTP/1.1 200 OK\r\nServer: a\r\n\r",
        b"HTTP/1.1 200 OK\nServer: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: x-a\r\nX-A: 1\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nServer: a\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nDate: b\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-\xe4: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: \xe4\xff\r\n\r\n",
        b"\r\nHTTP/1.1 200 OK\r\nServer: b\r\n\r\n",
        b"\r\n\r\n",
    ];

    #[test]
    fn earlier_heads_make_no_difference() {
        let alone: Vec<_> = HEADS
            .iter()
            .flat_map(|head| parsed(&[head], &mut LineCache::default()))
            .collect();
        assert!(alone.iter().any(|(parsed, ..)| parsed.is_err()));
        for before in HEADS {
            let mut known = LineCache::default();
            parsed(&[before, before], &mut known);
            assert_eq!(
                parsed(&[before], &mut known),
                parsed(&[before], &mut LineCache::default())
            );
            for (head, alone) in HEADS.iter().zip(&alone) {
                let found = parsed(&[before, head, head], &mut known);
                let name = String::from_utf8_lossy(head);
                assert_eq!(found.get(1), Some(alone), "{name:?}");
                assert_eq!(found.get(2), Some(alone), "{name:?} again");
            }
        }
    }

    #[test]
    fn head_of_cached_lines_needs_no_parser() {
        let mut known = LineCache::default();
        for (before, head, is_known) in [
            (0, 0, true),
            (0, 1, true),
            (3, 3, true),
            (0, 2, false),
            (0, 15, false),
            (0, 18, false),
        ] {
            parsed(&[HEADS[before]], &mut known);
            let found = known.head(HEADS[head], false, &mut HeaderMap::new());
            assert_eq!(found.is_some(), is_known, "{before} {head}");
        }
    }

    #[test]
    fn cache_is_bounded() {
        let mut known = LineCache::default();
        for number in 0..200 {
            let head = format!(
                "HTTP/1.1 200 {number}\r\nX-{number}: {number}\r\nX-Long: {}\r\nX-Changes: {number}\r\nSet-Cookie: {number}\r\n\r\n",
                "x".repeat(10_000),
            );
            parsed(&[head.as_bytes()], &mut known);
        }
        let bytes: usize = known.lines.iter().map(|known| known.line.capacity()).sum();
        assert!(bytes <= MAX_LINES * MAX_LINE_BYTES, "{bytes}");
        assert_eq!(
            (known.statuses.len(), known.lines.len()),
            (MAX_STATUSES, MAX_LINES)
        );
        let cookie = known.lines.iter().find(|known| known.name == SET_COOKIE);
        assert!(cookie.is_some_and(|cookie| cookie.value.is_none()));
    }

    #[test]
    fn changed_value_is_cached_the_next_time() {
        let mut known = LineCache::default();
        parsed(&[HEADS[0], HEADS[1]], &mut known);
        let date = known.lines.iter().find(|known| known.name == "date");
        assert_eq!(date.unwrap().value.as_ref().unwrap().0, "c");
    }
}
