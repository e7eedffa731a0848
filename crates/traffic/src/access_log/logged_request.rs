//! Requests described by log lines.

use super::{FieldPath, combined, escapes::unescape, json::Fields};

/// Names of JSON fields, in order of preference; each list has at most eight names.
const REQUEST_LINES: &[&str] = &["request", "request_line", "requestLine"];
const METHODS: &[&str] = &[
    "request_method",
    "method",
    "request.method",
    "RequestMethod",
    "http.request.method",
    "httpRequest.requestMethod",
];
const TARGETS: &[&str] = &[
    "request_uri",
    "request.uri",
    "target",
    "uri",
    "path",
    "RequestPath",
    "url.original",
    "url",
];
pub(super) const HOSTS: &[&str] = &[
    "http_host",
    "request.host",
    "RequestHost",
    "host",
    "server_name",
    "url.domain",
];

/// A request described by a log line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoggedRequest {
    /// HTTP method, if the log line contains a method.
    pub method: Option<String>,
    /// Requested host, if the log line contains a host.
    pub host: Option<String>,
    /// Path and query of the request, starting with a slash.
    pub target: String,
    /// User-Agent as sent by the client; `None` if the log line contains no User-Agent, or an empty
    /// one or `-`.
    pub user_agent: Option<Vec<u8>>,
}

impl LoggedRequest {
    /// Parses a line in the common, combined or JSON format. Returns `None` if the line does not
    /// describe a request.
    ///
    /// A line that starts with a brace is parsed as JSON. Fields are looked up by the names that
    /// nginx, Caddy, Traefik and others use.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_traffic::access_log::LoggedRequest;
    ///
    /// let line = br#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET /a?b HTTP/1.1" 200 5 "-" "Example/1.0""#;
    /// let logged = LoggedRequest::read(line).expect("a line in the combined format");
    /// assert_eq!(logged.target, "/a?b");
    /// ```
    pub fn read(line: &[u8]) -> Option<Self> {
        let mut logged = if line.trim_ascii_start().starts_with(b"{") {
            read_json(line)?
        } else {
            read_combined(line)?
        };
        logged.split_url();
        logged.target.starts_with('/').then_some(logged)
    }

    /// Splits off the host from a target in absolute form (RFC 9112 §3.2.2).
    fn split_url(&mut self) {
        let Some((scheme, rest)) = self.target.split_once("://") else {
            return;
        };
        // In `/login?to=https://example.com/`, the `://` belongs to the query.
        if scheme.contains(['/', '?']) {
            return;
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        // `http://example.com?a` has an empty path, which is equivalent to `/` (RFC 9110 §4.2.3).
        let slash = if path.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{path}");
        self.host = Some(host.to_owned());
        self.target = target;
    }
}

fn read_combined(line: &[u8]) -> Option<LoggedRequest> {
    let request = text(combined::request_line(line)?);
    let (method, target) = split(&request)?;
    let user_agent = unescaped(combined::read(line)?.user_agent);
    Some(LoggedRequest {
        method: Some(method.to_owned()),
        host: None,
        target: target.to_owned(),
        user_agent: present(user_agent),
    })
}

fn read_json(line: &[u8]) -> Option<LoggedRequest> {
    let find = |names: &[&str]| {
        let paths = names.iter().filter_map(|name| name.parse().ok()).collect();
        field(line, paths)
    };
    let found = |names| {
        let found = find(names)?;
        let text = String::from_utf8_lossy(&found).into_owned();
        Some(text).filter(|text| !matches!(&**text, "" | "-"))
    };
    let request = found(REQUEST_LINES);
    let of_line = request.as_deref().and_then(split);
    let method = found(METHODS).or_else(|| of_line.map(|(method, _)| method.to_owned()));
    // The request line is preferred, because the server may have rewritten a path in a field of its
    // own.
    let target = match of_line {
        Some((_, target)) => target.to_owned(),
        None => found(TARGETS)?,
    };
    Some(LoggedRequest {
        method,
        host: found(HOSTS),
        target,
        user_agent: field(line, FieldPath::usual_user_agents()).and_then(present),
    })
}

/// Returns the unescaped text of a field; `None` if the line is not a JSON object.
fn field(line: &[u8], paths: Vec<FieldPath>) -> Option<Vec<u8>> {
    let entry = Fields::new(paths, Vec::new()).read(line)?;
    Some(unescaped(entry.user_agent))
}

/// Splits a request line such as "GET /a HTTP/1.1" into method and target; returns `None` if the
/// text contains no space.
fn split(request: &str) -> Option<(&str, &str)> {
    let (method, rest) = request.split_once(' ')?;
    let target = match rest.rsplit_once(' ') {
        // Split from the right, because a malformed target may contain spaces.
        Some((target, version)) if version.starts_with("HTTP/") => target,
        _ => rest,
    };
    Some((method, target))
}

fn text(raw: &[u8]) -> String {
    String::from_utf8_lossy(&unescaped(raw)).into_owned()
}

fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    unescape(raw, &mut text);
    text
}

