//! One reader for all forms of lines.

use std::{net::IpAddr, sync::LazyLock};

use memchr::memchr;

use super::{
    FieldPath,
    combined::{self, RawEntry},
    escapes::unescape,
    json::Fields,
};

/// Reader of a log's lines, one after the other.
#[derive(Clone, Debug)]
pub struct Parser {
    form: Form,
    /// User-Agent without its escapes; a buffer for all lines, so that none allocates.
    unescaped: Vec<u8>,
    reads_clients: bool,
}

/// Entry of one line of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry<'a> {
    /// The User-Agent as it was sent; none where it is absent, empty or `-`.
    pub user_agent: Option<&'a [u8]>,
    /// Bytes sent; 0 where the line does not say.
    pub bytes: u64,
    /// Address of the client, where it is [asked for](Parser::clients) and the line says it.
    pub client: Option<IpAddr>,
}

#[derive(Clone, Debug)]
enum Form {
    UserAgents,
    Combined,
    Json(Fields),
}

impl Parser {
    /// Creates a reader of lines that are User-Agents and nothing else.
    pub fn user_agents() -> Self {
        Self::new(Form::UserAgents)
    }

    /// Creates a reader of the common and the combined form.
    pub fn combined() -> Self {
        Self::new(Form::Combined)
    }

    /// Creates a reader of JSON objects, given where User-Agent and bytes stand.
    ///
    /// Of each list the first path that is found counts; at most 8 are looked for.
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

    /// Sets whether the addresses of clients are read too; default `false`.
    ///
    /// In JSON lines they are looked for under the names that nginx, Caddy, Traefik
    /// and others give them.
    #[must_use]
    pub fn clients(mut self, read: bool) -> Self {
        self.reads_clients = read;
        self
    }

    /// Reads a line; `None` when it is not of the form.
    ///
    /// The time is linear in the length of the line.
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

/// Returns a field, unless it is empty or `-`, which servers write for a header that was not sent.
fn present(user_agent: &[u8]) -> Option<&[u8]> {
    (!matches!(user_agent, b"" | b"-")).then_some(user_agent)
}

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

/// Returns the address of a line, a JSON object or of another form.
pub(super) fn client(line: &[u8], is_json: bool) -> Option<IpAddr> {
    if is_json {
        client_of_json(line)
    } else {
        client_of_combined(line)
    }
}

/// Returns the address of a line of the common or combined form.
///
/// It stands first, or after the name of a virtual host, which may be an address too.
fn client_of_combined(line: &[u8]) -> Option<IpAddr> {
    let mut words = line.split(|byte| *byte == b' ');
    let (first, second) = (words.next()?, words.next()?);
    // Without a virtual host the second word is the `-` of identd, which is no address.
    address(second).or_else(|| address(first))
}

/// Returns the address of a line that is a JSON object.
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
    fn user_agent_is_what_was_sent() {
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

    /// Bytes that the forms are made of, more often than others.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let telling = b"\"\\ []{}:,-x019u".to_vec();
        let byte = prop_oneof![proptest::sample::select(telling), any::<u8>()];
        proptest::collection::vec(byte, 0..120)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line in line()) {
            for mut parser in parsers() {
                if let Some(Entry { user_agent: Some(user_agent), .. }) = parser.read(&line) {
                    prop_assert!(!user_agent.is_empty());
                    prop_assert!(user_agent.len() <= line.len());
                }
            }
        }

        #[test]
        fn any_user_agent_comes_back_from_both_servers_escapes(sent in proptest::collection::vec(any::<u8>(), 1..80)) {
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
