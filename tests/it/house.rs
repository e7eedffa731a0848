//! Limits of the source's size: lines of each crate, small files, and import cycles between files;
//! and the single helper by which tests wait.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Maximum lines of code of each crate.
const LINES: &[(&str, usize)] = &[
    ("crates/check", 3_000),
    ("crates/console", 13_000),
    ("crates/fleets", 2_000),
    ("crates/http", 14_000),
    ("crates/layer", 21_000),
    ("crates/operations", 7_000),
    ("crates/robots-txt", 8_500),
    ("crates/site-robot", 24_000),
    ("crates/store", 25_000),
    ("crates/texts", 200),
    ("crates/traffic", 7_000),
    (".", 30_000),
];

/// Maximum number of files in an import cycle.
const RING: usize = 8;

/// Maximum number of files with fewer than 40 lines of code.
const SMALL_FILES: usize = 30;

/// Crates that applications use; their documented items are limited.
const PUBLIC: [&str; 4] = ["crates/robots-txt", "crates/fleets", "crates/layer", "."];
const ITEMS: usize = 150;

/// Module path of a file, such as `["policy", "rule"]`.
type Module = Vec<String>;

struct Source {
    path: PathBuf,
    text: String,
    is_test: bool,
}

fn sources(of_crate: &str) -> BTreeMap<Module, Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(of_crate)
        .join("src");
    let mut found = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(&root).unwrap().with_extension("");
                let mut module: Module = inside
                    .iter()
                    .map(|part| part.to_str().unwrap().to_owned())
                    .collect();
                let is_test = module.iter().any(|part| part == "tests");
                if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
                    module.pop();
                }
                let text = fs::read_to_string(&path).unwrap();
                let source = Source {
                    path,
                    text,
                    is_test,
                };
                found.insert(module, source);
            }
        }
    }
    assert!(!found.is_empty(), "found no source files");
    found
}

/// Returns the lines except blank lines, comments and tests.
fn code(source: &Source) -> Vec<&str> {
    if source.is_test {
        return Vec::new();
    }
    let text = source
        .text
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .collect()
}

/// Returns the paths named by a tree of imports: `a::{b, c::d}` names `a::b` and `a::c::d`.
fn names(tree: &str, prefix: &[String], found: &mut Vec<Module>) {
    let tree = tree.trim();
    if let Some(inside) = tree
        .strip_prefix('{')
        .and_then(|tree| tree.strip_suffix('}'))
    {
        let (mut depth, mut from) = (0, 0);
        for (at, sign) in inside.char_indices().chain([(inside.len(), ',')]) {
            match sign {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let part = inside.get(from..at).unwrap_or_default();
                    if !part.trim().is_empty() {
                        names(part, prefix, found);
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (first, rest) = tree.split_once("::").unwrap_or((tree, ""));
    let first = first.split(" as ").next().unwrap_or_default();
    let mut path = prefix.to_vec();
    path.push(first.trim().to_owned());
    if rest.is_empty() {
        found.push(path);
    } else {
        names(rest, &path, found);
    }
}

/// Returns the paths inside the crate that a module imports.
fn imports(module: &Module, source: &Source) -> Vec<Module> {
    let code = code(source).join(" ");
    let mut found = Vec::new();
    for statement in code.split(';') {
        let Some((_, tree)) = statement.rsplit_once("use ") else {
            continue;
        };
        names(tree, &[], &mut found);
    }
    let inside = found.into_iter().filter_map(|path| {
        let mut base = module.clone();
        let mut rest = path.iter().peekable();
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest.next();
            }
            "self" => drop(rest.next()),
            "super" => {
                while rest.peek().is_some_and(|part| *part == "super") {
                    base.pop();
                    rest.next();
                }
            }
            // A re-export names a child of the module itself.
            _ if is_list(source) => {}
            _ => return None,
        }
        base.extend(rest.cloned());
        Some(base)
    });
    inside.collect()
}

fn is_list(source: &Source) -> bool {
    let name = source.path.file_name().unwrap();
    name == "mod.rs" || name == "lib.rs"
}

/// Returns the files that each file of a crate imports, resolving re-exports.
fn arrows(sources: &BTreeMap<Module, Source>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let mut handed_on: BTreeMap<Module, Module> = BTreeMap::new();
    for (module, source) in sources.iter().filter(|(_, source)| is_list(source)) {
        for path in imports(module, source) {
            if path.len() > module.len() + 1 && path.starts_with(module) {
                let mut name = module.clone();
                name.push(path.last().unwrap().clone());
                handed_on.insert(name, path);
            }
        }
    }
    let mut arrows: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, source) in sources.iter().filter(|(_, source)| !source.is_test) {
        let uses = arrows.entry(module).or_default();
        for mut path in imports(module, source) {
            while let Some(further) = handed_on.get(&path) {
                path.clone_from(further);
            }
            while !path.is_empty() && !sources.contains_key(&path) {
                path.pop();
            }
            let Some((used, source)) = sources.get_key_value(&path) else {
                continue;
            };
            if used != module && !is_list(source) {
                uses.insert(used);
            }
        }
    }
    arrows
}

/// Returns the files that a file imports, directly or indirectly.
fn reached<'m>(
    from: &'m Module,
    arrows: &BTreeMap<&'m Module, BTreeSet<&'m Module>>,
) -> BTreeSet<&'m Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in arrows.get(module).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

