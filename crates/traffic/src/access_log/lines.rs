//! Reader of lines that does not copy them.

use std::{
    fmt,
    io::{self, BufReader, Cursor, Read},
};

use flate2::bufread::MultiGzDecoder;
use memchr::memchr;

/// Longest line; the rest of a longer one is skipped.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Bytes that are read with one call, and all that is ever in memory.
// Eight of the longest lines, so that to move the begun one to the front copies an eighth at most.
const BLOCK_BYTES: usize = 512 * 1024;

/// Reader of lines that keeps one block in memory.
///
/// LF or CRLF ends a line; the last one needs no end.
pub struct Lines<R> {
    input: R,
    block: Box<[u8]>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no end of it was found.
    searched: usize,
    /// Where what was read ends.
    end: usize,
    is_over: bool,
    /// Bytes that were dropped from the front of the block.
    dropped: u64,
    /// Whether the last line that was given had an end.
    was_ended: bool,
}

impl<R: Read> Lines<R> {
    /// Creates a reader of lines.
    pub fn new(input: R) -> Self {
        Self {
            input,
            block: vec![0; BLOCK_BYTES].into(),
            start: 0,
            searched: 0,
            end: 0,
            is_over: false,
            dropped: 0,
            was_ended: false,
        }
    }

    /// Reads more, once [`Lines::next_line`] has given every line there was.
    ///
    /// Returns false when there is nothing more. Waits where the input does.
    ///
    /// # Errors
    ///
    /// Fails when the input does.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        self.make_room();
        let room = self.block.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.input.read(room) {
                // A signal that was handled is no failure of the input.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += read;
        self.is_over = read == 0;
        Ok(read > 0 || self.start < self.end)
    }

    /// Returns the next line without its end, if all of it is here.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        let unsearched = self.block.get(self.searched..self.end)?;
        let (line, next, was_ended) = match memchr(b'\n', unsearched) {
            Some(at) => {
                let end = self.searched + at;
                (self.start..end, end + 1, true)
            }
            None if self.is_over && self.start < self.end => {
                (self.start..self.end, self.end, false)
            }
            None => {
                self.searched = self.end;
                return None;
            }
        };
        self.start = next;
        self.searched = next;
        self.was_ended = was_ended;
        let line = self.block.get(line)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(line.get(..MAX_LINE_BYTES).unwrap_or(line))
    }

    /// Returns the bytes of the input up to the end of the last line that was given.
    pub fn consumed(&self) -> u64 {
        self.dropped + self.start as u64
    }

    /// Returns `true` if the last line that was given had an end: what has none may grow.
    pub fn was_ended(&self) -> bool {
        self.was_ended
    }

    /// Moves the begun line to the front, and drops what is too long of it.
    fn make_room(&mut self) {
        // The one byte more is for the CR of a line of just the longest length. As the rest of the
        // block stays free, no read is into an empty buffer, which would pass for the end of the
        // input.
        let kept = (self.end - self.start).min(MAX_LINE_BYTES + 1);
        // What is cut off a line is counted as if it stood before it.
        self.dropped += (self.end - kept) as u64;
        self.block.copy_within(self.start..self.start + kept, 0);
        self.start = 0;
        self.end = kept;
        self.searched = kept;
    }
}

impl<R> fmt::Debug for Lines<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

/// First bytes of a gzip member (RFC 1952 §2.3.1); no line of text begins so.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Compressed bytes that are read with one call.
const PACKED_BYTES: usize = 128 * 1024;

/// Returns the text of a log, unpacked where it is gzip, whatever its name.
///
/// Several gzip members in a row are read as one text (RFC 1952 §2.2). The
/// memory it takes does not depend on what is in it.
///
/// # Errors
///
/// Fails when the first bytes cannot be read.
pub fn open<'r>(mut input: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::with_capacity(GZIP.len());
    input
        .by_ref()
        .take(GZIP.len() as u64)
        .read_to_end(&mut first)?;
    let is_gzip = first == GZIP;
    let whole = Cursor::new(first).chain(input);
    if is_gzip {
        let packed = BufReader::with_capacity(PACKED_BYTES, whole);
        return Ok(Box::new(MultiGzDecoder::new(packed)));
    }
    Ok(Box::new(whole))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    /// Input that gives a few bytes at a time, and is interrupted between.
    struct Pieces<'a>(&'a [u8], usize, bool);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn lines(input: impl Read) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(input);
        let mut all = Vec::new();
        while lines.fill().unwrap() {
            while let Some(line) = lines.next_line() {
                all.push(line.to_vec());
            }
        }
        assert!(!lines.fill().unwrap());
        assert_eq!(lines.next_line(), None);
        all
    }

    #[test]
    fn both_ends_of_line_are_read_and_the_last_needs_none() {
        let none: [&[u8]; 0] = [];
        assert_eq!(lines(&b""[..]), none);
        assert_eq!(lines(&b"\n"[..]), [b""]);
        assert_eq!(
            lines(&b"a\r\n\nb\rc\n d"[..]),
            [&b"a"[..], b"", b"b\rc", b" d"]
        );
    }

    #[test]
    fn line_of_any_length_is_cut_and_the_next_is_whole() {
        for length in [
            MAX_LINE_BYTES - 1,
            MAX_LINE_BYTES,
            MAX_LINE_BYTES + 1,
            BLOCK_BYTES,
            3 * BLOCK_BYTES + 5,
        ] {
            for end in ["\n", "\r\n"] {
                let mut input = vec![b'x'; length];
                input.extend(format!("{end}next{end}").into_bytes());
                for piece in [100_000, usize::MAX] {
                    let all = lines(Pieces(&input, piece, false));
                    assert_eq!(all.len(), 2, "{length}");
                    assert_eq!(all[0], vec![b'x'; length.min(MAX_LINE_BYTES)]);
                    assert_eq!(all[1], b"next");
                }
            }
        }
    }

    #[test]
    fn lines_are_given_before_the_input_ends() {
        let mut lines = Lines::new(Pieces(b"one\ntwo\n", 5, false));
        assert!(lines.fill().unwrap());
        assert_eq!(lines.next_line(), Some(&b"one"[..]));
        assert_eq!(lines.next_line(), None);
        assert!(lines.fill().unwrap());
        assert_eq!(lines.next_line(), Some(&b"two"[..]));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_a_plain_split(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            piece in 1..40_usize,
        ) {
            let mut expected: Vec<_> = text
                .split(|byte| *byte == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
                .collect();
            if text.is_empty() || text.ends_with(b"\n") {
                expected.pop();
            }
            prop_assert_eq!(lines(Pieces(&text, piece, false)), expected);
        }
    }

    fn pack(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(input: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        open(input)?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn plain_text_is_given_as_it_is() {
        for text in [&b""[..], b"a", b"ab", b"\x1f", b"\x1fa\n", b"one\ntwo\n"] {
            assert_eq!(read(text).unwrap(), text);
        }
    }

    #[test]
    fn members_of_gzip_are_one_text() {
        let both = [pack(b"one\ntw"), pack(b"o\n")].concat();
        assert_eq!(read(&both).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn gzip_that_is_cut_off_is_an_error() {
        let packed = pack(b"one\ntwo\n");
        for length in 2..packed.len() {
            assert!(read(&packed[..length]).is_err(), "{length}");
        }
        assert!(read(&[&packed[..], b"junk"].concat()).is_err());
    }
}
