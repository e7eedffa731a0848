//! Text of a registry inside of other texts.

use crate::registry::text::{cut, tidy};

/// Bytes of the longest text.
const MAX_BYTES: usize = 2048;

/// Returns text on one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    cut(&tidy(text), MAX_BYTES).trim_end().to_owned()
}

/// Returns an id in which only letters, digits, `.`, `_`, `:` and `-` are left.
///
/// Ids of registries have no others; those added by hand may.
pub(super) fn plain_id(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._:-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}
