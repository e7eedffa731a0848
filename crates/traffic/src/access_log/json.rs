//! Fields of log lines that are JSON objects.

use std::collections::HashMap;

use super::{
    FieldPath,
    scanner::Scanner,
    slot::{Fields, SLOTS, Slot},
};

/// Maximum length of a path in bytes; longer paths are not searched.
const MAX_PATH_BYTES: usize = 256;

/// Names of fields as servers write them, in order of preference. ASCII letters match regardless of
/// case, and a dot leads to a member of an object or belongs to the name.
const NAMES: &[(Slot, &str)] = &[
    (
        Slot::Time,
        "time_iso8601 StartUTC time timestamp @timestamp ts msec start_time EdgeStartTimestamp \
         EdgeEndTimestamp time_local",
    ),
    (
        Slot::Client,
        "remote_addr request.client_ip request.remote_ip ClientHost client_ip ClientIP remote_ip \
         client.ip httpRequest.remoteIp properties.clientIp",
    ),
    (Slot::ClientPort, "downstream_remote_address"),
    (
        Slot::Forwarded,
        "http_x_forwarded_for x_forwarded_for request.headers.X-Forwarded-For",
    ),
    (Slot::Request, "request request_line requestLine"),
    (
        Slot::Method,
        "request_method method request.method RequestMethod http.request.method \
         httpRequest.requestMethod ClientRequestMethod properties.httpMethod",
    ),
    (
        Slot::Target,
        "request_uri request.uri target uri path RequestPath url.original url \
         httpRequest.requestUrl ClientRequestURI properties.requestUri",
    ),
    (
        Slot::Host,
        "http_host request.host RequestHost host server_name url.domain authority \
         ClientRequestHost properties.hostName",
    ),
    (
        Slot::Status,
        "status DownstreamStatus http.response.status_code httpRequest.status response_code \
         response_status EdgeResponseStatus properties.httpStatusCode properties.httpStatus",
    ),
    (
        Slot::Bytes,
        "body_bytes_sent bytes_sent bytes size DownstreamContentSize httpRequest.responseSize \
         EdgeResponseBytes response_body_size properties.responseBytes properties.sentBytes",
    ),
    (Slot::Seconds, "request_time properties.timeTaken"),
    (
        Slot::Referrer,
        "http_referer request.headers.Referer request_Referer referer referrer \
         http.request.referrer httpRequest.referer ClientRequestReferer request_referer \
         properties.referer",
    ),
    (
        Slot::UserAgent,
        "http_user_agent user_agent userAgent agent request.headers.User-Agent request_User-Agent \
         user_agent.original httpRequest.userAgent ClientRequestUserAgent request_user_agent \
         properties.userAgent",
    ),
    (Slot::Site, "site"),
    (Slot::Decision, "decision"),
    (Slot::Verdict, "verdict"),
];

/// Fields to read from JSON objects, by path.
#[derive(Clone, Debug)]
pub(super) struct JsonFields(HashMap<Vec<u8>, Node>);

/// A path, which may lead to a field, to an object with further paths, or to both.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The field, with its position in order of preference.
    field: Option<(Slot, usize)>,
    is_object: bool,
}

/// State of reading a line.
struct Reading<'r, 'l> {
    nodes: &'r JsonFields,
    scanner: Scanner<'l>,
    fields: Fields<'l>,
    /// Position of each field found, in order of preference.
    ranks: [usize; SLOTS],
    /// Path of the current member, in lower case.
    path: [u8; MAX_PATH_BYTES],
}

impl JsonFields {
    /// Returns the usual fields; `own` fields are preferred.
    pub(super) fn new(own: &[(Slot, FieldPath)]) -> Self {
        let mut nodes = Self(HashMap::new());
        for (slot, path) in own {
            nodes.add(path.as_bytes(), *slot, 0);
        }
        for (slot, names) in NAMES {
            for (rank, name) in (1..).zip(names.split_ascii_whitespace()) {
                nodes.add(name.as_bytes(), *slot, rank);
            }
        }
        nodes
    }

    fn add(&mut self, path: &[u8], slot: Slot, rank: usize) {
        let path = path.to_ascii_lowercase();
        for at in memchr::memchr_iter(b'.', &path) {
            let outer = path.get(..at).unwrap_or_default();
            self.0.entry(outer.to_vec()).or_default().is_object = true;
        }
        let node = self.0.entry(path).or_default();
        node.field = node.field.or(Some((slot, rank)));
    }

    /// Returns the fields of a line. Returns `None` if the line is not one complete JSON object.
    pub(super) fn read<'l>(&self, line: &'l [u8]) -> Option<Fields<'l>> {
        let mut reading = Reading {
            nodes: self,
            scanner: Scanner::new(line),
            fields: Fields::default(),
            ranks: [usize::MAX; SLOTS],
            path: [0; MAX_PATH_BYTES],
        };
        reading.object(0)?;
        reading.scanner.peek().is_none().then_some(reading.fields)
    }
}

impl Reading<'_, '_> {
    /// Reads an object whose members' paths begin with `start` bytes of the current path; to
    /// protect the stack, nested objects are read only as deeply as a path requires.
    fn object(&mut self, start: usize) -> Option<()> {
        if !self.scanner.take(b'{') {
            return None;
        }
        if self.scanner.take(b'}') {
            return Some(());
        }
        loop {
            let name = self.scanner.string()?.0;
            if !self.scanner.take(b':') {
                return None;
            }
            let end = start + name.len();
            let mut node = Node::default();
            if let Some(place) = self.path.get_mut(start..end) {
                place.copy_from_slice(name);
                place.make_ascii_lowercase();
                let found = self.path.get(..end).and_then(|path| self.nodes.0.get(path));
                node = found.copied().unwrap_or_default();
            }
            self.value(end, node)?;
            if !self.scanner.take(b',') {
                return self.scanner.take(b'}').then_some(());
            }
        }
    }

    fn value(&mut self, end: usize, node: Node) -> Option<()> {
        if node.is_object && self.scanner.peek() == Some(b'{') {
            if let Some(dot) = self.path.get_mut(end) {
                *dot = b'.';
            }
            return self.object(end + 1);
        }
        // The value is always skipped, and parsed only from a copy of the scanner: a value of an
        // unexpected type, such as `null`, does not affect the rest of the line.
        let mut copy = self.scanner;
        self.scanner.skip()?;
        let Some((slot, rank)) = node.field else {
            return Some(());
        };
        // The first of two members with the same name is used (RFC 8259 §4 leaves this open).
        if let Some(best) = self.ranks.get_mut(slot as usize)
            && rank < *best
            && let Some(text) = text(&mut copy)
        {
            *best = rank;
            self.fields.set(slot, text);
        }
        Some(())
    }
}

/// Returns a string, a number, or the first string of an array, because Caddy logs headers as
/// arrays.
fn text<'l>(scanner: &mut Scanner<'l>) -> Option<&'l [u8]> {
    // The scanner is a copy, so the end of the array need not be consumed.
    scanner.take(b'[');
    match scanner.peek()? {
        b'"' => Some(scanner.string()?.0),
        b'0'..=b'9' => scanner.scalar(),
        _ => None,
    }
}
