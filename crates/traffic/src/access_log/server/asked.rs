//! Who asked: what else a line tells of a request.

use std::{net::IpAddr, sync::LazyLock};

use super::{served::fields, whole::whole};
use crate::access_log::{json::Fields, parser::client};

/// Names of JSON fields, best first: at most eight.
const REFERRERS: &[&str] = &[
    "http_referer",
    "request.headers.Referer",
    "request_Referer",
    "referer",
    "referrer",
    "http.request.referrer",
    "httpRequest.referer",
];

/// Who asked, and where he came from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Asked {
    /// Client address, if the line has one.
    pub client: Option<IpAddr>,
    /// Whether the request has a `Referer`.
    pub has_referrer: bool,
}

impl Asked {
    /// Reads a line of the common, combined or JSON form, which is known by its brace.
    pub fn read(line: &[u8]) -> Self {
        static REFERRER: LazyLock<Fields> = LazyLock::new(|| fields(REFERRERS, &[]));

        let is_json = line.trim_ascii_start().starts_with(b"{");
        let referrer = if is_json {
            REFERRER.read(line).map(|entry| entry.user_agent)
        } else {
            whole(line).and_then(|whole| whole.referrer)
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

    #[test]
    fn client_and_referrer_are_read_of_every_form() {
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
            let asked = Asked::read(line.as_bytes());
            assert_eq!(asked.client.is_some(), client, "{line}");
            assert_eq!(asked.has_referrer, has_referrer, "{line}");
        }
    }
}
