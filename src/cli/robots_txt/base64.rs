//! Base64, as RFC 4648 §4 writes it.

/// Returns the octets of a text; `None` where it is no base64.
///
/// White space and a missing padding are forgiven.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().trim_end_matches('=');
    let mut octets = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut filled) = (0_u32, 0_u32);
    let mut digits = 0_usize;
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bits = (bits << 6) | u32::from(digit(byte)?);
        filled += 6;
        digits += 1;
        if filled >= 8 {
            filled -= 8;
            let [.., octet] = (bits >> filled).to_be_bytes();
            octets.push(octet);
            bits &= (1 << filled) - 1;
        }
    }
    (digits % 4 != 1).then_some(octets)
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648 §10.
    #[test]
    fn the_vectors_of_the_standard_are_decoded() {
        for (text, octets) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(octets.as_bytes()), "{text}");
        }
        assert_eq!(decode("//79AA=="), Some(vec![0xff, 0xfe, 0xfd, 0]));
        assert_eq!(decode("Zm9v\nYg\n"), Some(b"foob".to_vec()));
    }

    #[test]
    fn what_is_no_base64_is_none() {
        for text in ["Z", "Zm9vY", "Zm9*", "Zm=9", "Zmé9"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
