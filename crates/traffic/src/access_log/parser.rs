//! A parser for all log formats.

use std::{net::IpAddr, sync::LazyLock};

use memchr::memchr;

use super::{
    FieldPath,
    combined::{self, RawEntry},
    escapes::unescape,
    json::Fields,
};

/// A parser for the lines of an access log, which are passed to it one after the other.
#[derive(Clone, Debug)]
pub struct Parser {
    form: Form,
    /// Buffer for the unescaped User-Agent, which is reused so that parsing a line does not
    /// allocate.
    unescaped: Vec<u8>,
    reads_clients: bool,
}

/// The fields of one access log line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry<'a> {
    /// User-Agent as sent by the client; `None` if the log line contains no User-Agent, or an empty
    /// one or `-`.
    pub user_agent: Option<&'a [u8]>,
    /// Number of bytes sent; 0 if the line contains no byte count.
    pub bytes: u64,
    /// Client address, if [enabled](Parser::clients) and present in the line.
    pub client: Option<IpAddr>,
}

#[derive(Clone, Debug)]
enum Form {
    UserAgents,
    Combined,
    Json(Fields),
}

impl Parser {
    /// Creates a parser for lines that consist only of a User-Agent.
    pub fn user_agents() -> Self {
        Self::new(Form::UserAgents)
    }

    /// Creates a parser for the common and the combined log format.
    pub fn combined() -> Self {
        Self::new(Form::Combined)
    }

    /// Creates a parser for JSON objects that contain the User-Agent and the byte count at the
    /// given paths.
    ///
    /// In each list, the first path that a line contains is used; at most 8 paths are searched.
    pub fn json(user_agents: Vec<FieldPath>, bytes: Vec<FieldPath>) -> Self {
        Self::new(Form::Json(Fields::new(user_agents, bytes)))
    }

    fn new(form: Form) -> Self {
        Self {
            form,
            unescaped: Vec::new(),
            reads_clients: false,
        }
    }

    /// Sets whether client addresses are also parsed; the default is `false`.
    ///
    /// In JSON lines, client addresses are looked up by the names that nginx, Caddy, Traefik and
    /// others use.
    #[must_use]
    pub fn clients(mut self, read: bool) -> Self {
        self.reads_clients = read;
        self
    }

    /// Parses a log line. Returns `None` if the line is in another format.
    ///
    /// The time required is linear in the line's length.
    pub fn read<'a>(&'a mut self, line: &'a [u8]) -> Option<Entry<'a>> {
        let raw = match &self.form {
            Form::UserAgents => {
                return Some(Entry {
                    user_agent: present(line),
                    bytes: 0,
                    client: None,
                });
            }
            Form::Combined => combined::read(line)?,
            Form::Json(fields) => fields.read(line)?,
        };
        let client = if self.reads_clients {
            self.client(line)
        } else {
            None
        };
        Some(self.entry(raw, client))
    }

    fn client(&self, line: &[u8]) -> Option<IpAddr> {
        match self.form {
            Form::UserAgents => None,
            Form::Combined => client_of_combined(line),
            Form::Json(_) => client_of_json(line),
        }
    }

    fn entry<'a>(&'a mut self, raw: RawEntry<'a>, client: Option<IpAddr>) -> Entry<'a> {
        let mut user_agent = raw.user_agent;
        if memchr(b'\\', user_agent).is_some() {
            self.unescaped.clear();
            unescape(user_agent, &mut self.unescaped);
            user_agent = &self.unescaped;
        }
        Entry {
            user_agent: present(user_agent),
            bytes: raw.bytes,
            client,
        }
    }
}

/// Returns a field's value, unless the value is empty or `-`, which servers log for an absent
/// header.
fn present(user_agent: &[u8]) -> Option<&[u8]> {
    (!matches!(user_agent, b"" | b"-")).then_some(user_agent)
}

/// Names of JSON fields, in order of preference; at most eight names.
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

/// Returns the client address from a log line in the JSON, combined or common format.
pub(super) fn client(line: &[u8], is_json: bool) -> Option<IpAddr> {
    if is_json {
        client_of_json(line)
    } else {
        client_of_combined(line)
    }
}

/// Returns the client address from a log line in the common or combined format.
///
/// The address is the first word or, after a virtual host (which may itself be an address), the
/// second.
fn client_of_combined(line: &[u8]) -> Option<IpAddr> {
    let mut words = line.split(|byte| *byte == b' ');
    let (first, second) = (words.next()?, words.next()?);
    // Without a virtual host, the second word is identd's `-`, which is not an address.
    address(second).or_else(|| address(first))
}

