//! Plain or packed: the first bytes tell.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

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

    use super::*;

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
