//! Tests named in the documents exist.

use std::{fs, path::Path};

use super::page::{pages, readme, root};

/// Number of lines that a newcomer reads in five minutes.
const MAX_LINES_OF_README: usize = 120;

/// Returns the text of every Rust file of tests and sources.
fn sources() -> String {
    let mut directories: Vec<_> = ["tests", "src", "crates"]
        .map(|name| root().join(name))
        .into();
    let mut text = String::new();
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(directory).into_iter().flatten();
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension() == Some("rs".as_ref()) {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

#[test]
fn named_tests_exist() {
    let sources = sources();
    let is_there = |name: &str| {
        let name = name.rsplit("::").next().unwrap_or(name);
        sources.contains(&format!("fn {name}("))
    };
    for page in pages() {
        for block in page.blocks() {
            let test = block.note("run by: ");
            assert!(test.is_none_or(is_there), "{}: {test:?}", page.name());
        }
        if page.path == Path::new("SECURITY.md") {
            // Only test names have three or more words; names of other items are shorter.
            let spans = page.code_spans();
            let mut names = spans.iter().filter(|span| {
                let is_name = |letter| matches!(letter, b'a'..=b'z' | b'_' | b'0'..=b'9');
                span.bytes().all(is_name) && span.matches('_').count() > 1
            });
            assert!(names.clone().count() > 30, "{spans:?}");
            let missing =
                names.find(|name| !is_there(name) && *name != "admin_router_without_login");
            assert_eq!(missing, None);
        }
    }
}

#[test]
fn commands_that_are_not_run_have_a_reason() {
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            let why = block.note("not run: ").or(block.note("run by: "));
            let is_said = why.is_none_or(|why| !why.is_empty());
            assert!(is_said, "{}:{}", page.name(), block.line);
        }
    }
}

#[test]
fn the_readme_takes_five_minutes_to_read() {
    let readme = readme();
    let lines = readme.text.lines().count();
    assert!(lines <= MAX_LINES_OF_README, "{lines} lines");
}

#[test]
fn the_readme_explains_how_to_run_the_tests() {
    let spans = readme().code_spans();
    assert!(spans.iter().any(|span| span == "tests/run"));
}

#[test]
fn examples_in_rust_are_run_as_tests() {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for page in pages() {
        let is_rust = |language: &str| language == "rust" || language.starts_with("rust,");
        if page.blocks().iter().any(|block| is_rust(&block.language)) {
            let included = format!("include_str!(\"../{}\")", page.name());
            assert!(library.contains(&included), "src/lib.rs needs {included}");
        }
    }
}
