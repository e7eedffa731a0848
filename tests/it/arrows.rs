//! Allowed dependencies between crates, and between the modules of a crate.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each crate, with the crates of this workspace that it may use.
const CRATES: &[(&str, &[&str])] = &[
    ("robots-txt", &[]),
    ("fleets", &[]),
    ("texts", &[]),
    ("http", &["texts"]),
    ("layer", &["robots-txt"]),
    ("store", &["layer", "robots-txt", "texts"]),
    ("site-robot", &["layer", "robots-txt", "store", "texts"]),
    (
        "traffic",
        &["fleets", "layer", "robots-txt", "site-robot", "store"],
    ),
    ("check", &["http", "layer", "store", "traffic"]),
    (
        "operations",
        &["layer", "robots-txt", "site-robot", "store", "traffic"],
    ),
    (
        "console",
        &[
            "fleets",
            "layer",
            "operations",
            "robots-txt",
            "site-robot",
            "store",
            "traffic",
        ],
    ),
];

/// Name of a module, and the modules that it may use.
type Room = (&'static str, &'static [&'static str]);

/// Modules of each crate with several modules, each with the modules above it that it may use. The
/// compiler enforces dependencies between crates; this table does inside each crate.
const ROOMS: &[(&str, &[Room])] = &[
    (
        "crates/layer",
        &[
            ("clock", &[]),
            ("words", &[]),
            ("registry", &["words"]),
            ("keys", &[]),
            ("detect", &["keys", "registry", "words"]),
            ("suspect", &["clock", "keys"]),
            ("policy", &["registry", "detect", "suspect", "words"]),
            (
                "layer",
                &["clock", "keys", "registry", "detect", "suspect", "policy"],
            ),
        ],
    ),
    ("crates/http", &[("listen", &[]), ("proxy", &["listen"])]),
    (
        "crates/store",
        &[
            ("description", &[]),
            ("fetch", &[]),
            ("store", &["description", "fetch"]),
            ("instances", &["store"]),
            ("pace", &["store"]),
            ("verify", &["fetch", "store"]),
            ("origins", &["fetch", "store", "verify"]),
            ("refresh", &["description", "fetch", "store"]),
            ("robots_file", &["fetch"]),
            ("confirmation", &["store"]),
        ],
    ),
    (
        "crates/site-robot",
        &[
            ("content_tree", &[]),
            ("document", &["content_tree"]),
            ("spelling", &[]),
            ("filter", &["document", "spelling"]),
            ("render", &[]),
            ("site_robot", &["filter", "document", "render", "spelling"]),
            ("heaven", &["document", "content_tree"]),
            ("licensing", &["document", "heaven"]),
        ],
    ),
    (
        "crates/traffic",
        &[
            ("access_log", &[]),
            ("canonical", &[]),
            ("summary", &[]),
            ("traps", &[]),
            ("slots", &[]),
            ("suspicion", &["slots", "traps"]),
            ("traffic", &["slots", "summary", "suspicion"]),
            (
                "log_report",
                &["access_log", "summary", "suspicion", "traffic"],
            ),
        ],
    ),
    ("crates/check", &[("probe", &[]), ("check", &["probe"])]),
    (
        ".",
        &[
            ("telemetry", &[]),
            (
                "config",
                &[
                    "access_log",
                    "alerts",
                    "detect",
                    "fetch",
                    "filter",
                    "licensing",
                    "listen",
                    "origins",
                    "policy",
                    "registry",
                    "site_robot",
                    "store",
                    "suspect",
                    "telemetry",
                    "verify",
                ],
            ),
            (
                "observe",
                &[
                    "access_log",
                    "clock",
                    "config",
                    "detect",
                    "layer",
                    "listen",
                    "probe",
                    "suspect",
                    "suspicion",
                    "telemetry",
                    "traffic",
                ],
            ),
            (
                "assembly",
                &[
                    "alerts",
                    "bans",
                    "check",
                    "clock",
                    "config",
                    "description",
                    "detect",
                    "fetch",
                    "filter",
                    "heaven",
                    "licensing",
                    "listen",
                    "origins",
                    "policy",
                    "proxy",
                    "refresh",
                    "registry",
                    "robots_file",
                    "site_robot",
                    "verify",
                ],
            ),
            (
                "site_robots",
                &[
                    "assembly",
                    "clock",
                    "config",
                    "document",
                    "filter",
                    "heaven",
                    "layer",
                    "listen",
                    "operations",
                    "render",
                    "site_robot",
                    "store",
                ],
            ),
        ],
    ),
];

/// Modules that combine all others.
const EVERYTHING: &[&str] = &["app", "cli", "main", "lib"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file of a crate with its module.
fn files(of_crate: &str) -> Vec<(String, PathBuf)> {
    let source = root().join(of_crate).join("src");
    let mut found = Vec::new();
    let mut directories = vec![source.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(&source).unwrap();
                let first = Path::new(inside.iter().next().unwrap());
                let room = first.file_stem().unwrap().to_str().unwrap().to_owned();
                found.push((room, path));
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "found no source files");
    found
}

/// Returns line and module of each `crate::module` outside comments; `crate::{` has no module name.
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

/// Returns the forbidden imports of a file.
fn wrongs(rooms: &[Room], room: &str, text: &str) -> Vec<String> {
    let Some((_, uses)) = rooms.iter().find(|(name, _)| *name == room) else {
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
fn modules_use_only_allowed_modules() {
    let mut found = Vec::new();
    for (of_crate, rooms) in ROOMS {
        for (room, path) in files(of_crate) {
            if EVERYTHING.contains(&room.as_str()) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let wrongs = wrongs(rooms, &room, &text).into_iter();
            found.extend(wrongs.map(|wrong| format!("{}:{wrong}", path.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn crates_use_only_allowed_crates() {
    for (name, uses) in CRATES {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let ours = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("robot-detection-"));
        let mut used: Vec<_> = ours
            .map(|line| line.split([' ', '.']).next().unwrap())
            .collect();
        used.sort_unstable();
        assert_eq!(used, *uses, "{name}");
    }
}

#[test]
fn each_import_names_one_module() {
    let mut found = Vec::new();
    for (of_crate, _) in ROOMS {
        for (_, path) in files(of_crate) {
            let text = fs::read_to_string(&path).unwrap();
            for (at, line) in text.lines().enumerate() {
                if line.trim_start().starts_with("use crate::{") {
                    found.push(format!("{}:{}", path.display(), at + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn modules_use_only_modules_above_them() {
    for (_, rooms) in ROOMS.iter().filter(|(of_crate, _)| *of_crate != ".") {
        for (at, (room, uses)) in rooms.iter().enumerate() {
            for used in *uses {
                let above = rooms.iter().position(|(name, _)| name == used).unwrap();
                assert!(above < at, "`{room}` uses `{used}`, which is not above it");
            }
        }
    }
}

#[test]
fn every_module_of_a_library_is_listed() {
    for (of_crate, rooms) in ROOMS {
        let library = root().join(of_crate).join("src/lib.rs");
        let library = fs::read_to_string(library).unwrap();
        let modules: Vec<_> = library
            .lines()
            .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
            .collect();
        assert!(modules.len() > 1, "{of_crate}");
        for module in modules {
            let is_room = rooms.iter().any(|(room, _)| *room == module);
            assert!(is_room || EVERYTHING.contains(&module), "{module}");
        }
    }
}

#[test]
fn a_forbidden_import_is_found() {
    let rooms: &[Room] = &[
        ("registry", &[]),
        ("detect", &["registry"]),
        ("policy", &["detect", "registry"]),
    ];
    let wrong = |room, text| wrongs(rooms, room, text).join("; ");
    assert_eq!(wrong("detect", "use crate::registry::Robot;"), "");
    assert_eq!(wrong("detect", "use crate::detect::Claim;"), "");
    assert_eq!(wrong("detect", "//! [`Policy`](crate::policy::Policy)"), "");
    assert_eq!(
        wrong("detect", "macro! { $crate::policy::x(subcrate::policy) }"),
        ""
    );
    assert!(wrong("detect", "use crate::policy;").contains("may not use `policy`"));
    assert!(wrong("registry", "\n    x(crate::detect::y)").starts_with("2: `registry` may not"));
    assert!(wrong("policy", "x(crate::detect::y, crate::layer::z)").contains("`layer`"));
    assert!(wrong("policy", "use crate::{detect::Claim};").contains("without a room"));
    assert!(wrong("policy", "use crate::*;").contains("without a room"));
    assert!(wrong("attic", "").contains("not in the table"));
}
