//! Parser for the keyword and pairs of a line.

use crate::filter::{note::Notes, quoted};

use super::Pair;

/// The part of a line that follows the keyword.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) pairs: Vec<Pair>,
    pub(super) comment: Option<String>,
}

/// Parses `key=value` pairs up to the end of the line or a comment.
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

/// Returns `true` if a line starts with `key=`.
pub(super) fn begins_with_pair(text: &str) -> bool {
    let end = text.find(|c: char| !is_key(c));
    end.is_some_and(|end| end > 0 && text.get(end..).is_some_and(|it| it.starts_with('=')))
}

/// Parses one pair, and returns the remaining text.
fn pair<'a>(line: usize, text: &'a str, pairs: &mut Vec<Pair>, notes: &mut Notes) -> &'a str {
    let end = text.find(|c: char| c == '=' || c.is_whitespace());
    let (key, rest) = text.split_at(end.unwrap_or(text.len()));
    let after_space = rest.trim_start();
    let Some(mut value) = after_space.strip_prefix('=') else {
        handle_bare_word(line, key, pairs, notes);
        return rest;
    };
    if after_space.len() < rest.len() {
        let text = format!("removed white space before `=` after {}", quoted(key));
        notes.repair(line, text);
        value = value.trim_start();
    }
    let (value, rest) = read_value(line, key, value, notes);
    add(line, key, value, pairs, notes);
    rest
}

/// Handles a word that contains no `=`; `fn-x` is repaired to `fn=x`.
fn handle_bare_word(line: usize, word: &str, pairs: &mut Vec<Pair>, notes: &mut Notes) {
    let function = word.get(..3).zip(word.get(3..));
    match function.filter(|(begin, name)| begin.eq_ignore_ascii_case("fn-") && !name.is_empty()) {
        Some((_, name)) => {
            let text = format!("replaced {} with fn={name}", quoted(word));
            notes.repair(line, text);
            add(line, "fn", name, pairs, notes);
        }
        None => notes.error(
            line,
            format!(
                "{} is not a key=value pair; quote values that contain spaces",
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
                format!("replaced the curly quotes in {key}={shown} with straight quotes"),
            );
        }
        Some(QuoteFault::Unclosed) => {
            notes.repair(
                line,
                format!("added the missing closing quote of {key}={shown} at the end of the line"),
            );
        }
        None => {}
    }
    if quotation.rest.starts_with(|c: char| !c.is_whitespace()) {
        notes.repair(line, format!("added the missing space after {key}={shown}"));
    }
    (quotation.value, quotation.rest)
}

fn add(line: usize, key: &str, value: &str, pairs: &mut Vec<Pair>, notes: &mut Notes) {
    if key.is_empty() || !key.chars().all(is_key) {
        let text = format!("{} is not a valid parameter name", quoted(key));
        return notes.error(line, text);
    }
    // The normal form has no escapes, so a value with a quotation mark could not be parsed again.
    if value.contains('"') {
        let text = format!(
            "the value {} contains a quotation mark; remove the mark",
            quoted(value)
        );
        return notes.error(line, text);
    }
    let key = key.to_ascii_lowercase();
    if pairs.iter().any(|pair| pair.key == key) {
        return notes.error(line, format!("duplicate {key}=; remove one"));
    }
    let value = value.to_owned();
    pairs.push(Pair { line, key, value });
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns `true` if a value can be written without quotes.
pub(super) fn is_plain(value: &str) -> bool {
    !value.is_empty()
        && !value.contains(char::is_whitespace)
        && !value.starts_with(is_quote)
        && !value.ends_with('\\')
}

/// Curly quotes, and other quotes that are accepted instead of straight quotes.
const CURLY: [char; 6] = ['“', '”', '„', '‟', '″', '＂'];

/// A value without its quotes, and the text that follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QuotedValue<'a> {
    /// Text between the quotes.
    pub value: &'a str,
    /// Text after the closing quote.
    pub rest: &'a str,
    /// Problem with the quotes, if there is one.
    pub fault: Option<QuoteFault>,
}

/// Problem with the quotes of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuoteFault {
    /// Curly quotes, which are treated as straight quotes.
    Curly,
    /// A missing closing quote at the end of the line.
    Unclosed,
}

/// Returns `true` if a character is a quotation mark.
pub fn is_quote(c: char) -> bool {
    c == '"' || CURLY.contains(&c)
}

/// Removes the quotes from a value; returns `None` if the text does not start with a quote.
pub fn unquote(text: &str) -> Option<QuotedValue<'_>> {
    let opening = text.chars().next().filter(|c| is_quote(*c))?;
    let inside = text.get(opening.len_utf8()..)?;
    // A value that starts with a straight quote ends at the next straight quote and may contain
    // curly quotes.
    let straight = (opening == '"').then(|| inside.split_once('"')).flatten();
    if let Some((value, rest)) = straight {
        let fault = None;
        return Some(QuotedValue { value, rest, fault });
    }
    let (value, rest, fault) = match inside.split_once(is_quote) {
        Some((value, rest)) => (value, rest, QuoteFault::Curly),
        None => (inside.trim_end(), "", QuoteFault::Unclosed),
    };
    let fault = Some(fault);
    Some(QuotedValue { value, rest, fault })
}
