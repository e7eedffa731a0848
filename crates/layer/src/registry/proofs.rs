//! Parsing of the data by which a robot's identity can be verified.
//!
//! The flat file parser ignores invalid data; for manual input, invalid data is reported.

use super::text::{clean, starts_with_ignore_case};

/// Maximum number of bytes in a URL.
const MAX_URL_BYTES: usize = 2048;
/// Maximum number of bytes in an evidence word.
const MAX_NAME_BYTES: usize = 40;
/// Maximum number of words in a list.
const MAX_LIST: usize = 64;

/// The distinct valid words of a list, and the first invalid word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct FactList {
    pub(super) facts: Vec<String>,
    pub(super) wrong: Option<String>,
}

/// Parses a list of host name suffixes: `*.acme.example` becomes `acme.example`.
pub(super) fn host_suffixes(value: &str) -> FactList {
    FactList::read(value, |word| {
        let suffix = ending(word);
        (is_host_name(&suffix) && !is_public_suffix(&suffix)).then_some(suffix)
    })
}

/// Returns `true` if a word is a public suffix; anyone can register a name below such a suffix.
pub(super) fn is_public_suffix_word(word: &str) -> bool {
    is_public_suffix(&ending(word))
}

fn ending(word: &str) -> String {
    let name = word.trim_start_matches(['*', '.']).trim_end_matches('.');
    name.to_ascii_lowercase()
}

/// Parses a list of signature agents: `https://keys.acme.example/` becomes `keys.acme.example`.
///
/// A host stands for its key directory; `keys.acme.example/set.json` is the URL of a key set, or of
/// a document that refers to a key set.
pub(super) fn signature_agents(value: &str) -> FactList {
    FactList::read(value, |word| {
        let agent = word.trim_matches(['"', '<', '>']);
        let is_https = starts_with_ignore_case(agent, "https://");
        let agent = if is_https { agent.get(8..)? } else { agent };
        let path = agent.find('/').unwrap_or(agent.len());
        let (authority, path) = agent.split_at_checked(path)?;
        let authority = authority.to_ascii_lowercase();
        let authority = authority.strip_suffix(":443").unwrap_or(&authority);
        // Without a port, any valid number can be used, because the port is only checked.
        let (host, port) = authority.split_once(':').unwrap_or((authority, "1"));
        let is_port = port.parse::<u16>().is_ok_and(|number| number > 0)
            && port.bytes().all(|b| b.is_ascii_digit());
        let is_path = |byte: u8| byte.is_ascii_graphic() && !b"?#\"<>\\^`{|}".contains(&byte);
        let path = if path == "/" { "" } else { path };
        let is_agent = is_host_name(host)
            && is_port
            && path.bytes().all(is_path)
            && agent.len() <= MAX_URL_BYTES;
        is_agent.then(|| format!("{authority}{path}"))
    })
}

/// Parses a list of evidence words: `crawler-user-agents, operator`.
pub(super) fn list_names(value: &str) -> FactList {
    FactList::read(value, |word| {
        let is_inside =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = word.len() <= MAX_NAME_BYTES && word.bytes().all(is_inside);
        is_name.then(|| word.to_owned())
    })
}

/// Returns the URL at the start of a value, if there is an `http:` or `https:` URL.
pub(super) fn http_url(value: &str) -> Option<String> {
    let value = clean(value);
    let first = value
        .split(' ')
        .next()?
        .trim_start_matches(['<', '>', '"', '\'', '(', ')', ',', ';']);
    let first = without_end(first);
    let behind = ["http://", "https://"]
        .iter()
        .find(|scheme| starts_with_ignore_case(first, scheme))
        .and_then(|scheme| first.get(scheme.len()..))?;
    let fits = first.len() <= MAX_URL_BYTES
        && behind.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        && !first.contains(['"', '<', '>', '\\', '`', '\'']);
    fits.then(|| first.to_owned())
}

impl FactList {
    fn read(value: &str, fact: impl Fn(&str) -> Option<String>) -> Self {
        let mut list = Self::default();
        let value = clean(value);
        let words = value.split([' ', ',', ';']).filter(|word| !word.is_empty());
        for word in words.take(MAX_LIST) {
            match fact(word) {
                Some(fact) if list.facts.contains(&fact) => {}
                Some(fact) => list.facts.push(fact),
                None => list.wrong = list.wrong.or_else(|| Some(word.to_owned())),
            }
        }
        list
    }
}

/// Removes trailing punctuation from a URL, except for balanced parentheses, as in `fetch(3)`.
fn without_end(url: &str) -> &str {
    let mut url = url;
    loop {
        let shorter = url.trim_end_matches(['<', '>', '"', '\'', ',', ';']);
        let opened = shorter.matches('(').count();
        url = match shorter.strip_suffix(')') {
            Some(inside) if inside.matches(')').count() >= opened => inside,
            _ => return shorter,
        };
    }
}

/// Returns `true` if a text is a lower-case host name with at least two labels.
fn is_host_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    name.contains('.')
        && name.len() <= 253
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
}

/// Returns `true` for a public suffix such as `com`, `co.uk` or `github.io`.
///
/// The name must be in lower case and without a trailing dot. The list is a bundled copy of
/// publicsuffix.org.
#[cfg(feature = "verify")]
pub fn is_public_suffix(name: &str) -> bool {
    let name = name.trim_end_matches('.').as_bytes();
    // The list treats any unknown last label as a suffix, but companies' internal names may end in
    // such labels.
    let suffix = psl::suffix(name).filter(psl::Suffix::is_known);
    suffix.is_some_and(|suffix| suffix.as_bytes().len() == name.len())
}

/// Returns `false`, because host name suffixes have no effect if robots are not verified.
#[cfg(not(feature = "verify"))]
fn is_public_suffix(_: &str) -> bool {
    false
}
