//! Tests of `Setup` and `Shutdown` functions.

use super::*;

#[test]
fn filterrules_setup_reads_rules_and_log_type() {
    let bench =
        Bench::new("Setup fn=filterrules-setup config=./config/filterrules.conf logtype=normal");
    assert_eq!(bench.filter.log_type(), LogType::Normal);
    assert!(bench.filter.setup(&bench.around()).is_allowed());
    let bench =
        Bench::new("Setup fn=filterrules-setup config=./config/filterrules.conf logtype=terse");
    assert_eq!(bench.filter.log_type(), LogType::Terse);
}

#[test]
fn setup_regex_cache_accepts_a_size() {
    let bench = Bench::new("Setup fn=setup-regex-cache cache-size=28");
    assert!(!bench.filter.directives(Stage::Setup).is_empty());
    assert!(
        errors("Setup fn=setup-regex-cache cache-size=many")
            .contains("is not a non-negative integer")
    );
}

#[test]
fn setup_type_by_extension_reads_the_types() {
    let bench = Bench::new(&format!("{TYPES}\nMetaData fn=assign-type-by-extension"));
    let mut page = at("http://h.example/a/b.HTM?c=d.txt");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/html"));
}

#[test]
fn filterrules_shutdown_is_accepted() {
    let bench = Bench::new("Shutdown fn=filterrules-shutdown");
    assert!(!bench.filter.directives(Stage::Shutdown).is_empty());
    assert!(bench.filter.shutdown(&bench.around()).is_allowed());
}
