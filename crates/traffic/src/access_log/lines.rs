//! Reads lines without copying them.

use std::{
    cell::Cell,
    fmt,
    io::{self, BufReader, Cursor, Read},
    rc::Rc,
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use memchr::memchr;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Maximum length of a line in bytes; the rest of a longer line is skipped.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Size of the buffer, and maximum number of bytes read by a single call.
// Eight times the longest line: moving a partial line to the front copies at most an eighth.
const BLOCK_BYTES: usize = 512 * 1024;

/// A line reader that buffers a block of its input.
///
/// Lines end with LF or CRLF; the last line may lack a line ending.
pub struct Lines<R> {
    input: R,
    block: Box<[u8]>,
    /// Start of the next line in the buffered block.
    start: usize,
    /// Position in the buffered block up to which no line ending has been found.
    searched: usize,
    /// End of the data in the buffered block.
    end: usize,
    is_over: bool,
    /// Number of bytes removed from the front of the block so far.
    dropped: u64,
    /// Whether the line returned most recently had a line ending.
    was_ended: bool,
}

impl<R: Read> Lines<R> {
    /// Creates a line reader.
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

    /// Reads more input; must be called only after [`Lines::next_line`] has returned every buffered
    /// line.
    ///
    /// Returns `false` at the end of the input. The call blocks while the input blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if reading from the input fails.
    pub fn read_more(&mut self) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        self.make_room();
        let room = self.block.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.input.read(room) {
                // Retry if a signal interrupted the read.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += read;
        self.is_over = read == 0;
        Ok(read > 0 || self.start < self.end)
    }

    /// Returns the next line without its line ending if the complete line is buffered.
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

    /// Returns the number of input bytes up to the end of the line returned most recently.
    pub fn consumed(&self) -> u64 {
        self.dropped + self.start as u64
    }

    /// Returns `true` if the line returned most recently had a line ending; otherwise, more of the
    /// line may follow.
    pub fn was_terminated(&self) -> bool {
        self.was_ended
    }

    /// Moves the partial line to the front of the block, and truncates the line to the maximum
    /// length.
    fn make_room(&mut self) {
        // The extra byte is for the CR of a line of exactly the maximum length. Because the rest of
        // the block stays free, no read uses an empty buffer, which would look like the end of the
        // input.
        let kept = (self.end - self.start).min(MAX_LINE_BYTES + 1);
        // Truncated bytes are counted as if they preceded the line.
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

/// Number of compressed bytes that one call reads.
const PACKED_BYTES: usize = 128 * 1024;

/// Maximum size of a decompressed log, as a multiple of the compressed size.
const MAX_RATIO: u64 = 1_000;

/// Maximum memory for the dictionary of a compressed log.
const MAX_WINDOW_BYTES: u32 = 128 << 20;

/// A compression of logs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Packing {
    Gzip,
    Zstandard,
    Xz,
    Bzip2,
}

impl Packing {
    /// Returns the compression of a file that begins with the given bytes; no line of text begins
    /// with them, except those of bzip2, which are followed by a digit and a number.
    fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstandard),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Self::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] => Some(Self::Bzip2),
            _ => None,
        }
    }
}

/// Number of first bytes that show the compression.
const MAGIC_BYTES: u64 = 6;

fn magic(input: impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    input.take(MAGIC_BYTES).read_to_end(&mut first)?;
    Ok(first)
}

/// Returns `true` if an input begins like a compressed log.
///
/// # Errors
///
/// Returns an error if the first bytes cannot be read.
pub fn is_compressed(input: impl Read) -> io::Result<bool> {
    Ok(Packing::of(&magic(input)?).is_some())
}

