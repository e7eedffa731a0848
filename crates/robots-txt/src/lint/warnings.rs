//! A collector for a file's warnings, up to a limit.

use super::{Warning, WarningKind};

/// The maximum number of returned warnings, not counting the warning that reports how many were
/// omitted.
// A file of 500 KiB may cause more than a hundred thousand warnings.
pub(super) const MAX_WARNINGS: usize = 200;

/// The maximum number of octets of a value that are quoted in a warning.
const MAX_QUOTED: usize = 60;

/// A collector for a file's warnings.
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

    /// Returns the warnings sorted by line, followed by a warning that reports the number of
    /// omitted warnings.
    pub(super) fn finish(self) -> Vec<Warning> {
        let mut warnings = self.warnings;
        // The sort is stable: warnings about one line stay in the order of the pass.
        warnings.sort_by_key(|warning| warning.line);
        if self.left_out > 0 {
            let line = warnings.last().map_or(1, |warning| warning.line);
            warnings.push(Warning {
                line,
                kind: WarningKind::More,
                text: format!(
                    "{} more warnings are omitted; fix the others first",
                    self.left_out
                ),
            });
        }
        warnings
    }
}

/// Returns a value in quotation marks, escaped and truncated.
pub(super) fn quote(value: &[u8]) -> String {
    let cut = value.get(..MAX_QUOTED).unwrap_or(value);
    // Escape the untrusted value, so that it cannot move the cursor or forge log lines.
    let mut quoted = format!("{:?}", String::from_utf8_lossy(cut));
    if cut.len() < value.len() {
        quoted.push('…');
    }
    quoted
}
