//! Path of one request, on its stack.

use crate::policy::with_normal_path;
use crate::store::{MAX_PATH_BYTES, path_pattern, path_text};

/// First bytes of a request's path, without an allocation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PathNote {
    bytes: [u8; MAX_PATH_BYTES],
    len: u8,
    is_cut: bool,
}

impl PathNote {
    /// Creates the note of a path as a request names it.
    #[inline]
    pub(crate) fn new(path: &str) -> Self {
        let path = path.as_bytes();
        let (kept, is_cut) = match path.get(..MAX_PATH_BYTES) {
            Some(first) => (first, path.len() > MAX_PATH_BYTES),
            None => (path, false),
        };
        Self::of(kept, is_cut)
    }

    #[inline]
    fn of(kept: &[u8], is_cut: bool) -> Self {
        let mut bytes = [0; MAX_PATH_BYTES];
        if let Some(room) = bytes.get_mut(..kept.len()) {
            room.copy_from_slice(kept);
        }
        Self {
            bytes,
            len: u8::try_from(kept.len()).unwrap_or_default(),
            is_cut,
        }
    }

    /// Creates a note of what was read from a slot.
    pub(super) fn read(bytes: [u8; MAX_PATH_BYTES], len: u8, is_cut: bool) -> Self {
        Self { bytes, len, is_cut }
    }

    /// Returns the note of the pattern, in which nothing of a person is left.
    #[inline]
    pub(in crate::traffic) fn pattern(&self) -> Self {
        if let Some(length) = self.plain_length() {
            return self.shortened(length);
        }
        self.judged_pattern()
    }

    /// Returns the words of the bytes, and how many are in use.
    #[inline]
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        let (words, _) = self.bytes.as_chunks::<8>();
        let used = usize::from(self.len).div_ceil(8);
        words
            .iter()
            .take(used)
            .map(|word| u64::from_le_bytes(*word))
    }

    pub(super) fn len(&self) -> u8 {
        self.len
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns what is kept: of a person the pattern.
    #[cfg(feature = "server")]
    pub(crate) fn kept_text(&self, is_person: bool) -> String {
        if is_person {
            self.pattern().pattern_text().to_owned()
        } else {
            self.path_text()
        }
    }

    /// Returns the text of a pattern.
    pub(in crate::traffic) fn pattern_text(&self) -> &str {
        std::str::from_utf8(self.kept()).unwrap_or_default()
    }

    /// Returns the path as it is kept of robots, or its pattern where it is too long.
    pub(in crate::traffic) fn path_text(&self) -> String {
        let kept = std::str::from_utf8(self.kept()).unwrap_or_default();
        with_normal_path(kept, |normal| path_text(normal, self.is_cut))
    }

    /// Returns the bytes up to the last whole segment.
    fn kept(&self) -> &[u8] {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        if !self.is_cut {
            return bytes;
        }
        let slash = bytes.iter().rposition(|byte| *byte == b'/');
        bytes
            .get(..slash.map_or(0, |slash| slash + 1))
            .unwrap_or_default()
    }

    /// Returns where the pattern ends of a path of plain words: the third slash, or the end.
    ///
    /// Eight bytes at a time, as it is asked of every person's request. `None` where anything is
    /// not a lower-case letter, a hyphen, a dot or a slash, and where a segment is long or empty.
    #[inline]
    fn plain_length(&self) -> Option<usize> {
        let length = usize::from(self.len);
        let (mut slashes, mut begun, mut slash_before) = (0, 0, 0);
        for (at, word) in (0..).step_by(8).zip(self.words()) {
            let inside = HIGH >> (8 * 8_usize.saturating_sub(length - at));
            let mut found = equal(word, b'/');
            // A slash or a dot right behind a slash is rewritten: a dot differs by the lowest bit.
            let behind = equal(word | EACH, b'/') & (found << 8 | slash_before);
            if !plain(word) & inside | behind != 0 {
                return None;
            }
            slash_before = found >> 56;
            while found != 0 {
                let slash = at + found.trailing_zeros() as usize / 8;
                if slash - begun > MAX_PLAIN {
                    return None;
                }
                begun = slash;
                slashes += 1;
                if slashes == 3 {
                    return Some(slash);
                }
                found &= found - 1;
            }
        }
        let is_plain = slashes > 0 && !self.is_cut && length - begun <= MAX_PLAIN;
        is_plain.then_some(length)
    }

    /// Returns the note of the first bytes, with a sign that more follow.
    #[inline]
    fn shortened(&self, length: usize) -> Self {
        let mut short = Self {
            is_cut: false,
            ..*self
        };
        let was = usize::from(self.len);
        if length < was {
            // The slash stays, and what is behind it goes; a slash at the end is a path itself.
            let is_longer = was > length + 1;
            if let Some(rest) = short.bytes.get_mut(length + 1..) {
                rest.fill(0);
                if let Some(star) = rest.first_mut().filter(|_| is_longer) {
                    *star = b'*';
                }
            }
            short.len = u8::try_from(length + 1 + usize::from(is_longer)).unwrap_or_default();
        }
        short
    }

    #[cold]
    fn judged_pattern(&self) -> Self {
        let kept = std::str::from_utf8(self.kept()).unwrap_or_default();
        let pattern = with_normal_path(kept, |normal| path_pattern(normal, self.is_cut));
        Self::of(pattern.as_bytes(), false)
    }
}

