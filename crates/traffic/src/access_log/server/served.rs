//! Parses the responses and clients that access log lines describe.

use std::{borrow::Cow, net::IpAddr, sync::LazyLock};

use chrono::DateTime;
use memchr::memmem;

use super::recognised::{ResponseFields, response_fields};
use crate::access_log::{
    FieldPath, escapes::unescape, json::Fields, logged_request::HOSTS, parser::client,
};

/// Names of JSON fields, in order of preference; each list has at most eight names.
pub(super) const TIMES: &[&str] = &[
    "time",
    "time_iso8601",
    "StartUTC",
    "timestamp",
    "@timestamp",
    // Seconds since 1970, written by Caddy and nginx.
    "ts",
    "msec",
];
pub(super) const STATUSES: &[&str] = &[
    "status",
    // Written by Traefik, the Elastic Common Schema and Google.
    "DownstreamStatus",
    "http.response.status_code",
    "httpRequest.status",
];

/// A response described by an access log line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoggedResponse<'a> {
    /// Time of the response, in seconds since 1970.
    pub at_s: i64,
    /// HTTP status; 0 if the line contains no status.
    pub status: u16,
    /// Number of bytes in the response body.
    pub bytes: u64,
    /// Duration in microseconds; 0 if the line contains no duration.
    pub micros: u64,
    /// User-Agent as sent by the client; `None` if the log line contains no User-Agent, or an empty
    /// one or `-`.
    pub user_agent: Option<&'a [u8]>,
    /// Requested host.
    pub host: Option<Cow<'a, str>>,
    /// Name of the site; present only in logs written by this project's server.
    pub site: Option<Cow<'a, str>>,
    /// Decision on the request; present only in logs written by this project's server.
    pub decision: Option<Cow<'a, str>>,
    /// Verdict on the robot's claim; present only in logs written by this project's server.
    pub verdict: Option<Cow<'a, str>>,
}

/// A parser for the responses that access log lines describe; the lines are passed to it one after
/// the other.
#[derive(Debug, Default)]
pub struct ResponseParser {
    /// Buffer for the unescaped User-Agent.
    unescaped: Vec<u8>,
    /// Text of the time that was parsed most recently, because many consecutive lines contain the
    /// same time.
    time: Vec<u8>,
    at_s: i64,
}

impl ResponseParser {
    /// Parses a line in the common, combined or JSON format; a line that starts with a brace is
    /// JSON.
    ///
    /// Returns `None` if the line is in another format or contains no time.
    pub fn read<'a>(&'a mut self, line: &'a [u8]) -> Option<LoggedResponse<'a>> {
        if line.trim_ascii_start().starts_with(b"{") {
            self.read_json(line)
        } else {
            self.read_combined(line)
        }
    }

    fn read_combined<'a>(&'a mut self, line: &'a [u8]) -> Option<LoggedResponse<'a>> {
        let whole = response_fields(line)?;
        let at_s = self.second(whole.time, "%d/%b/%Y:%H:%M:%S %z")?;
        let own = OwnFields::from_line(&whole);
        Some(LoggedResponse {
            at_s,
            status: status(whole.status),
            bytes: whole.bytes,
            micros: own.as_ref().map_or(0, |own| own.micros),
            host: virtual_host(line).map(String::from_utf8_lossy),
            site: None,
            decision: own
                .as_ref()
                .map(|own| String::from_utf8_lossy(own.decision)),
            verdict: own.and_then(|own| own.verdict).map(String::from_utf8_lossy),
            user_agent: self.user_agent(whole.user_agent),
        })
    }

    fn read_json<'a>(&'a mut self, line: &'a [u8]) -> Option<LoggedResponse<'a>> {
        static TIME: LazyLock<Fields> = LazyLock::new(|| fields(TIMES, TIMES));
        static ENTRY: LazyLock<Fields> =
            LazyLock::new(|| Fields::new(FieldPath::usual_user_agents(), FieldPath::usual_bytes()));
        static HOST: LazyLock<Fields> = LazyLock::new(|| fields(HOSTS, STATUSES));
        static SITE: LazyLock<Fields> = LazyLock::new(|| fields(&["site"], &[]));
        static DECISION: LazyLock<Fields> = LazyLock::new(|| fields(&["decision"], &[]));
        static VERDICT: LazyLock<Fields> = LazyLock::new(|| fields(&["verdict"], &[]));

        let time = TIME.read(line)?;
        let at_s = match self.second(time.user_agent, "") {
            Some(at_s) => at_s,
            // Some versions of nginx can only write a number in quotes.
            None => number(time.user_agent)
                .or(i64::try_from(time.bytes).ok())
                .filter(|at_s| *at_s > 0)?,
        };
        let entry = ENTRY.read(line)?;
        let host = HOST.read(line)?;
        let is_own = memmem::find(line, b"\"decision\"").is_some();
        let own = |fields: &Fields| {
            let raw = fields.read(line).filter(|_| is_own)?.user_agent;
            text(raw)
        };
        Some(LoggedResponse {
            at_s,
            status: u16::try_from(host.bytes).unwrap_or_default(),
            bytes: entry.bytes,
            micros: 0,
            host: text(host.user_agent),
            site: own(&SITE),
            decision: own(&DECISION),
            verdict: own(&VERDICT),
            user_agent: self.user_agent(entry.user_agent),
        })
    }

