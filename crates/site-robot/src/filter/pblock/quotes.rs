//! Quoted values: straight quotes, and the curly ones of word processors.

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
#[must_use]
pub fn is_quote(c: char) -> bool {
    c == '"' || CURLY.contains(&c)
}

/// Removes the quotes of a value; `None` where the text begins with no quote.
#[must_use]
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
