//! Request paths that are stored without allocating memory.

use robot_detection_layer::policy::with_normal_path;
use robot_detection_store::store::{MAX_PATH_BYTES, path_pattern, stored_path};

/// The first bytes of a request's path, stored without allocating memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ShortPath {
    bytes: [u8; MAX_PATH_BYTES],
    len: u8,
    is_cut: bool,
}

impl ShortPath {
    /// Copies the path of a request, and truncates the copy to the maximum length.
    pub fn new(path: &str) -> Self {
        let (kept, is_cut) = first_bytes(path);
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

    /// Creates a path from the content of a slot.
    pub(super) fn read(bytes: [u8; MAX_PATH_BYTES], len: u8, is_cut: bool) -> Self {
        Self { bytes, len, is_cut }
    }

    /// Returns the text to store: the path or, for people, the pattern of the path.
    pub fn kept_text(&self, is_person: bool) -> String {
        let kept = std::str::from_utf8(self.kept()).unwrap_or_default();
        with_normal_path(kept, |normal| {
            if is_person {
                path_pattern(normal, self.is_cut)
            } else {
                stored_path(normal, self.is_cut)
            }
        })
    }

    /// Returns the bytes of the path up to its last complete segment.
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
}

/// Returns the bytes of a path that are stored, and whether the path was truncated.
#[inline]
pub(super) fn first_bytes(path: &str) -> (&[u8], bool) {
    let path = path.as_bytes();
    match path.get(..MAX_PATH_BYTES) {
        Some(first) => (first, path.len() > MAX_PATH_BYTES),
        None => (path, false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(path: &str) -> String {
        ShortPath::new(path).kept_text(true)
    }

    #[test]
    fn long_path_is_cut_at_a_segment() {
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
            assert_eq!(ShortPath::new(path).kept_text(false), expected, "{path}");
        }
    }

    #[test]
    fn path_of_a_person_is_reduced_to_its_pattern() {
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
        fn any_path_has_a_short_pattern(path in "\\PC{0,300}") {
            let pattern = pattern(&path);
            prop_assert!(pattern.len() <= MAX_PATH_BYTES && !pattern.is_empty());
            prop_assert_eq!(path_pattern(pattern.as_bytes(), false), pattern);
        }
    }
}
