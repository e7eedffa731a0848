//! Paths of fields in nested JSON objects.

use std::str::FromStr;

/// Maximum length of a path in bytes; the limit bounds how deeply objects are parsed.
const MAX_BYTES: usize = 256;

/// The path of a field in a JSON object: names joined by dots.
///
/// The ASCII letters of a name match regardless of case. A name may itself contain dots: `a.b`
/// matches both `{"a": {"b": 1}}` and `{"a.b": 1}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldPath(Box<[u8]>);

/// The error for a field path that is empty, too long, or contains an empty name.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a field path must consist of names joined by dots and have at most {MAX_BYTES} bytes")]
pub struct InvalidFieldPath;

impl FieldPath {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for FieldPath {
    type Err = InvalidFieldPath;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        let fits = path.len() <= MAX_BYTES && path.split('.').all(|name| !name.is_empty());
        fits.then(|| Self(path.as_bytes().into()))
            .ok_or(InvalidFieldPath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_paths_need_names_and_have_a_maximum_length() {
        for path in ["a", "a.b", "request.headers.User-Agent", "a b", "\u{e9}"] {
            assert!(path.parse::<FieldPath>().is_ok(), "{path}");
        }
        for path in ["", ".", "a.", ".a", "a..b", &"a".repeat(257)] {
            assert_eq!(path.parse::<FieldPath>(), Err(InvalidFieldPath), "{path}");
        }
    }
}
