//! Detection of User-Agents without any sign of a browser or a device.

use std::ops::Range;

use crate::detect::agent::starts_with;

use super::{
    Sign, Unlisted,
    marks::is_mozilla,
    words_found::{WordsFound, has_platform},
};

/// Maximum length of a User-Agent whose shape is examined.
const MAX_BYTES: usize = 200;

/// Maximum length of a single word; longer words are probably keys rather than names.
const MAX_WORD_BYTES: usize = 18;

/// Prefixes of library names, in addition to the names in the registry.
const LIBRARIES: &[&str] = &[
    "azsdk-", "nscurl", "java/", "jakarta", "libcurl", "libwww", "lwp-", "lwp:", "node", "perl",
    "php", "pycurl", "python", "ruby", "rust", "go ", "go-", "golang", "http", "curl", "wget",
    "axios", "nutch", "apache",
];

/// Returns the sign of a robot in a User-Agent that consists of a program's name.
pub(super) fn find(text: &[u8]) -> Option<Unlisted> {
    if text.len() > MAX_BYTES || names_system(text) {
        return None;
    }
    if let Some(range) = bare_mozilla(text) {
        let sign = Sign::Program;
        return Some(Unlisted { sign, range });
    }
    if is_mozilla(text) {
        find_behind_mozilla(text)
    } else if !text.first()?.is_ascii_alphanumeric() {
        None
    } else {
        find_at_start(text)
    }
}

/// Checks quickly whether a User-Agent begins like the User-Agents of nearly all browsers.
fn names_system(text: &[u8]) -> bool {
    let systems: [&[u8]; 5] = [b"Windows", b"Linux", b"Mac", b"iP", b"X11"];
    let said = text.strip_prefix(b"Mozilla/5.0 (");
    said.is_some_and(|said| systems.iter().any(|own| said.starts_with(own)))
}

/// Returns the range of `Mozilla/5.0` if a program appears to have written it: if nothing,
/// `compatible` alone, or directly another name follows.
fn bare_mozilla(text: &[u8]) -> Option<Range<usize>> {
    let start = text.iter().position(u8::is_ascii_alphanumeric)?;
    let name = text.get(start..)?;
    if !starts_with(name, b"Mozilla/") {
        return None;
    }
    let end = name
        .iter()
        .skip(b"Mozilla/".len())
        .position(|byte| !byte.is_ascii_digit() && *byte != b'.');
    let end = end.map_or(name.len(), |digits| b"Mozilla/".len() + digits);
    let rest = name.get(end..)?;
    let is_bare = match rest.iter().position(u8::is_ascii_alphanumeric) {
        None => true,
        Some(0) => !has_platform(rest),
        Some(at) => {
            let said = rest.get(at..)?;
            let word = said.iter().take_while(|byte| byte.is_ascii_alphanumeric());
            let (word, signs) = said.split_at_checked(word.count())?;
            word.eq_ignore_ascii_case(b"compatible") && !signs.iter().any(u8::is_ascii_alphanumeric)
        }
    };
    is_bare.then_some(start..start + end)
}

/// Returns the name at the start of a User-Agent, or one of its words, if nothing indicates a
/// browser or a device.
#[inline(never)]
fn find_at_start(text: &[u8]) -> Option<Unlisted> {
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
    if is_tool(name) || (after.is_empty() && is_domain(name)) {
        return found(Sign::Program);
    }
    let said = WordsFound::find_in(text);
    if said.is_people_s {
        return None;
    }
    if let Some(range) = said.program() {
        let sign = Sign::Program;
        return Some(Unlisted { sign, range });
    }
    if is_program_name(name, after) || is_words(text) {
        return found(Sign::Program);
    }
    None
}

/// Returns the name after `Mozilla/5.0` unless the name belongs to a browser, system or device.
fn find_behind_mozilla(text: &[u8]) -> Option<Unlisted> {
    let start = text.iter().position(|byte| b" (".contains(byte))?;
    if has_platform(text) {
        return None;
    }
    let names = text.get(start..)?.split(|&byte| !is_name(byte));
    let mut end = start;
    for name in names {
        let range = end..end + name.len();
        end = range.end + 1;
        let is_robot_s = name.first().is_some_and(u8::is_ascii_alphabetic)
            && name.iter().any(u8::is_ascii_lowercase)
            && count_letters(name) >= 4
            && !name.eq_ignore_ascii_case(b"compatible");
        if is_robot_s {
            let sign = Sign::Program;
            return Some(Unlisted { sign, range });
        }
    }
    None
}

fn is_library(text: &[u8]) -> bool {
    let mut starts = LIBRARIES.iter();
    starts.any(|start| starts_with(text, start.as_bytes()))
}

