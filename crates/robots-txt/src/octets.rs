//! Operations on eight octets at a time, which are faster than a general search in short lines and
//! paths.

use memchr::memchr2;

/// The number of octets in a machine word.
pub(super) const WORD: usize = size_of::<u64>();

/// The number of octets in two machine words.
const PAIR: usize = 2 * WORD;

/// The number of octets that are searched for a line end eight at a time; most lines are shorter.
const USUAL_LINE: usize = 64;

/// Returns the position of the first line feed or carriage return.
#[inline]
pub(super) fn line_end(text: &[u8]) -> Option<usize> {
    // The first control character is usually a line feed or a carriage return.
    let found = control(text.get(..USUAL_LINE).unwrap_or(text));
    match text.get(found)? {
        b'\n' | b'\r' => Some(found),
        _ => Some(found + memchr2(b'\n', b'\r', text.get(found..)?)?),
    }
}

/// Returns the position of the first octet with a value of at most 0x0d (carriage return), or the
/// length of the text if there is none.
#[inline]
fn control(text: &[u8]) -> usize {
    const EACH: u128 = u128::from_le_bytes([1; PAIR]);
    let (pairs, tail) = text.as_chunks();
    for (at, octets) in pairs.iter().enumerate() {
        let pair = u128::from_le_bytes(*octets);
        // The subtraction borrows for octets below 0x0e, which sets their high bit; `!pair`
        // excludes non-ASCII octets. A borrow may also mark later octets, so only the first mark is
        // reliable.
        let found = pair.wrapping_sub(EACH * 0x0e) & !pair & (EACH * 0x80);
        if found != 0 {
            return at * PAIR + found.trailing_zeros() as usize / 8;
        }
    }
    let mut tail = tail.iter();
    let found = tail.position(|octet| *octet <= b'\r');
    found.map_or(text.len(), |found| pairs.len() * PAIR + found)
}

/// Returns `true` if a text contains one of the two given non-zero octets, or a non-ASCII octet.
#[inline]
pub(super) fn has(text: &[u8], one: u8, other: u8) -> bool {
    let found = |word| equal(word, one) | equal(word, other) | beyond_ascii(word);
    let (words, tail) = text.as_chunks();
    let left = match text.last_chunk() {
        // The last eight octets, which may overlap with those before, are checked instead of a loop
        // over the rest.
        Some(last) => word(*last),
        None => tail
            .iter()
            .fold(0, |word, octet| word << 8 | u64::from(*octet)),
    };
    words.iter().any(|octets| found(word(*octets)) != 0) || found(left) != 0
}

/// Returns eight octets as a number, with the first octet as the least significant.
#[inline]
pub(super) const fn word(octets: [u8; WORD]) -> u64 {
    u64::from_le_bytes(octets)
}

/// Marks the octets of a word that equal a given octet; only the first mark is reliable.
#[inline]
pub(super) const fn equal(word: u64, octet: u8) -> u64 {
    zero(word ^ each(octet))
}

/// Marks the octets of a word that equal a given octet, ignoring the lowest bit; as with `equal`,
/// only the first mark is reliable.
#[inline]
pub(super) const fn equal_pair(word: u64, octet: u8) -> u64 {
    zero((word ^ each(octet)) & each(0xfe))
}

/// Marks the non-ASCII octets of a word.
#[inline]
pub(super) const fn beyond_ascii(word: u64) -> u64 {
    word & each(0x80)
}

/// Returns the index of the first marked octet, or 8 if there is none.
#[inline]
pub(super) const fn first(word: u64) -> usize {
    word.trailing_zeros() as usize / 8
}

#[inline]
const fn each(octet: u8) -> u64 {
    word([octet; WORD])
}

#[inline]
const fn zero(word: u64) -> u64 {
    // Hacker's Delight §6-1.
    word.wrapping_sub(each(1)) & !word & each(0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_end_at_the_first_cr_or_lf(
            text in prop::collection::vec(prop_oneof![
                30 => any::<u8>().prop_map(|octet| octet | 0x20),
                1 => prop::sample::select(&b"\r\n\t\x0b\x0e\x8a\x8d"[..]),
            ], 0..100),
        ) {
            let expected = text.iter().position(|octet| matches!(octet, b'\r' | b'\n'));
            prop_assert_eq!(line_end(&text), expected);
        }

        #[test]
        fn escapes_fragments_and_non_ascii_octets_are_found(
            text in prop::collection::vec(prop_oneof![
                30 => 0..128u8,
                1 => prop::sample::select(&b"%#\x80\xff"[..]),
            ], 0..40),
        ) {
            let expected = text.iter().any(|octet| matches!(octet, b'%' | b'#' | 0x80..));
            prop_assert_eq!(has(&text, b'%', b'#'), expected);
        }
    }
}
