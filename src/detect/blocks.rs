//! Blocks of a text, of which all bytes are looked at together.

/// Bytes of which letters are told together.
pub(super) const BLOCK: usize = 64;

/// Bytes that are looked at together, each with the next.
pub(super) const PAIRS: usize = 16;

/// Returns which bytes of a block are letters, the first in the lowest bit.
#[inline]
pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
    vectors::letters(block)
}

/// Returns how many letters some bytes begin with.
#[inline]
pub(super) fn leading_letters(bytes: &[u8; 16]) -> usize {
    vectors::leading_letters(bytes)
}

/// Tells whether a text has a byte or two neighbours that browsers seldom have:
/// `+`, `@`, `<`, `{` behind anything, `..`, `:/` and few others.
///
/// Two neighbours are compared but for the bits in which `.` and `:`, and `.`
/// and `/`, differ.
#[inline]
pub(super) fn has_signs(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else {
        return has_signs_of_few(text);
    };
    let mut found = vectors::signs(last);
    let mut rest = text;
    while let Some(pairs) = rest.first_chunk() {
        found = vectors::either(found, vectors::signs(pairs));
        rest = rest.get(PAIRS..).unwrap_or_default();
    }
    vectors::is_any(found)
}

fn has_signs_of_few(text: &[u8]) -> bool {
    let mut pairs = [0; PAIRS + 1];
    if let Some(own) = pairs.get_mut(..text.len()) {
        own.copy_from_slice(text);
    }
    vectors::is_any(vectors::signs(&pairs))
}

/// Every x86-64 processor looks at sixteen bytes at once.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use safe_arch::{
        add_i8_m128i as add, bitand_m128i as and, bitor_m128i as or, cmp_eq_mask_i8_m128i as eq,
        cmp_gt_mask_i8_m128i as gt, load_unaligned_m128i as load, m128i,
        move_mask_i8_m128i as mask, set_splat_i8_m128i as splat,
    };

    use super::{BLOCK, PAIRS};

    #[inline]
    pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
        let (quarters, _) = block.as_chunks();
        let quarters = quarters.iter().rev();
        quarters.fold(0, |all, quarter| all << 16 | letters_of(quarter))
    }

    #[inline]
    pub(super) fn leading_letters(bytes: &[u8; 16]) -> usize {
        letters_of(bytes).trailing_ones() as usize
    }

    #[inline]
    fn letters_of(quarter: &[u8; 16]) -> u64 {
        let small = or(load(quarter), each(0x20));
        // `z` becomes the greatest of all, as bytes have signs here.
        let shifted = add(small, each(0x7f - b'z'));
        bits(gt(shifted, each(0x7f - 26)))
    }

    #[inline]
    pub(super) fn signs(pairs: &[u8; PAIRS + 1]) -> m128i {
        let [first @ .., _] = pairs;
        let [_, next @ ..] = pairs;
        let (first, next) = (load(first), load(next));
        let is = |bytes, byte| eq(bytes, each(byte));
        let but = |bytes, bit: u8| and(bytes, each(!bit));
        let both = and(
            is(but(first, b'.' ^ b':'), b'.' & b':'),
            is(but(next, b'.' ^ b'/'), b'.' & b'/'),
        );
        let alone = or(is(first, b'+'), is(first, b'@'));
        or(or(alone, is(first, b'<')), or(is(next, b'{'), both))
    }

    #[inline]
    pub(super) fn either(a: m128i, b: m128i) -> m128i {
        or(a, b)
    }

    #[inline]
    pub(super) fn is_any(signs: m128i) -> bool {
        bits(signs) != 0
    }

    #[inline]
    fn each(byte: u8) -> m128i {
        splat(byte.cast_signed())
    }

    #[inline]
    fn bits(bytes: m128i) -> u64 {
        u64::from(mask(bytes).cast_unsigned())
    }
}