#[test]
fn no_crate_exceeds_its_size_limit() {
    let mut small = Vec::new();
    for (of_crate, ceiling) in LINES {
        let sources = sources(of_crate);
        let lines: usize = sources.values().map(|source| code(source).len()).sum();
        assert!(lines <= *ceiling, "{of_crate}: {lines} lines of code");
        let files = sources.values().filter(|source| !source.is_test);
        let files = files.filter(|source| {
            !is_list(source) && !source.path.ends_with("main.rs") && code(source).len() < 40
        });
        small.extend(files.map(|source| source.path.display().to_string()));
    }
    assert!(small.len() <= SMALL_FILES, "{}", small.join("\n"));
}

#[test]
fn no_import_cycle_has_more_than_eight_files() {
    for (of_crate, _) in LINES {
        let sources = sources(of_crate);
        let arrows = arrows(&sources);
        let reached: BTreeMap<_, _> = arrows
            .keys()
            .map(|module| (*module, reached(module, &arrows)))
            .collect();
        for (module, own) in &reached {
            let ring: Vec<_> = own
                .iter()
                .filter(|other| {
                    reached
                        .get(*other)
                        .is_some_and(|back| back.contains(module))
                })
                .map(|other| other.join("/"))
                .collect();
            assert!(ring.len() <= RING, "{of_crate}: {}", ring.join(", "));
        }
    }
}

/// Collects the documented items of a module and of its public modules.
fn items(module: &Module, sources: &BTreeMap<Module, Source>, found: &mut Vec<String>) {
    let source = &sources[module];
    let code = code(source).join("\n");
    for statement in code.split(';') {
        let lines: Vec<_> = statement.lines().collect();
        let begins = |line: &&str| line.starts_with("pub use ") || line.starts_with("pub mod ");
        let Some(at) = lines.iter().position(begins) else {
            continue;
        };
        let is_attribute = |line: &&&str| line.starts_with("#[");
        let mut attributes = lines[..at].iter().rev().take_while(is_attribute);
        if attributes.any(|line| line.contains("hidden") || line.contains("no_inline")) {
            continue;
        }
        let item = lines[at..].join(" ");
        if let Some(tree) = item.strip_prefix("pub use ") {
            let mut paths = Vec::new();
            names(tree, &[], &mut paths);
            found.extend(paths.into_iter().filter_map(|mut path| path.pop()));
        } else if let Some(inner) = item.strip_prefix("pub mod ") {
            let mut path = module.clone();
            path.push(inner.to_owned());
            items(&path, sources, found);
        }
    }
    if !is_list(source) {
        let is_item = |line: &&str| line.starts_with("pub ") && !line.contains(" use ");
        found.extend(code.lines().filter(is_item).map(str::to_owned));
    }
}

#[test]
fn the_public_interface_is_small() {
    let mut found = Vec::new();
    for of_crate in PUBLIC {
        items(&Module::new(), &sources(of_crate), &mut found);
    }
    assert!(found.len() > 50, "found no items");
    assert!(
        found.len() <= ITEMS,
        "{}: {}",
        found.len(),
        found.join(", ")
    );
    let internal = LINES.iter().filter(|(name, _)| !PUBLIC.contains(name));
    for (of_crate, _) in internal {
        let library = &sources(of_crate)[&Module::new()].text;
        assert!(library.starts_with("//! Internal crate"), "{of_crate}");
    }
}

#[test]
fn tests_wait_with_a_single_helper() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let helper = root.join("support/eventually.rs");
    let own = [concat!("sleep", "("), concat!("fn ", "eventually")];
    let has = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        own.map(|word| text.contains(word))
    };
    assert_eq!(has(&helper), [true, true], "the helper does not wait");
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path != helper {
                let waits = "wait with `eventually` of tests/it/support/eventually.rs";
                assert_eq!(has(&path), [false, false], "{}: {waits}", path.display());
            }
        }
    }
}
