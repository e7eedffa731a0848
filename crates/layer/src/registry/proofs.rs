//! Facts by which a robot is proven, as people spell them.
//!
//! The flat file reads over what it cannot use; who types a fact in is told of it.

use super::text::{clean, starts_with_ignore_case};

/// Bytes of the longest URL.
const MAX_URL_BYTES: usize = 2048;
/// Bytes of the longest word for who saw a robot.
const MAX_NAME_BYTES: usize = 40;
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
        let suffix = ending(word);
        (is_host_name(&suffix) && !is_public_suffix(&suffix)).then_some(suffix)
    })
}

/// Returns `true` if a word of a list is refused as anybody can have a name below it.
pub(super) fn is_ending_of_all(word: &str) -> bool {
    is_public_suffix(&ending(word))
}

fn ending(word: &str) -> String {
    let name = word.trim_start_matches(['*', '.']).trim_end_matches('.');
    name.to_ascii_lowercase()
}

/// Returns the agents in a list: `https://keys.acme.example/` is `keys.acme.example`.
///
/// A host is that of a key directory, `keys.acme.example/set.json` is the URL of a key
/// set, or of a document that names one.
pub(super) fn signature_agents(value: &str) -> FactList {
    FactList::read(value, |word| {
        let agent = word.trim_matches(['"', '<', '>']);
        let is_https = starts_with_ignore_case(agent, "https://");
        let agent = if is_https { agent.get(8..)? } else { agent };
        let path = agent.find('/').unwrap_or(agent.len());
        let (authority, path) = agent.split_at_checked(path)?;
        let authority = authority.to_ascii_lowercase();
        let authority = authority.strip_suffix(":443").unwrap_or(&authority);
        // Without a port any good number does: it is only looked at.
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

/// Returns the words for who saw a robot: `crawler-user-agents, operator`.
pub(super) fn list_names(value: &str) -> FactList {
    FactList::read(value, |word| {
        let is_inside =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = word.len() <= MAX_NAME_BYTES && word.bytes().all(is_inside);
        is_name.then(|| word.to_owned())
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

/// Returns `true` if a text is a host name of two labels or more, in lower case.
fn is_host_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    name.contains('.')
        && name.len() <= 253
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
}

/// Returns `true` for what anybody can have a name below, such as `com`, `co.uk` or `github.io`.
///
/// The name is in lower case, without a dot at its end; the list is that of
/// publicsuffix.org, as it came with the program.
#[cfg(feature = "verify")]
pub fn is_public_suffix(name: &str) -> bool {
    let name = name.trim_end_matches('.').as_bytes();
    // To the list any last label that it does not know is a suffix; names within a company may end
    // in one.
    let suffix = psl::suffix(name).filter(psl::Suffix::is_known);
    suffix.is_some_and(|suffix| suffix.as_bytes().len() == name.len())
}

/// Returns `false`: where nothing is proven, no ending of a host proves anything.
#[cfg(not(feature = "verify"))]
fn is_public_suffix(_: &str) -> bool {
    false
}
