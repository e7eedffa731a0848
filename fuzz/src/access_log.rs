//! Every access log format, on the same bytes.
//!
//! `cargo +nightly fuzz run access_log fuzz/corpus tests/data/logs`: new inputs are written to the
//! first directory; the second provides initial inputs.

use robot_detection::access_log::{Lines, LogLine, LogReader, MAX_LINE_BYTES, open};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    for mut reader in [LogReader::user_agents(), LogReader::new()] {
        let mut lines = Lines::new(open(bytes).expect("reading from memory cannot fail"));
        // Invalid compressed data ends with an error.
        while lines.read_more().unwrap_or(false) {
            while let Some(line) = lines.next_line() {
                assert!(line.len() <= MAX_LINE_BYTES);
                if let LogLine::Request(record) = reader.read(line) {
                    let user_agent = record.user_agent;
                    assert!(user_agent.is_none_or(|it| (1..=line.len()).contains(&it.len())));
                }
            }
        }
    }
}
