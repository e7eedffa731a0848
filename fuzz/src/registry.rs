//! Every registry parser and the parser of User-Agents, on the same bytes.
//!
//! `cargo +nightly fuzz run registry fuzz/corpus tests/data/registry`: new inputs are written to
//! the first directory; the second provides initial inputs.

use std::collections::HashSet;

use robot_detection::{
    detect::parts,
    registry::{Format, Source, missing_last_fields, parse, write_flat_file},
};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let mut end = 0;
    for part in parts(bytes) {
        assert!(end <= part.range.start && part.range.start < part.range.end);
        end = part.range.end;
    }
    assert!(end <= bytes.len());
    for &format in Format::ALL {
        let _ = missing_last_fields(format, bytes);
        let source = Source::bundled();
        let Ok(parsed) = parse(format, bytes, &source) else {
            continue;
        };
        let mut ids = HashSet::new();
        for robot in &parsed.robots {
            assert!(ids.insert(&robot.id), "{} twice", robot.id);
            assert!(
                robot
                    .patterns
                    .iter()
                    .all(|pattern| !pattern.text.is_empty())
            );
        }
        if format == Format::WebRobotsDb && !parsed.robots.is_empty() {
            let written = write_flat_file(&parsed.robots);
            let again =
                parse(format, written.as_bytes(), &source).expect("the output can be parsed");
            assert_eq!(again.robots, parsed.robots, "{written}");
        }
    }
}