/// Returns a reader for the text of a log; compressed input (gzip, zstd, xz, bzip2) is detected by
/// its content and decompressed.
///
/// Consecutive members are read as one text (RFC 1952 §2.2). Memory use does not depend on the
/// log's content. A log whose text is more than 1,000 times as large as the compressed log fails
/// with an error.
///
/// # Errors
///
/// Returns an error if the first bytes cannot be read.
pub fn open<'r>(mut input: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let first = magic(input.by_ref())?;
    let packing = Packing::of(&first);
    let whole = Cursor::new(first).chain(input);
    let Some(packing) = packing else {
        return Ok(Box::new(whole));
    };
    let read = Rc::new(Cell::new(0));
    let counted = Counted {
        input: whole,
        count: Rc::clone(&read),
    };
    let packed = BufReader::with_capacity(PACKED_BYTES, counted);
    let text: Box<dyn Read + 'r> = match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Packing::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
        Packing::Xz => Box::new(XzReader::new_mem_limit(
            packed,
            true,
            MAX_WINDOW_BYTES >> 10,
        )),
        Packing::Zstandard => Box::new(ZstandardFrames {
            input: Some(packed),
            frame: None,
        }),
    };
    Ok(Box::new(Limited {
        text,
        read,
        written: 0,
    }))
}

/// Input that counts the bytes read.
struct Counted<R> {
    input: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Text of a compressed log, limited to a multiple of the compressed size.
struct Limited<'r> {
    text: Box<dyn Read + 'r>,
    read: Rc<Cell<u64>>,
    written: u64,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        self.written += read as u64;
        if self.written > self.read.get().saturating_mul(MAX_RATIO) {
            return Err(io::Error::other(
                "the text is more than 1,000 times as large as the compressed log",
            ));
        }
        Ok(read)
    }
}

/// Text of consecutive Zstandard frames.
struct ZstandardFrames<R: Read> {
    /// The input, between two frames.
    input: Option<R>,
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: io::BufRead> Read for ZstandardFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            let ended = self.frame.take().map(StreamingDecoder::into_inner);
            let Some(mut input) = ended.or_else(|| self.input.take()) else {
                return Ok(0);
            };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let limit = MAX_WINDOW_BYTES.into();
            let frame = StreamingDecoder::new_with_max_window_size(input, limit);
            self.frame = Some(frame.map_err(io::Error::other)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    /// Input that returns a few bytes at a time, with interruptions between reads.
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
        while lines.read_more().unwrap() {
            while let Some(line) = lines.next_line() {
                all.push(line.to_vec());
            }
        }
        assert!(!lines.read_more().unwrap());
        assert_eq!(lines.next_line(), None);
        all
    }

    #[test]
    fn both_line_endings_are_accepted_and_the_last_line_needs_none() {
        let none: [&[u8]; 0] = [];
        assert_eq!(lines(&b""[..]), none);
        assert_eq!(lines(&b"\n"[..]), [b""]);
        assert_eq!(
            lines(&b"a\r\n\nb\rc\n d"[..]),
            [&b"a"[..], b"", b"b\rc", b" d"]
        );
    }

    #[test]
    fn long_line_is_truncated_and_the_next_is_complete() {
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
    fn lines_are_returned_before_the_input_ends() {
        let mut lines = Lines::new(Pieces(b"one\ntwo\n", 5, false));
        assert!(lines.read_more().unwrap());
        assert_eq!(lines.next_line(), Some(&b"one"[..]));
        assert_eq!(lines.next_line(), None);
        assert!(lines.read_more().unwrap());
        assert_eq!(lines.next_line(), Some(&b"two"[..]));
    }

    proptest! {
        #[test]
        fn lines_equal_those_of_a_plain_split(
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
    fn plain_text_is_returned_unchanged() {
        for text in [&b""[..], b"a", b"ab", b"\x1f", b"\x1fa\n", b"one\ntwo\n"] {
            assert_eq!(read(text).unwrap(), text);
        }
    }

    #[test]
    fn gzip_members_are_read_as_one_text() {
        let both = [pack(b"one\ntw"), pack(b"o\n")].concat();
        assert_eq!(read(&both).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn truncated_gzip_is_an_error() {
        let packed = pack(b"one\ntwo\n");
        for length in 2..packed.len() {
            assert!(read(&packed[..length]).is_err(), "{length}");
        }
        assert!(read(&[&packed[..], b"junk"].concat()).is_err());
    }
}
