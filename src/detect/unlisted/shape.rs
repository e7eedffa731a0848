//! User-Agents that have nothing of a browser or a device.

use std::ops::Range;

use super::{
    Sign, Unlisted,
    marks::{is_mozilla, starts_with},
    platform::has_platform,
    words::{Words, find_any, words},
};

/// Longest User-Agent that is looked at for its shape.
const MAX_BYTES: usize = 200;

/// Words that programs have in their names, and few apps that people use.
const PROGRAM_WORDS: &[&str] = &[
    "search",
    " api",
    "analy",
    "audit",
    "automat",
    "backlink",
    "catalog",
    "collect",
    "curl",
    "directory",
    "discover",
    "domain",
    "enrich",
    "feed",
    "find",
    "http",
    "image",
    "import",
    "index",
    "inspect",
    "link",
    "locat",
    "lookup",
    "measure",
    "metadata",
    "metric",
    "perl",
    "php",
    "ping",
    "preview",
    "probe",
    "proxy",
    "python",
    "quality",
    "rank",
    "render",
    "ruby",
    "secur",
    "seo",
    "service",
    "site",
    "ssl",
    "status",
    "survey",
    "test",
    "track",
    "translat",
    "url",
    "verif",
    "visit",
    "walk",
    "web",
    "worm",
];

/// Starts of libraries' names, beside those of the registry.
const LIBRARIES: &[&str] = &[
    "java/", "jakarta", "libcurl", "libwww", "lwp-", "lwp:", "node", "perl", "php", "pycurl",
    "python", "ruby", "rust", "go ", "go-", "golang", "http", "curl", "wget", "axios", "nutch",
    "apache",
];

/// Returns the sign in a User-Agent by its shape: a program's name alone.
pub(super) fn find(text: &[u8]) -> Option<Unlisted> {
    if text.len() > MAX_BYTES || is_mozilla(text) || !text.first()?.is_ascii_alphanumeric() {
        return None;
    }
    let end = text
        .iter()
        .position(|&byte| !is_name(byte))
        .unwrap_or(text.len());
    let name = text.get(..end).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    let found = |sign| {
        Some(Unlisted {
            sign,
            range: 0..end,
        })
    };
    if is_library(text) {
        return found(Sign::Library);
    }
    if has_platform(text) {
        return None;
    }
    if let Some(range) = program_word(text) {
        return Some(Unlisted {
            sign: Sign::Program,
            range,
        });
    }
    if is_program_name(name, after) {
        return found(Sign::Program);
    }
    None
}

fn is_library(text: &[u8]) -> bool {
    let first = text.first().map(u8::to_ascii_lowercase);
    let mut libraries = LIBRARIES.iter().map(|library| library.as_bytes());
    libraries.any(|library| library.first() == first.as_ref() && starts_with(text, library))
}

fn program_word(text: &[u8]) -> Option<Range<usize>> {
    static WORDS: Words = Words::new(|| words(PROGRAM_WORDS));
    find_any(&WORDS, text)
}

/// Tells whether it is a domain, or a name of several words with a version alone.
fn is_program_name(name: &[u8], after: &[u8]) -> bool {
    let letters = name
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    if letters < 4 {
        return false;
    }
    let is_one_word = after.is_empty() && is_word(name);
    is_one_word
        || is_domain(name)
        || name.windows(2).any(|window| window == b"::")
        || (is_compound(name) && is_version_alone(after))
        || is_first_version(after)
        || is_label(after)
}

fn is_domain(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else {
        return false;
    };
    let top = name.get(dot + 1..).unwrap_or_default();
    let host = name.get(..dot).unwrap_or_default();
    host.len() >= 3
        && host.first().is_some_and(u8::is_ascii_alphabetic)
        && (2..=4).contains(&top.len())
        && top.iter().all(u8::is_ascii_lowercase)
        && top != b"exe"
}

/// Tells whether words are joined: `foo-bar`, `FooBar`.
fn is_compound(name: &[u8]) -> bool {
    let is_joined = name.windows(3).any(|window| {
        matches!(window, [a, b'-', c] if a.is_ascii_alphabetic() && c.is_ascii_alphabetic())
    });
    let is_camel = name
        .windows(2)
        .any(|window| matches!(window, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    (is_joined || is_camel)
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || *byte == b'-')
}

/// Tells whether nothing follows but a version.
fn is_version_alone(after: &[u8]) -> bool {
    match after {
        [] => true,
        [b'/' | b' ', version @ ..] => {
            let version = version.strip_prefix(b"v").unwrap_or(version);
            version.first().is_some_and(u8::is_ascii_digit)
                && version.len() <= 12
                && version
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'-')
        }
        _ => false,
    }
}

/// Tells whether a name is one word with a capital letter, as no browser says it.
fn is_word(name: &[u8]) -> bool {
    match name {
        [first, rest @ ..] => first.is_ascii_uppercase() && rest.iter().all(u8::is_ascii_lowercase),
        [] => false,
    }
}

/// Tells whether a path of words follows, such as `/production`.
fn is_label(after: &[u8]) -> bool {
    after
        .strip_prefix(b"/")
        .is_some_and(|label| label.len() >= 3 && label.iter().all(u8::is_ascii_lowercase))
}

/// Tells whether a first version follows, which few programs of people keep for long.
fn is_first_version(after: &[u8]) -> bool {
    let version = after.strip_prefix(b"/").unwrap_or_default();
    matches!(
        version,
        b"1" | b"2" | b"0.1" | b"1.0" | b"1.1" | b"2.0" | b"0.1.0" | b"1.0.0"
    )
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:!".contains(&byte)
}
