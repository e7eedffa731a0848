//! The address that a line's request came from.

use std::{net::IpAddr, sync::LazyLock};

use super::{FieldPath, json::Fields};

/// Names of JSON fields, best first: at most eight.
const CLIENTS: &[&str] = &[
    "remote_addr",
    "request.client_ip",
    "request.remote_ip",
    "ClientHost",
    "client_ip",
    "remote_ip",
    "client.ip",
    "httpRequest.remoteIp",
];

/// Returns the address of a line of the common or combined form.
///
/// It stands first, or behind the name of a virtual host, which may be an address too.
pub(super) fn of_combined(line: &[u8]) -> Option<IpAddr> {
    let mut words = line.split(|byte| *byte == b' ');
    let (first, second) = (words.next()?, words.next()?);
    address(second).or_else(|| address(first))
}

/// Returns the address of a line that is a JSON object.
pub(super) fn of_json(line: &[u8]) -> Option<IpAddr> {
    static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
        let paths = CLIENTS
            .iter()
            .filter_map(|name| name.parse::<FieldPath>().ok());
        Fields::new(paths.collect(), Vec::new())
    });
    address(FIELDS.read(line)?.user_agent)
}

fn address(text: &[u8]) -> Option<IpAddr> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::Parser;

    #[test]
    fn the_client_stands_before_the_time() {
        for (start, expected) in [
            ("192.0.2.1 - -", Some("192.0.2.1")),
            ("2001:db8::1 - ann", Some("2001:db8::1")),
            ("a.example:443 192.0.2.1 - -", Some("192.0.2.1")),
            ("203.0.113.1 192.0.2.1 - -", Some("192.0.2.1")),
            ("host.example - -", None),
            ("- - -", None),
        ] {
            let line = format!("{start} [t] \"GET / HTTP/1.1\" 200 5 \"-\" \"A/1\"");
            let mut parser = Parser::combined().clients(true);
            let client = parser.read(line.as_bytes()).unwrap().client;
            assert_eq!(client, expected.map(|text| text.parse().unwrap()), "{line}");
            let mut parser = Parser::combined();
            assert_eq!(parser.read(line.as_bytes()).unwrap().client, None);
        }
    }

    #[test]
    fn usual_fields_of_json_lines_are_known() {
        for line in [
            r#"{"remote_addr":"192.0.2.1","http_user_agent":"A"}"#,
            r#"{"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1"}}"#,
            r#"{"request":{"remote_ip":"192.0.2.1","headers":{"User-Agent":["A"]}}}"#,
            r#"{"ClientHost":"192.0.2.1","request_User-Agent":"A"}"#,
        ] {
            let client = of_json(line.as_bytes());
            assert_eq!(client, Some("192.0.2.1".parse().unwrap()), "{line}");
        }
        assert_eq!(of_json(br#"{"remote_addr":"a.example"}"#), None);
        assert_eq!(of_json(b"no object"), None);
    }
}