fn present(user_agent: Vec<u8>) -> Option<Vec<u8>> {
    (!matches!(&*user_agent, b"" | b"-")).then_some(user_agent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Option<String> {
        let logged = LoggedRequest::read(line.as_bytes())?;
        let user_agent = String::from_utf8(logged.user_agent.unwrap_or_default()).unwrap();
        let method = logged.method.unwrap_or_default();
        let host = logged.host.unwrap_or_default();
        Some(format!("{method} {host}{} {user_agent}", logged.target))
    }

    #[test]
    fn usual_formats_are_parsed() {
        for (line, expected) in [
            (
                r#"192.0.2.1 - - [t] "GET /a?b=c HTTP/1.1" 200 5 "-" "A/1""#,
                "GET /a?b=c A/1",
            ),
            (r#"192.0.2.1 - - [t] "POST /a HTTP/2.0" 200 5"#, "POST /a "),
            (
                r#"192.0.2.1 - - [t] "GET /a\x22b HTTP/1.1" 200 5 "-" "A \x22B\x22""#,
                r#"GET /a"b A "B""#,
            ),
            (
                r#"192.0.2.1 - - [t] "GET http://a.example/b HTTP/1.1" 200 5 "-" "-""#,
                "GET a.example/b ",
            ),
            (
                r#"{"request":"GET /a HTTP/1.1","http_host":"a.example","http_user_agent":"A/1"}"#,
                "GET a.example/a A/1",
            ),
            (
                r#"{"request_method":"HEAD","request_uri":"/a?b","uri":"/index.php","user_agent":"A"}"#,
                "HEAD /a?b A",
            ),
            (
                r#"{"request":{"method":"GET","host":"a.example","uri":"/a","headers":{"User-Agent":["A/1"]}}}"#,
                "GET a.example/a A/1",
            ),
            (
                r#"{"RequestMethod":"GET","RequestHost":"a.example","RequestPath":"/a","request_User-Agent":"A"}"#,
                "GET a.example/a A",
            ),
            (
                r#"{"request_uri":"\/a\\x22","agent":"A\u0042"}"#,
                r" /a\x22 AB",
            ),
            (
                r#"{"url":"https://a.example?b","userAgent":"A"}"#,
                " a.example/?b A",
            ),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn lines_without_a_request_are_rejected() {
        for line in [
            "",
            "A/1",
            "{}",
            r#"{"path":"-"}"#,
            r#"{"path":"/a""#,
            r#"192.0.2.1 - - [t] "-" 400 0 "-" "-""#,
            r#"192.0.2.1 - - [t] "\x16\x03\x01" 400 0 "-" "-""#,
            r#"192.0.2.1 - - [t] "OPTIONS * HTTP/1.1" 200 0 "-" "-""#,
            r#"192.0.2.1 - - [t] "GET /a HTTP/1.1" 200"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn name_lists_fit_the_maximum_number_of_paths() {
        for names in [REQUEST_LINES, METHODS, TARGETS, HOSTS] {
            assert!(names.len() <= 8);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(line in proptest::collection::vec(
            prop_oneof![proptest::sample::select(b"\"\\ []{}:,-/x019uGET".to_vec()), any::<u8>()],
            0..120,
        )) {
            if let Some(logged) = LoggedRequest::read(&line) {
                prop_assert!(logged.target.starts_with('/'));
            }
        }
    }
}
