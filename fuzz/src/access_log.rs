//! Every access log format, on the same bytes.
//!
//! `cargo +nightly fuzz run access_log fuzz/corpus tests/data/logs`: new inputs are written to the
//! first directory; the second provides initial inputs.

use robot_detection::access_log::{FieldPath, Lines, MAX_LINE_BYTES, Parser, open};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let json = Parser::json(FieldPath::usual_user_agents(), FieldPath::usual_bytes());
    for mut parser in [Parser::user_agents(), Parser::combined(), json] {
        let mut lines = Lines::new(open(bytes).expect("reading from memory cannot fail"));
        // Invalid gzip data ends with an error.
        while lines.read_more().unwrap_or(false) {
            while let Some(line) = lines.next_line() {
                assert!(line.len() <= MAX_LINE_BYTES);
                let user_agent = parser.read(line).and_then(|entry| entry.user_agent);
                assert!(user_agent.is_none_or(|it| (1..=line.len()).contains(&it.len())));
            }
        }
    }
}