/// Returns the client address from a log line that is a JSON object.
fn client_of_json(line: &[u8]) -> Option<IpAddr> {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn client_address_is_found_before_the_time() {
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
    fn client_address_is_found_in_usual_json_fields() {
        for line in [
            r#"{"remote_addr":"192.0.2.1","http_user_agent":"A"}"#,
            r#"{"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1"}}"#,
            r#"{"request":{"remote_ip":"192.0.2.1","headers":{"User-Agent":["A"]}}}"#,
            r#"{"ClientHost":"192.0.2.1","request_User-Agent":"A"}"#,
        ] {
            let client = client_of_json(line.as_bytes());
            assert_eq!(client, Some("192.0.2.1".parse().unwrap()), "{line}");
        }
        assert_eq!(client_of_json(br#"{"remote_addr":"a.example"}"#), None);
        assert_eq!(client_of_json(b"no object"), None);
    }

    fn parsers() -> [Parser; 3] {
        let json = Parser::json(FieldPath::usual_user_agents(), FieldPath::usual_bytes());
        [Parser::user_agents(), Parser::combined(), json]
    }

    fn user_agent(parser: &mut Parser, line: &str) -> Option<String> {
        let user_agent = parser.read(line.as_bytes()).unwrap().user_agent?;
        Some(String::from_utf8_lossy(user_agent).into_owned())
    }

    #[test]
    fn user_agent_equals_the_sent_header() {
        let [mut plain, mut combined, mut json] = parsers();
        for (escaped, sent) in [
            ("A/1 (x; y)", Some("A/1 (x; y)")),
            ("-", None),
            ("", None),
            (r"A\x22B\\", Some("A\"B\\")),
            (r"\xD0\xA4/1", Some("\u{424}/1")),
        ] {
            let sent = sent.map(str::to_owned);
            let line = format!("192.0.2.1 - - [t] \"GET / HTTP/1.1\" 200 1 \"-\" \"{escaped}\"");
            assert_eq!(user_agent(&mut combined, &line), sent, "{line}");
            let line = format!(r#"{{"agent":"{escaped}"}}"#);
            assert_eq!(user_agent(&mut json, &line), sent, "{line}");
        }
        let line = r"A\x22B\\";
        assert_eq!(user_agent(&mut plain, line).as_deref(), Some(line));
        assert_eq!(user_agent(&mut plain, "-"), None);
        assert_eq!(user_agent(&mut plain, ""), None);
    }

    /// Generates lines in which bytes that have a meaning in log formats are more frequent than
    /// other bytes.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let telling = b"\"\\ []{}:,-x019u".to_vec();
        let byte = prop_oneof![proptest::sample::select(telling), any::<u8>()];
        proptest::collection::vec(byte, 0..120)
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(line in line()) {
            for mut parser in parsers() {
                if let Some(Entry { user_agent: Some(user_agent), .. }) = parser.read(&line) {
                    prop_assert!(!user_agent.is_empty());
                    prop_assert!(user_agent.len() <= line.len());
                }
            }
        }

        #[test]
        fn escaped_user_agent_round_trips_for_both_servers(sent in proptest::collection::vec(any::<u8>(), 1..80)) {
            prop_assume!(sent != b"-");
            let escape = |byte: &u8, upper: bool| match byte {
                b'"' if !upper => "\\\"".to_owned(),
                b'\\' if !upper => "\\\\".to_owned(),
                b'\n' if !upper => "\\n".to_owned(),
                b'"' | b'\\' | ..=0x1f | 0x7f.. if upper => format!("\\x{byte:02X}"),
                ..=0x1f | 0x7f.. => format!("\\x{byte:02x}"),
                byte => char::from(*byte).to_string(),
            };
            for upper in [false, true] {
                let escaped: String = sent.iter().map(|byte| escape(byte, upper)).collect();
                let line = format!("2001:db8::1 - - [t] \"GET / HTTP/1.1\" 200 34 \"{escaped}\" \"{escaped}\" \"-\"");
                let mut parser = Parser::combined();
                let entry = parser.read(line.as_bytes()).unwrap();
                prop_assert_eq!(entry.user_agent, Some(sent.as_slice()));
                prop_assert_eq!(entry.bytes, 34);
            }
        }
    }
}
