//! Splitting of a file into lines, which end with CR, LF or CRLF.

use memchr::{memchr, memrchr2};

use super::octets;

/// The maximum number of octets of a file that are parsed, which is the minimum that RFC 9309 §2.5
/// requires.
pub const MAX_FILE_BYTES: usize = 500 * 1024;

/// Returns the part of a file that is parsed: the complete lines within [`MAX_FILE_BYTES`].
///
/// If the file is exactly as long as the limit, an unterminated last line is omitted, because the
/// file may be a truncated download.
#[must_use]
pub fn parsed_part(text: &[u8]) -> &[u8] {
    let Some(read) = text.get(..MAX_FILE_BYTES) else {
        return text;
    };
    // A truncated line could be a different rule, and a shorter path disallows more.
    let end = memrchr2(b'\n', b'\r', read);
    end.and_then(|end| read.get(..end)).unwrap_or(read)
}

/// A line of a file, without the line ending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    /// The line number, counted from 1.
    pub(super) number: u32,
    /// The octets of the line, including any comment.
    pub(super) bytes: &'t [u8],
    /// The position of the first `#` in the line, if any.
    pub(super) hash: Option<usize>,
}

impl<'t> Line<'t> {
    /// Returns the part of the line before the first `#`.
    #[inline]
    pub(super) fn before_comment(&self) -> &'t [u8] {
        self.hash
            .and_then(|hash| self.bytes.get(..hash))
            .unwrap_or(self.bytes)
    }
}

/// An iterator over the lines of a file.
#[derive(Clone, Debug)]
pub(super) struct Lines<'t> {
    rest: Option<&'t [u8]>,
    number: u32,
    /// The position of the first `#` in `rest`. Most lines contain no `#`, so one search covers
    /// several lines.
    hash: Option<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            rest: Some(text),
            number: 0,
            hash: memchr(b'#', text),
        }
    }

    #[inline]
    fn step(&mut self, rest: &'t [u8], used: usize) {
        self.rest = rest.get(used..);
        self.hash = match self.hash {
            Some(hash) if hash >= used => Some(hash - used),
            Some(_) => self.rest.and_then(|rest| memchr(b'#', rest)),
            None => None,
        };
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    #[inline]
    fn next(&mut self) -> Option<Line<'t>> {
        let rest = self.rest?;
        self.number = self.number.saturating_add(1);
        let Some(end) = octets::line_end(rest) else {
            self.rest = None;
            return Some(Line {
                number: self.number,
                bytes: rest,
                hash: self.hash,
            });
        };
        let (bytes, after) = rest.split_at_checked(end)?;
        let hash = self.hash.filter(|hash| *hash < end);
        // RFC 9309 §2.2: `NL` is CR, LF or CRLF.
        let ended_by = if after.starts_with(b"\r\n") { 2 } else { 1 };
        self.step(rest, end + ended_by);
        Some(Line {
            number: self.number,
            bytes,
            hash,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u32, String, String)> {
        Lines::new(text.as_bytes())
            .map(|line| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("ASCII");
                (line.number, text(line.bytes), text(line.before_comment()))
            })
            .collect()
    }

    #[test]
    fn cr_lf_and_crlf_end_a_line() {
        let numbered = lines("a\rb\nc\r\nd\n\re");
        let texts: Vec<_> = numbered.iter().map(|line| line.1.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d", "", "e"]);
        assert_eq!(numbered.last().map(|line| line.0), Some(6));
    }

    #[test]
    fn long_file_is_read_up_to_its_last_whole_line() {
        let most = "a".repeat(MAX_FILE_BYTES);
        for (text, expected) in [
            ("a\nb".to_owned(), 3),
            ("a".repeat(MAX_FILE_BYTES - 1), MAX_FILE_BYTES - 1),
            (format!("a\n{}", "b".repeat(MAX_FILE_BYTES - 2)), 1),
            (format!("a\r\nb\r\n{most}\n"), 5),
            (format!("{most}\nb"), MAX_FILE_BYTES),
        ] {
            assert_eq!(parsed_part(text.as_bytes()).len(), expected);
        }
    }

    #[test]
    fn first_hash_of_a_line_starts_its_comment() {
        let texts: Vec<_> = lines("a#b#c\nd\n#\n e # f")
            .into_iter()
            .map(|line| line.2)
            .collect();
        assert_eq!(texts, ["a", "d", "", " e "]);
    }
}
