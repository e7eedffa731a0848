//! Bytes that are compared without regard to the case of ASCII letters, eight together.

/// Bytes that are compared together.
pub(super) const TOGETHER: usize = 8;

/// Tells whether two texts are the same but for the case of their letters.
#[inline]
pub(super) fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (Some(end_of_a), Some(end_of_b)) = (a.last_chunk(), b.last_chunk()) else {
        return match (ends(a), ends(b)) {
            (Some(a), Some(b)) => in_small(a) == in_small(b),
            _ => a.eq_ignore_ascii_case(b),
        };
    };
    let (of_a, _) = a.as_chunks();
    let (of_b, _) = b.as_chunks();
    let mut pairs = of_a.iter().zip(of_b);
    in_small(*end_of_a) == in_small(*end_of_b) && pairs.all(|(a, b)| in_small(*a) == in_small(*b))
}

/// Returns both ends of a text, which are all that it has where it is no longer than they are.
#[inline]
fn ends(text: &[u8]) -> Option<[u8; TOGETHER]> {
    let (start, end): (&[u8; 4], &[u8; 4]) = (text.first_chunk()?, text.last_chunk()?);
    let (start, end) = (u32::from_le_bytes(*start), u32::from_le_bytes(*end));
    Some((u64::from(end) << 32 | u64::from(start)).to_le_bytes())
}

/// Returns eight bytes that are the same.
#[inline]
pub(super) const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; TOGETHER])
}

/// Returns bytes with small letters for capital ones.
#[inline]
fn in_small(bytes: [u8; TOGETHER]) -> u64 {
    let bytes = u64::from_le_bytes(bytes);
    let low = bytes & each(0x7f);
    // Without its highest bit no byte carries into the next.
    let from_a = low + each(0x80 - b'A');
    let behind_z = low + each(0x80 - b'Z' - 1);
    let is_capital = from_a & !behind_z & !bytes & each(0x80);
    bytes | is_capital >> 2
}

/// Returns the first bytes of a text, behind it zeros.
#[inline]
pub(super) fn first_bytes(text: &[u8]) -> u64 {
    let all = text.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    all.unwrap_or_else(|| {
        let bytes = text.iter().rev();
        bytes.fold(0, |all, &byte| all << 8 | u64::from(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_the_same_in_any_case_and_nothing_else_is() {
        for length in 1..20 {
            for place in 0..length {
                let at = |byte: u8| {
                    let mut text = vec![b'-'; length];
                    text[place] = byte;
                    text
                };
                for (a, b) in (0..=u8::MAX).flat_map(|a| [(a, a), (a, a ^ 0x20), (a, a ^ 0x80)]) {
                    let expected = a.eq_ignore_ascii_case(&b);
                    assert_eq!(
                        is_same(&at(a), &at(b)),
                        expected,
                        "{a} {b} {place} {length}"
                    );
                }
            }
            assert!(!is_same(&vec![b'-'; length], &vec![b'-'; length - 1]));
        }
    }

    #[test]
    fn zeros_follow_a_short_text() {
        assert_eq!(first_bytes(b""), 0);
        assert_eq!(first_bytes(b"ab").to_le_bytes(), *b"ab\0\0\0\0\0\0");
        assert_eq!(first_bytes(b"abcdefghi").to_le_bytes(), *b"abcdefgh");
    }
}
