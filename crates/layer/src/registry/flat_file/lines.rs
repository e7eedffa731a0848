//! Lines of a file, whatever ends them.

use std::borrow::Cow;

use crate::registry::text::decode;

/// Line of a file, decoded by itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line<'a> {
    /// Number, from 1.
    pub(super) number: usize,
    /// Text, without what ends the line.
    pub(super) text: Cow<'a, str>,
}

/// Splits a file at LF, CR LF and CR, and decodes each line.
///
/// Any number of CR before an LF ends one line: copies went through more than
/// one conversion.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut rest = Some(bytes);
    let mut number = 0;
    let mut bare = 0;
    std::iter::from_fn(move || {
        let (line, behind) = split(rest?, &mut bare);
        rest = behind;
        number += 1;
        Some(Line {
            number,
            text: decode(line),
        })
    })
}

/// Splits the first line off; `None` as the rest when it was the last.
///
/// `bare` counts the CR at the beginning of the rest that are known to stand before no LF.
fn split<'a>(bytes: &'a [u8], bare: &mut usize) -> (&'a [u8], Option<&'a [u8]>) {
    // Counted once: each CR counting those behind it would take quadratic time.
    if let Some(left) = bare.checked_sub(1) {
        *bare = left;
        return (&[], bytes.get(1..));
    }
    let Some(end) = bytes.iter().position(|&b| b == b'\n' || b == b'\r') else {
        return (bytes, None);
    };
    let (line, tail) = bytes.split_at(end);
    // Line ends that were converted twice are CR CR LF.
    let returns = tail.iter().take_while(|&&b| b == b'\r').count();
    let length = if tail.get(returns) == Some(&b'\n') {
        returns + 1
    } else {
        *bare = returns.saturating_sub(1);
        1
    };
    (line, tail.get(length..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines(bytes).map(|line| line.text.into_owned()).collect()
    }

    #[test]
    fn every_line_end_is_one() {
        for file in [
            &b"a\n\nb"[..],
            b"a\r\n\r\nb",
            b"a\r\rb",
            b"a\r\r\n\r\r\nb",
            b"\xef\xbb\xbfa\n\nb",
        ] {
            assert_eq!(texts(file), ["a", "", "b"], "{file:?}");
        }
    }

    #[test]
    fn many_returns_take_no_longer_than_other_lines() {
        // It would take minutes if each one counted those behind it.
        let returns = 1 << 20;
        let file = [&b"robot-id: a"[..], &vec![b'\r'; returns]].concat();
        assert_eq!(lines(&file).count(), returns + 1);
        let file = [&file[..], b"\nb"].concat();
        assert_eq!(texts(&file), ["robot-id: a", "b"]);
    }

    #[test]
    fn each_line_has_its_own_encoding() {
        assert_eq!(texts(b"\xc3\xa4\n\xe4\n"), ["ä", "ä", ""]);
    }
}
