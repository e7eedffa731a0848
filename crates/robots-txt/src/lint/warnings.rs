//! The warnings about a file, up to a limit.

use super::{Warning, WarningKind};

/// Warnings that are returned at most, the one that counts the others aside.
// A file of 500 KiB has room for more than a hundred thousand.
pub(super) const MAX_WARNINGS: usize = 200;

/// Octets of a value that a warning quotes.
const MAX_QUOTED: usize = 60;

/// Collector of warnings.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    warnings: Vec<Warning>,
    left_out: usize,
}

impl Warnings {
    pub(super) fn add(&mut self, line: usize, kind: WarningKind, text: impl FnOnce() -> String) {
        if self.warnings.len() < MAX_WARNINGS {
            let text = text();
            self.warnings.push(Warning { line, kind, text });
        } else {
            self.left_out += 1;
        }
    }

    /// Returns them by line, and at the end how many were left out.
    pub(super) fn finish(self) -> Vec<Warning> {
        let mut warnings = self.warnings;
        // The sort is stable: warnings of one line stay in the order of the pass.
        warnings.sort_by_key(|warning| warning.line);
        if self.left_out > 0 {
            let line = warnings.last().map_or(1, |warning| warning.line);
            warnings.push(Warning {
                line,
                kind: WarningKind::More,
                text: format!(
                    "{} more warnings are left out; put these right first",
                    self.left_out
                ),
            });
        }
        warnings
    }
}

/// Returns a value in quotation marks, escaped and cut.
pub(super) fn quote(value: &[u8]) -> String {
    let cut = value.get(..MAX_QUOTED).unwrap_or(value);
    // Escaped, a value from somebody else's file moves no cursor and forges no line of a log.
    let mut quoted = format!("{:?}", String::from_utf8_lossy(cut));
    if cut.len() < value.len() {
        quoted.push('…');
    }
    quoted
}