/// Longest segment that is plain without another look.
const MAX_PLAIN: usize = 15;

/// The lowest bit of each of eight bytes.
const EACH: u64 = u64::from_le_bytes([1; 8]);

/// The highest bit of each of eight bytes.
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// Sets the highest bit of each byte that is a lower-case letter, a hyphen, a dot or a slash.
#[inline]
fn plain(word: u64) -> u64 {
    // None carries into the next byte: the highest bits are masked before.
    let low = word & !HIGH;
    let from = |byte: u8| low + u64::from_le_bytes([0x80 - byte; 8]);
    (from(b'a') & !from(b'z' + 1) | from(b'-') & !from(b'/' + 1)) & !word & HIGH
}

/// Sets the highest bit of each byte that is `byte`, of ASCII.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    let differs = (word ^ u64::from_le_bytes([byte; 8])) & !HIGH;
    !(differs + !HIGH) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(path: &str) -> String {
        PathNote::new(path).pattern().pattern_text().to_owned()
    }

    #[test]
    fn a_note_has_the_path_or_what_is_sure_of_it() {
        for (path, expected) in [
            ("/", "/"),
            ("*", "*"),
            ("/a/../b//c?q=secret", "/b/c"),
            ("/M%C3%BCnchen/*", "/M\u{fc}nchen/%2A"),
            (
                &format!("/{}", "a".repeat(119)),
                &format!("/{}", "a".repeat(119)),
            ),
            (&format!("/{}", "a".repeat(120)), "/*"),
            (&format!("/a/b/{}", "c".repeat(120)), "/a/b/*"),
            (&format!("/a/{}", "%41".repeat(40)), "/a/*"),
        ] {
            assert_eq!(PathNote::new(path).path_text(), expected, "{path}");
        }
    }

    #[test]
    fn the_pattern_of_a_person_s_path_is_made_at_once() {
        for (path, expected) in [
            ("/", "/"),
            ("/assets/app.js", "/assets/app.js"),
            ("/a/b/", "/a/b/"),
            ("/a/b/c", "/a/b/*"),
            ("/order/12345", "/order/*"),
            ("/.well-known/security.txt", "/.well-known/security.txt"),
            ("/a/../b", "/b"),
            ("/mail/jo%40example.org", "/mail/*"),
            (&format!("/{}", "a".repeat(300)), "/*"),
            (&format!("/a/b/{}", "c".repeat(300)), "/a/b/*"),
        ] {
            assert_eq!(pattern(path), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn patterns_are_the_same_whichever_way_they_are_made(
            path in "(/[a-z.%@A-Z0-9é-]{0,18}){0,6}",
        ) {
            // Behind two segments nobody looks.
            prop_assume!(!path.split('/').skip(3).any(|segment| segment.starts_with('.') || segment.is_empty()));
            let expected = with_normal_path(&path, |normal| path_pattern(normal, false));
            prop_assume!(path.len() <= MAX_PATH_BYTES);
            prop_assert_eq!(pattern(&path), expected);
        }

        #[test]
        fn any_path_has_a_short_pattern(path in "\\PC{0,300}") {
            let pattern = pattern(&path);
            prop_assert!(pattern.len() <= MAX_PATH_BYTES && !pattern.is_empty());
            prop_assert_eq!(path_pattern(pattern.as_bytes(), false), pattern);
        }
    }
}