/// Written so that compilers find what their processors can do together.
#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    use super::{BLOCK, PAIRS};

    /// Bit of the eighth of a block that each of its bytes stands in.
    static EIGHTHS: [u8; BLOCK] = eighths();

    #[expect(clippy::indexing_slicing, reason = "checked when the program is built")]
    const fn eighths() -> [u8; BLOCK] {
        let mut bits = [1; BLOCK];
        let mut place = 0;
        while place < BLOCK {
            bits[place] <<= place / 8;
            place += 1;
        }
        bits
    }

    pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
        // First, bit by bit of each byte, those of another eighth of the block.
        let mut signs = [0; BLOCK];
        for ((sign, byte), eighth) in signs.iter_mut().zip(block).zip(&EIGHTHS) {
            *sign = u8::from(byte.is_ascii_alphabetic()).wrapping_neg() & eighth;
        }
        let (eighths, _) = signs.as_chunks();
        let eighths = eighths.iter().map(|eighth| u64::from_le_bytes(*eighth));
        transposed(eighths.fold(0, |all, eighth| all | eighth))
    }

    /// Returns bits of eight rows as if their columns were rows (Warren, Hacker's Delight, 7-3).
    fn transposed(rows: u64) -> u64 {
        let swap = |rows: u64, distance: u32, mask: u64| {
            let other = (rows ^ (rows >> distance)) & mask;
            rows ^ other ^ (other << distance)
        };
        let rows = swap(rows, 7, 0x00aa_00aa_00aa_00aa);
        let rows = swap(rows, 14, 0x0000_cccc_0000_cccc);
        swap(rows, 28, 0x0000_0000_f0f0_f0f0)
    }

    pub(super) fn leading_letters(bytes: &[u8; 16]) -> usize {
        let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic());
        letters.count()
    }

    pub(super) fn signs(pairs: &[u8; PAIRS + 1]) -> u8 {
        let [first @ .., _] = pairs;
        let [_, next @ ..] = pairs;
        let is = u8::from;
        let signs = first.iter().zip(next).map(|(&byte, &next)| {
            let alone = is(byte == b'+') | is(byte == b'@') | is(byte == b'<') | is(next == b'{');
            let first = byte & !(b'.' ^ b':') == b'.' & b':';
            alone | is(first) & is(next & !(b'.' ^ b'/') == b'.' & b'/')
        });
        signs.fold(0, either)
    }

    pub(super) fn either(a: u8, b: u8) -> u8 {
        a | b
    }

    pub(super) fn is_any(signs: u8) -> bool {
        signs != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_ascii_at_each_place() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'-'; BLOCK];
                block[place] = byte;
                let expected = u64::from(byte.is_ascii_alphabetic()) << place;
                assert_eq!(letters(&block), expected, "{byte} {place}");
                let mut bytes = [b'x'; 16];
                bytes[place % 16] = byte;
                let expected = if byte.is_ascii_alphabetic() {
                    16
                } else {
                    place % 16
                };
                assert_eq!(leading_letters(&bytes), expected, "{byte} {place}");
            }
        }
    }

    #[test]
    fn signs_are_found_at_each_place_of_texts_of_any_length() {
        for length in 2..3 * PAIRS {
            assert!(!has_signs(&vec![b'x'; length]));
            for place in 0..length - 1 {
                for (sign, expected) in [
                    (b"+x", true),
                    (b"@x", true),
                    (b"<x", true),
                    (b"x{", true),
                    (b"..", true),
                    (b":/", true),
                    (b"./", true),
                    (b"{x", place > 0),
                    (b"/x", false),
                    (b"x.", false),
                    (b": ", false),
                    (b". ", false),
                    (b"//", false),
                ] {
                    let mut text = vec![b'x'; length];
                    text[place..place + 2].copy_from_slice(sign);
                    let sign = sign.escape_ascii();
                    assert_eq!(has_signs(&text), expected, "{sign} {place} of {length}");
                }
            }
        }
    }
}
