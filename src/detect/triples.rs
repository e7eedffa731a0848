//! Three bytes in a row as one number: which of them are looked for is told by a bit each.

/// Bytes in a row.
pub(super) const TRIPLE: usize = 3;

/// Bits that tell letters from each other, whatever their case.
const LETTER_BITS: usize = 5;

/// Numbers that there are.
const CODES: usize = 1 << (TRIPLE * LETTER_BITS);

/// Numbers that are neighbours, and share a word of memory.
pub(super) const GROUP: usize = 64;

/// How many of these there are.
pub(super) const GROUPS: usize = CODES / GROUP;

/// Which bytes in a row are looked for, in the processor's nearest cache.
#[derive(Debug)]
pub(super) struct Filter(Box<[u64; GROUPS]>);

impl Filter {
    /// Creates that of numbers.
    pub(super) fn new(codes: impl IntoIterator<Item = usize>) -> Self {
        let mut filter = Box::new([0; GROUPS]);
        for code in codes {
            if let Some(bits) = filter.get_mut(code / GROUP) {
                *bits |= 1_u64 << (code % GROUP);
            }
        }
        Self(filter)
    }

    /// Tells whether a number is looked for.
    #[inline]
    pub(super) fn has(&self, code: usize) -> bool {
        let bits = self.0.get(code / GROUP);
        bits.is_some_and(|bits| bits >> (code % GROUP) & 1 != 0)
    }

    /// Returns the memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// Returns the number of the first bytes in a row.
pub(super) fn code(bytes: &[u8]) -> usize {
    bytes.iter().copied().take(TRIPLE).fold(0, then)
}

/// Returns the number of bytes in a row, by that of those one place before.
#[inline]
pub(super) fn then(code: usize, byte: u8) -> usize {
    let letter = usize::from(byte) % (1 << LETTER_BITS);
    (code << LETTER_BITS | letter) % CODES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_three_bytes() {
        for text in [b"abcd", b"A/.d", b"\xff\x00zz"] {
            let of_last = |start: usize| text[start..].iter().copied().fold(0, then);
            assert_eq!(of_last(0), of_last(1));
            assert_eq!(code(&text[1..]), of_last(1));
        }
    }

    #[test]
    fn only_what_was_put_in_is_looked_for() {
        let filter = Filter::new([0, 5, CODES - 1]);
        let found: Vec<usize> = (0..CODES).filter(|code| filter.has(*code)).collect();
        assert_eq!(found, [0, 5, CODES - 1]);
    }
}
