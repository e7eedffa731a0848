//! Facts by which a robot is proven, as people spell them.
//!
//! The flat file reads over what it cannot use; who types a fact in is told of it.

use super::text::{clean, starts_with_ignore_case};

/// Bytes of the longest URL.
const MAX_URL_BYTES: usize = 2048;
/// Words of a list that are read.
const MAX_LIST: usize = 64;

/// Words of a list: the facts among them, each once, and the first that is none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct FactList {
    pub(super) facts: Vec<String>,
    pub(super) wrong: Option<String>,
}

/// Returns the endings of host names in a list: `*.acme.example` is `acme.example`.
pub(super) fn host_suffixes(value: &str) -> FactList {
    FactList::read(value, |word| {
        let suffix = word
            .trim_start_matches(['*', '.'])
            .trim_end_matches('.')
            .to_ascii_lowercase();
        is_host_name(&suffix).then_some(suffix)
    })
}

/// Returns the hosts in a list: `https://keys.acme.example/` is `keys.acme.example`.
pub(super) fn signature_agents(value: &str) -> FactList {
    FactList::read(value, |word| {
        let agent = word.trim_matches(['"', '<', '>']).to_ascii_lowercase();
        let agent = agent.strip_prefix("https://").unwrap_or(&agent);
        let agent = agent.strip_suffix('/').unwrap_or(agent);
        let agent = agent.strip_suffix(":443").unwrap_or(agent);
        let (host, port) = agent.split_once(':').unwrap_or((agent, "1"));
        let is_port = port.parse::<u16>().is_ok_and(|number| number > 0)
            && port.bytes().all(|b| b.is_ascii_digit());
        (is_host_name(host) && is_port).then(|| agent.to_owned())
    })
}

/// Returns the URL that a value begins with, if it is `http:` or `https:`.
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

/// Returns a URL without the signs of the text around it; `fetch(3)` ends with its own.
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

/// Tells whether a text is a host name of two labels or more, in lower case.
fn is_host_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    name.contains('.')
        && name.len() <= 253
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
}
