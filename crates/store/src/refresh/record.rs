//! Records of refreshes, truncated to the limits of the history.

use super::{SourceSpec, Trigger};
use crate::fetch::shown_url;
use crate::store::{RefreshOutcome, RefreshRecord};

/// The maximum number of problem lines in a record.
const MAX_LINES: usize = 500;
/// The maximum length of a problem line in characters.
const MAX_LINE_CHARS: usize = 200;
/// The maximum length of a failure reason in characters.
const MAX_REASON_CHARS: usize = 500;

/// Creates the record of a refresh; the record is marked as failed until the refresh ends.
pub(super) fn begin(spec: &SourceSpec, trigger: Trigger, now_ms: i64) -> RefreshRecord {
    RefreshRecord {
        refresh_id: 0,
        source: spec.source.clone(),
        url: shown_url(&spec.url),
        trigger: trigger.as_str().to_owned(),
        started_ms: now_ms,
        finished_ms: now_ms,
        outcome: RefreshOutcome::Failed,
        error: String::new(),
        records: 0,
        added: 0,
        changed: 0,
        removed: 0,
        skipped: 0,
        quarantined: 0,
        unusable: 0,
        problems: Vec::new(),
        held_sha256: None,
    }
}

/// Converts the reason for a failure to the form in which it is stored and displayed.
pub(super) fn reason(text: &str) -> String {
    bounded(text, MAX_REASON_CHARS)
}

/// Returns the first lines. If there are more lines, the last returned line contains the number of
/// omitted lines.
pub(super) fn bounded_lines(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut left_out = 0_usize;
    for line in lines {
        if kept.len() < MAX_LINES - 1 {
            kept.push(bounded(&line, MAX_LINE_CHARS));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        kept.push(format!("and {left_out} more"));
    }
    kept
}

/// Replaces control characters and truncates the text to the given number of characters.
pub(super) fn bounded(text: &str, max_chars: usize) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut kept: String = chars.by_ref().take(max_chars).collect();
    if chars.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_in_number_and_length() {
        let lines = bounded_lines((0..600).map(|n| format!("{n}\n\u{1b}{}", "é".repeat(300))));
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[499], "and 101 more");
        assert_eq!(lines[0].chars().count(), MAX_LINE_CHARS);
        assert!(lines[0].starts_with("0  é") && lines[0].ends_with("é…"));
        assert_eq!(
            bounded_lines((0..3).map(|n| n.to_string())),
            ["0", "1", "2"]
        );
    }

    #[test]
    fn short_text_is_not_truncated() {
        assert_eq!(bounded("abc", 3), "abc");
        assert_eq!(bounded("abcd", 3), "ab…");
        assert_eq!(bounded("", 3), "");
    }
}
