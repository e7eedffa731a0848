//! Bytes as text.

/// Spells bytes in lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text = String::with_capacity(2 * bytes.len());
    text.extend(digits.map(|digit| {
        char::from(if digit < 10 {
            b'0' + digit
        } else {
            b'a' + digit - 10
        })
    }));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0x00, 0x09, 0x0a, 0x9f, 0xff]), "00090a9fff");
    }
}
