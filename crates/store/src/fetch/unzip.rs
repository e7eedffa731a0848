//! Files that are compressed themselves, such as `sitemap.xml.gz`.

use std::io::{self, Read as _};

use flate2::read::MultiGzDecoder;

/// Error of decompressing a file.
#[derive(Debug, thiserror::Error)]
pub enum UnzipError {
    /// The bytes are no gzip, or end too early.
    #[error("the file cannot be decompressed: {0}: compress it anew with gzip")]
    Broken(#[source] io::Error),
    /// There is more in it than the limit.
    #[error("the file holds more than {0} bytes: raise the limit, or split it")]
    TooLarge(u64),
}

/// Returns `true` if bytes begin as a gzip file does (RFC 1952 §2.3.1).
#[must_use]
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1F, 0x8B, 8])
}

/// Decompresses a gzip file of at most so many bytes.
///
/// # Errors
///
/// Fails when it is none, or broken, or when more than `max_bytes` are in it;
/// no more than those are ever held.
pub fn gunzip(bytes: &[u8], max_bytes: u64) -> Result<Vec<u8>, UnzipError> {
    let mut text = Vec::new();
    // A gzip file may have several members, one behind the other (RFC 1952 §2.2).
    let decoder = MultiGzDecoder::new(bytes);
    let limited = decoder
        // One byte more than the limit tells a file that is too large from one that just fits.
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut text);
    limited.map_err(UnzipError::Broken)?;
    if text.len() as u64 > max_bytes {
        return Err(UnzipError::TooLarge(max_bytes));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_file_is_decompressed_within_its_limit() {
        let zipped = gzip(b"robots");
        assert!(is_gzip(&zipped) && !is_gzip(b"robots"));
        assert_eq!(gunzip(&zipped, 6).unwrap(), b"robots");
        assert!(matches!(gunzip(&zipped, 5), Err(UnzipError::TooLarge(5))));
        assert!(matches!(gunzip(b"robots", 9), Err(UnzipError::Broken(_))));
        assert!(matches!(
            gunzip(&zipped[..12], 9),
            Err(UnzipError::Broken(_))
        ));
    }

    #[test]
    fn a_bomb_goes_off_at_the_limit() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        assert!(matches!(gunzip(&bomb, 1_000), Err(UnzipError::TooLarge(_))));
    }
}
