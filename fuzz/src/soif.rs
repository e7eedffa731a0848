//! SOIF objects and JSON lines, on the same bytes.
//!
//! `cargo +nightly fuzz run soif fuzz/corpus`: new inputs are written to the directory.

use robot_detection::description::{
    JsonLinesReader, ResourceDescription, SoifReader, write_json_line, write_soif,
};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let objects = SoifReader::new(bytes).flatten();
    let lines = JsonLinesReader::new(bytes).flatten();
    for description in objects.chain(lines) {
        // A URL in SOIF ends with its line, and blanks around the URL are ignored.
        let is_plain = |c: char| !c.is_ascii_control() && !c.is_whitespace();
        let url = description.url();
        if url.is_empty() || url.len() > 8_000 || !url.chars().all(is_plain) {
            continue;
        }
        let mut soif = Vec::new();
        write_soif(&description, &mut soif).expect("writing to memory cannot fail");
        let again: Vec<ResourceDescription> = SoifReader::new(&soif[..]).flatten().collect();
        assert_eq!(again, std::slice::from_ref(&description));
        if description.value("url").is_none() {
            let mut lines = Vec::new();
            write_json_line(&description, &mut lines).expect("writing to memory cannot fail");
            let again: Vec<ResourceDescription> =
                JsonLinesReader::new(&lines[..]).flatten().collect();
            assert_eq!(again, [description]);
        }
    }
}
