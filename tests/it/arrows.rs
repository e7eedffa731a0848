//! Who may use whom: the rooms of the house and the arrows between them.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each room and the rooms that it may use, all of which stand above it.
const ROOMS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("config", &[]),
    ("telemetry", &[]),
    ("access_log", &[]),
    ("registry", &[]),
    ("robots_txt", &[]),
    ("description", &[]),
    ("document", &[]),
    ("fetch", &[]),
    ("ready_head", &[]),
    ("listen", &["ready_head"]),
    ("proxy", &["listen"]),
    ("detect", &["registry"]),
    ("policy", &["registry", "detect", "robots_txt"]),
    ("filter", &["description", "document"]),
    ("store", &["registry", "description", "detect"]),
    (
        "layer",
        &["clock", "registry", "ready_head", "detect", "policy"],
    ),
    ("verify", &["clock", "registry", "detect", "fetch", "store"]),
    (
        "refresh",
        &[
            "clock",
            "registry",
            "description",
            "detect",
            "fetch",
            "store",
        ],
    ),
    (
        "site_robot",
        &[
            "clock",
            "robots_txt",
            "filter",
            "description",
            "document",
            "fetch",
            "store",
        ],
    ),
    ("heaven", &["description", "robots_txt", "store"]),
    (
        "admin",
        &[
            "clock",
            "registry",
            "robots_txt",
            "description",
            "detect",
            "policy",
            "fetch",
            "store",
            "verify",
            "refresh",
            "site_robot",
            "heaven",
        ],
    ),
];

/// Those that put the rooms together.
const EVERYTHING: &[&str] = &["app", "cli", "main", "lib"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns every Rust file below `src` with its room.
fn files(directory: &Path, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let inside = path.strip_prefix(source()).unwrap();
            let first = Path::new(inside.iter().next().unwrap());
            let room = first.file_stem().unwrap().to_str().unwrap().to_owned();
            found.push((room, path));
        }
    }
}

fn all_files() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    files(&source(), &mut found);
    found.sort();
    assert!(found.len() > 10, "where is the source?");
    found
}

/// Returns line and room of each `crate::room` outside of comments; the room is empty in `crate::{`.
fn arrows(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        let mut before = None;
        for part in code.split("crate::") {
            if let Some(before) = before
                && !matches!(before, Some('$' | '_' | 'a'..='z' | '0'..='9'))
            {
                let is_name = |c: &char| c.is_ascii_lowercase() || *c == '_' || c.is_ascii_digit();
                found.push((at + 1, part.chars().take_while(is_name).collect()));
            }
            before = Some(part.chars().next_back());
        }
    }
    found
}

/// Returns what is wrong with a file of a room.
fn wrongs(room: &str, text: &str) -> Vec<String> {
    let Some((_, uses)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return vec![format!("room `{room}` is not in the table")];
    };
    arrows(text)
        .into_iter()
        .filter_map(|(line, used)| {
            if used.is_empty() {
                Some(format!(
                    "{line}: `crate::` without a room; write one `use` a room"
                ))
            } else if used != room && !uses.contains(&used.as_str()) {
                Some(format!("{line}: `{room}` may not use `{used}`"))
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let mut found = Vec::new();
    for (room, path) in all_files() {
        if EVERYTHING.contains(&room.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(source()).unwrap().display();
        found.extend(
            wrongs(&room, &text)
                .into_iter()
                .map(|wrong| format!("src/{path}:{wrong}")),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn imports_name_one_room_each() {
    let mut found = Vec::new();
    for (_, path) in all_files() {
        let text = fs::read_to_string(&path).unwrap();
        for (at, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("use crate::{") {
                found.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn arrows_lead_up() {
    for (at, (room, uses)) in ROOMS.iter().enumerate() {
        for used in *uses {
            let above = ROOMS.iter().position(|(name, _)| name == used).unwrap();
            assert!(above < at, "`{room}` uses `{used}`, which is not above it");
        }
    }
}

#[test]
fn every_module_of_the_library_is_a_room() {
    let library = fs::read_to_string(source().join("lib.rs")).unwrap();
    let modules: Vec<_> = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    assert!(modules.contains(&"registry"));
    for module in modules {
        let is_room = ROOMS.iter().any(|(room, _)| *room == module);
        assert!(is_room || EVERYTHING.contains(&module), "{module}");
    }
}

#[test]
fn wrong_arrow_is_found() {
    let wrong = |room, text| wrongs(room, text).join("; ");
    assert_eq!(wrong("detect", "use crate::registry::Robot;"), "");
    assert_eq!(wrong("detect", "use crate::detect::Claim;"), "");
    assert_eq!(wrong("detect", "//! [`Store`](crate::store::Store)"), "");
    assert_eq!(
        wrong("detect", "macro! { $crate::store::x(subcrate::store) }"),
        ""
    );
    assert!(wrong("detect", "use crate::policy;").contains("may not use `policy`"));
    assert!(wrong("proxy", "\n    x(crate::detect::y)").starts_with("2: `proxy` may not"));
    assert!(wrong("policy", "x(crate::detect::y, crate::store::z)").contains("`store`"));
    assert!(wrong("policy", "use crate::{detect::Claim};").contains("without a room"));
    assert!(wrong("policy", "use crate::*;").contains("without a room"));
    assert!(wrong("attic", "").contains("not in the table"));
}
