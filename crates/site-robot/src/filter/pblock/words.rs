//! The words and pairs of one line.

use crate::filter::{note::Notes, quoted};

use super::Pair;

/// What a line holds after its first word.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) pairs: Vec<Pair>,
    pub(super) comment: Option<String>,
}

/// Reads pairs up to the end of a line or a comment.
pub(super) fn pairs(line: usize, text: &str, notes: &mut Notes) -> Words {
    let mut words = Words::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if rest.starts_with('#') {
            words.comment = Some(rest.to_owned());
            return words;
        }
        rest = pair(line, rest, &mut words.pairs, notes).trim_start();
    }
    words
}

/// Returns `true` if a line begins with `key=`.
pub(super) fn begins_with_pair(text: &str) -> bool {
    let end = text.find(|c: char| !is_key(c));
    end.is_some_and(|end| end > 0 && text.get(end..).is_some_and(|it| it.starts_with('=')))
}

/// Reads one pair and returns what comes after it.
fn pair<'a>(line: usize, text: &'a str, pairs: &mut Vec<Pair>, notes: &mut Notes) -> &'a str {
    let end = text.find(|c: char| c == '=' || c.is_whitespace());
    let (key, rest) = text.split_at(end.unwrap_or(text.len()));
    let after_space = rest.trim_start();
    let Some(mut value) = after_space.strip_prefix('=') else {
        lonely(line, key, pairs, notes);
        return rest;
    };
    if after_space.len() < rest.len() {
        let text = format!("white space before `=` after {} left out", quoted(key));
        notes.repair(line, text);
        value = value.trim_start();
    }
    let (value, rest) = read_value(line, key, value, notes);
    add(line, key, value, pairs, notes);
    rest
}

/// A word without `=`: `fn-x` is meant to be `fn=x`.
fn lonely(line: usize, word: &str, pairs: &mut Vec<Pair>, notes: &mut Notes) {
    let function = word.get(..3).zip(word.get(3..));
    match function.filter(|(begin, name)| begin.eq_ignore_ascii_case("fn-") && !name.is_empty()) {
        Some((_, name)) => {
            let text = format!("{} read as fn={name}", quoted(word));
            notes.repair(line, text);
            add(line, "fn", name, pairs, notes);
        }
        None => notes.error(
            line,
            format!(
                "{} is no key=value; put a value with spaces in quotes",
                quoted(word)
            ),
        ),
    }
}

fn read_value<'a>(line: usize, key: &str, text: &'a str, notes: &mut Notes) -> (&'a str, &'a str) {
    let Some(quotation) = unquote(text) else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return text.split_at(end);
    };
    let shown = quoted(quotation.value);
    match quotation.fault {
        Some(QuoteFault::Curly) => {
            notes.repair(
                line,
                format!("curly quotes of {key}={shown} read as straight ones"),
            );
        }
        Some(QuoteFault::Unclosed) => {
            notes.repair(
                line,
                format!("{key}={shown}: closing quote added at the end of the line"),
            );
        }
        None => {}
    }
    if quotation.rest.starts_with(|c: char| !c.is_whitespace()) {
        notes.repair(line, format!("space added after {key}={shown}"));
    }
    (quotation.value, quotation.rest)
}

fn add(line: usize, key: &str, value: &str, pairs: &mut Vec<Pair>, notes: &mut Notes) {
    if key.is_empty() || !key.chars().all(is_key) {
        let text = format!("{} is no name of a parameter", quoted(key));
        return notes.error(line, text);
    }
    // The normal form has no escapes, so that such a value could not be read again.
    if value.contains('"') {
        let text = format!("quote within the value {}; leave it out", quoted(value));
        return notes.error(line, text);
    }
    let key = key.to_ascii_lowercase();
    if pairs.iter().any(|pair| pair.key == key) {
        return notes.error(line, format!("{key}= stands twice; leave one out"));
    }
    let value = value.to_owned();
    pairs.push(Pair { line, key, value });
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns `true` if a value reads the same without quotes.
pub(super) fn is_plain(value: &str) -> bool {
    !value.is_empty()
        && !value.contains(char::is_whitespace)
        && !value.starts_with(is_quote)
        && !value.ends_with('\\')
}

/// Curly and other quotes that stand for a straight one.
const CURLY: [char; 6] = ['“', '”', '„', '‟', '″', '＂'];

/// Value that was taken from its quotes, and what comes after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unquoted<'a> {
    /// What stands between the quotes.
    pub value: &'a str,
    /// What stands after the closing quote.
    pub rest: &'a str,
    /// What is not as it should be.
    pub fault: Option<QuoteFault>,
}

/// What is not as it should be about quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuoteFault {
    /// Curly quotes, read as straight ones.
    Curly,
    /// No closing quote before the end of the line.
    Unclosed,
}

/// Returns `true` if a character opens or closes a quotation.
pub fn is_quote(c: char) -> bool {
    c == '"' || CURLY.contains(&c)
}

/// Removes the quotes of a value; `None` where the text begins with no quote.
pub fn unquote(text: &str) -> Option<Unquoted<'_>> {
    let opening = text.chars().next().filter(|c| is_quote(*c))?;
    let inside = text.get(opening.len_utf8()..)?;
    // A straight quote ends at the next straight one: curly ones within belong to the value.
    let straight = (opening == '"').then(|| inside.split_once('"')).flatten();
    if let Some((value, rest)) = straight {
        let fault = None;
        return Some(Unquoted { value, rest, fault });
    }
    let (value, rest, fault) = match inside.split_once(is_quote) {
        Some((value, rest)) => (value, rest, QuoteFault::Curly),
        None => (inside.trim_end(), "", QuoteFault::Unclosed),
    };
    let fault = Some(fault);
    Some(Unquoted { value, rest, fault })
}