    /// Parses a time in the given format, or in RFC 3339 format if the given format is empty.
    /// Returns seconds since 1970.
    fn second(&mut self, time: &[u8], format: &str) -> Option<i64> {
        if time != self.time || time.is_empty() {
            let text = str::from_utf8(time).ok()?;
            let read = if format.is_empty() {
                DateTime::parse_from_rfc3339(text)
            } else {
                DateTime::parse_from_str(text, format)
            };
            self.at_s = read.ok()?.timestamp();
            self.time.clear();
            self.time.extend_from_slice(time);
        }
        Some(self.at_s)
    }

    fn user_agent<'a>(&'a mut self, raw: &'a [u8]) -> Option<&'a [u8]> {
        self.unescaped.clear();
        let user_agent = if raw.contains(&b'\\') {
            unescape(raw, &mut self.unescaped);
            &self.unescaped
        } else {
            raw
        };
        (!matches!(user_agent, b"" | b"-")).then_some(user_agent)
    }
}

/// The fields that this server writes after the User-Agent.
struct OwnFields<'a> {
    decision: &'a [u8],
    verdict: Option<&'a [u8]>,
    micros: u64,
}

impl<'a> OwnFields<'a> {
    fn from_line(whole: &ResponseFields<'a>) -> Option<Self> {
        let [Some(_robot), Some(visitor), Some(decision), Some(verdict)] = whole.more else {
            return None;
        };
        // Other servers also write quoted fields in this place, such as `X-Forwarded-For`.
        let is_ours = matches!(
            visitor,
            b"person" | b"listed" | b"unlisted" | b"nameless" | b"shared" | b"-"
        );
        is_ours.then(|| Self {
            decision,
            verdict: Some(verdict).filter(|verdict| **verdict != *b"-"),
            micros: micros(whole.rest).unwrap_or_default(),
        })
    }
}

/// Returns the integer part of a number such as `1772359200.25`.
fn number(digits: &[u8]) -> Option<i64> {
    let whole = digits.split(|byte| *byte == b'.').next()?;
    str::from_utf8(whole).ok()?.parse().ok()
}

/// Parses a number of seconds such as `0.001234`, and returns microseconds.
fn micros(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text.trim_ascii()).ok()?;
    let (seconds, fraction) = text.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(fraction)
}

/// Returns the name of a virtual host, which some logs contain before the address.
fn virtual_host(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|byte| *byte == b' ');
    let (host, client) = (words.next()?, words.next()?);
    let client = str::from_utf8(client).ok()?;
    client.parse::<IpAddr>().is_ok().then_some(host)
}

fn status(digits: &[u8]) -> u16 {
    let status = str::from_utf8(digits).ok();
    status
        .and_then(|status| status.parse().ok())
        .unwrap_or_default()
}

fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    if matches!(raw, b"" | b"-") {
        return None;
    }
    if !raw.contains(&b'\\') {
        return Some(String::from_utf8_lossy(raw));
    }
    let mut text = Vec::new();
    unescape(raw, &mut text);
    Some(Cow::Owned(String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn fields(texts: &[&str], numbers: &[&str]) -> Fields {
    let paths = |names: &[&str]| names.iter().filter_map(|name| name.parse().ok()).collect();
    Fields::new(paths(texts), paths(numbers))
}

/// Names of JSON fields, in order of preference; at most eight names.
const REFERRERS: &[&str] = &[
    "http_referer",
    "request.headers.Referer",
    "request_Referer",
    "referer",
    "referrer",
    "http.request.referrer",
    "httpRequest.referer",
];

/// The client address in an access log line, and whether the line contains a referrer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LoggedClient {
    /// Client address, if the log line contains an address.
    pub client: Option<IpAddr>,
    /// Whether the request has a `Referer` header.
    pub has_referrer: bool,
}

impl LoggedClient {
    /// Parses a line in the common, combined or JSON format; a line that starts with a brace is
    /// JSON.
    pub fn read(line: &[u8]) -> Self {
        static REFERRER: LazyLock<Fields> = LazyLock::new(|| fields(REFERRERS, &[]));

        let is_json = line.trim_ascii_start().starts_with(b"{");
        let referrer = if is_json {
            REFERRER.read(line).map(|entry| entry.user_agent)
        } else {
            response_fields(line).and_then(|whole| whole.referrer)
        };
        Self {
            client: client(line, is_json),
            has_referrer: referrer.is_some_and(|text| !matches!(text, b"" | b"-")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_S: i64 = 1_772_359_200;

    /// Time, status, bytes, User-Agent and host.
    type ParsedLine = (i64, u16, u64, Option<String>, Option<String>);

    fn read(line: &str) -> Option<ParsedLine> {
        let mut lines = ResponseParser::default();
        let served = lines.read(line.as_bytes())?;
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        Some((
            served.at_s,
            served.status,
            served.bytes,
            served.user_agent.map(text),
            served.host.map(Cow::into_owned),
        ))
    }

    #[test]
    fn responses_in_lines_of_various_servers_are_parsed() {
        let (agent, host) = (Some("A/1".to_owned()), Some("a.example".to_owned()));
        for (line, expected) in [
            (
                r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 512 "-" "A/1""#,
                (AT_S, 200, 512, agent.clone(), None),
            ),
            (
                r#"a.example 192.0.2.7 - - [01/Mar/2026:12:00:00 +0200] "GET /[a] "x" HTTP/1.1" 404 - "-" "A\x2F1" "10.0.0.1""#,
                (AT_S, 404, 0, agent.clone(), host.clone()),
            ),
            (
                r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 304 0"#,
                (AT_S, 304, 0, None, None),
            ),
            (
                r#"{"time":"2026-03-01T10:00:00.123Z","host":"a.example","status":200,"body_bytes_sent":5,"http_user_agent":"A/1"}"#,
                (AT_S, 200, 5, agent.clone(), host.clone()),
            ),
            (
                r#"{"ts":1772359200.25,"request":{"host":"a.example","headers":{"User-Agent":["A/1"]}},"status":301,"size":7}"#,
                (AT_S, 301, 7, agent.clone(), host.clone()),
            ),
            (
                r#"{"msec":"1772359200.250","http_host":"a.example","status":"200","bytes_sent":"9","http_user_agent":"A/1"}"#,
                (AT_S, 200, 9, agent, host),
            ),
        ] {
            assert_eq!(read(line), Some(expected), "{line}");
        }
        for line in [
            "",
            "no log",
            r#"192.0.2.7 - - [yesterday] "GET / HTTP/1.1" 200 512 "-" "A/1""#,
            r#"{"status":200}"#,
            r#"{"time":"2026-03-01T10:00:00Z""#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn decision_and_verdict_are_parsed_from_our_own_log() {
        let own = r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 302 0 "-" "G" "googlebot" "listed" "redirect" "verified" 0.001234"#;
        let json = r#"{"time":"2026-03-01T10:00:00Z","status":302,"site":"shop","decision":"redirect","verdict":"verified"}"#;
        let mut lines = ResponseParser::default();
        let served = lines.read(own.as_bytes()).unwrap();
        assert_eq!(served.decision.as_deref(), Some("redirect"));
        assert_eq!(served.verdict.as_deref(), Some("verified"));
        assert_eq!((served.site, served.micros), (None, 1_234));
        let served = lines.read(json.as_bytes()).unwrap();
        assert_eq!(served.site.as_deref(), Some("shop"));
        assert_eq!(served.decision.as_deref(), Some("redirect"));
        let foreign = r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 302 0 "-" "G" "a" "b" "c" "d""#;
        assert_eq!(lines.read(foreign.as_bytes()).unwrap().decision, None);
    }

    #[test]
    fn client_and_referrer_are_parsed_in_every_format() {
        for (line, client, has_referrer) in [
            (
                r#"192.0.2.7 - - [t] "GET / HTTP/1.1" 200 5 "https://a.example/" "A""#,
                true,
                true,
            ),
            (
                r#"a.example ::1 - - [t] "GET / HTTP/1.1" 200 5 "-" "A""#,
                true,
                false,
            ),
            (r#"192.0.2.7 - - [t] "GET / HTTP/1.1" 200 5"#, true, false),
            (
                r#"{"remote_addr":"192.0.2.7","http_referer":"x"}"#,
                true,
                true,
            ),
            (
                r#"{"request":{"client_ip":"::1","headers":{"Referer":["x"]}}}"#,
                true,
                true,
            ),
            (r#"{"http_referer":"-"}"#, false, false),
            ("no line", false, false),
        ] {
            let asked = LoggedClient::read(line.as_bytes());
            assert_eq!(asked.client.is_some(), client, "{line}");
            assert_eq!(asked.has_referrer, has_referrer, "{line}");
        }
    }
}
