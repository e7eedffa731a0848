//! Site robot files: any text can be parsed, and the normal form is stable.
//!
//! `cargo +nightly fuzz run filter_conf fuzz/corpus tests/data/site_robot`: new inputs are written
//! to the first directory.

use robot_detection::filter::{
    ClassificationRules, FilterConf, FilterRules, Filters, Functions, MimeTypes, NoFiles, Note,
    has_error,
};
use robot_detection::site_robot::RobotConfFile;

/// Asserts that the normal form is unchanged and without repairs when parsed again.
fn settle(text: &str, normal: impl Fn(&str) -> (String, Vec<Note>)) {
    let (once, notes) = normal(text);
    if has_error(&notes) {
        return;
    }
    let (twice, notes) = normal(&once);
    assert!(notes.is_empty(), "{once:?}: {notes:?}");
    assert_eq!(once, twice);
}

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    settle(&text, |text| {
        let conf = FilterConf::parse(text);
        let notes = Filters::check(&conf, &Functions::new(), &NoFiles);
        assert!(
            notes
                .iter()
                .all(|note| note.line > 0 && note.text.len() < 8192)
        );
        (conf.to_string(), conf.notes().to_vec())
    });
    settle(&text, |text| {
        let rules = FilterRules::parse(text);
        (rules.to_string(), rules.notes().to_vec())
    });
    settle(&text, |text| {
        let rules = ClassificationRules::parse(text);
        (rules.to_string(), rules.notes().to_vec())
    });
    let file = RobotConfFile::parse(&text);
    if !has_error(file.notes()) {
        let again = RobotConfFile::parse(&file.to_string());
        assert_eq!(again.conf(), file.conf());
    }
    let _ = MimeTypes::parse(&text).for_name(&text);
}