/// Returns `true` if a name contains a part that only tools have, such as `foo_cli` or `foo-sdk`.
fn is_tool(name: &[u8]) -> bool {
    let is_own = |part: &[u8]| matches!(part, b"cli" | b"sdk");
    let mut parts = name.split(|byte| b"-_".contains(byte)).skip(1);
    parts.any(is_own)
}

/// Returns `true` if a name is a domain or a single word, or is followed by a version or a comment.
fn is_program_name(name: &[u8], after: &[u8]) -> bool {
    if count_letters(name) < 4 {
        return count_letters(name) >= 2 && is_versioned(after);
    }
    let is_one_word = after.is_empty() && is_word(name);
    is_one_word
        || is_domain(name)
        || name.windows(2).any(|window| window == b"::")
        || (is_compound(name) && is_version_alone(after))
        || is_versioned(after)
        || after.starts_with(b" (")
        || is_label(after)
}

fn count_letters(name: &[u8]) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphabetic();
    name.iter().filter(is_letter).count()
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
        // Windows programs send their file name: `example.exe`.
        && top != b"exe"
}

/// Returns `true` if a name consists of joined words: `foo-bar`, `foo_bar`, `FooBar`.
fn is_compound(name: &[u8]) -> bool {
    let is_joined = name.windows(3).any(|window| {
        matches!(window, [a, b'-' | b'_', c] if a.is_ascii_alphabetic() && c.is_ascii_alphabetic())
    });
    let is_camel = name
        .windows(2)
        .any(|window| matches!(window, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    (is_joined || is_camel)
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte))
}

/// Returns `true` if a name is followed by nothing or only by a version.
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

/// Single words that do not identify a program but are sent by human visitors or their programs.
const MEANINGLESS_NAMES: &[&[u8]] = &[
    b"agent",
    b"anonymous",
    b"browser",
    b"contype",
    b"default",
    b"internet",
    b"mozilla",
    b"nobody",
    b"none",
    b"null",
    b"opera",
    b"private",
    b"request",
    b"secret",
    b"something",
    b"test",
    b"undefined",
    b"unknown",
];

/// Returns `true` if a name is a single word that no browser uses.
fn is_word(name: &[u8]) -> bool {
    match name {
        [first, rest @ ..] if rest.iter().all(u8::is_ascii_lowercase) => {
            first.is_ascii_uppercase()
                || (name.len() <= MAX_WORD_BYTES && !MEANINGLESS_NAMES.contains(&name))
        }
        _ => false,
    }
}

/// Returns `true` if a text consists of several words, the first capitalised, and optionally a
/// number: `Example of a name`, `Example Name v2`.
fn is_words(text: &[u8]) -> bool {
    let mut words = text.split(|&byte| byte == b' ');
    let first = words.next().unwrap_or_default();
    let last = text.rsplit(|&byte| byte == b' ').next();
    let mut number = last.filter(|last| is_number(last));
    let is_name = |word: &[u8]| {
        !word.is_empty()
            && word.iter().all(u8::is_ascii_alphabetic)
            && word.iter().skip(1).all(u8::is_ascii_lowercase)
            && !MEANINGLESS_NAMES
                .iter()
                .any(|nobody| word.eq_ignore_ascii_case(nobody))
    };
    first.len() >= 3
        && first.first().is_some_and(u8::is_ascii_uppercase)
        && is_name(first)
        && words.next().is_some_and(is_name)
        && words.all(|word| is_name(word) || number.take().is_some_and(|last| last == word))
}

/// Returns `true` if a word is a number or a version, such as `V3` or `2.2`.
fn is_number(word: &[u8]) -> bool {
    let number = match word {
        [b'v' | b'V', number @ ..] => number,
        _ => word,
    };
    number.first().is_some_and(u8::is_ascii_digit)
        && number
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Returns `true` if a path with one word follows, such as `/production`.
fn is_label(after: &[u8]) -> bool {
    after
        .strip_prefix(b"/")
        .is_some_and(|label| label.len() >= 3 && label.iter().all(u8::is_ascii_lowercase))
}

/// Returns `true` if a version follows, such as `/3`, `/v3.1` or `/3.1-beta`.
fn is_versioned(after: &[u8]) -> bool {
    let Some(version) = after.strip_prefix(b"/") else {
        return false;
    };
    let version = version.strip_prefix(b"v").unwrap_or(version);
    let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
    match version.get(digits.count()..) {
        Some(rest) if rest.len() < version.len() => {
            !rest.first().is_some_and(u8::is_ascii_alphabetic)
        }
        _ => false,
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:!".contains(&byte)
}
