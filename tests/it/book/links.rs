//! Links in the documents resolve to existing pages, headings and files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use super::page::{Page, page_of_book, pages, pages_of_book, root};

/// Returns the targets of a page's links and pictures.
fn targets(page: &Page) -> Vec<String> {
    let prose: Vec<_> = page.prose().into_iter().map(|(_, line)| line).collect();
    let prose = prose.join("\n");
    // Text between backticks is code; a link's text may contain some.
    let without_code: String = prose.split('`').step_by(2).collect();
    let links = without_code.split("](").skip(1);
    links
        .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
        .collect()
}

/// Returns the ids that mdBook gives to the headings of a page.
fn ids(page: &Page) -> Vec<String> {
    let headings = page.prose().into_iter().filter_map(|(_, line)| {
        let (marks, heading) = line.split_once(' ')?;
        marks.chars().all(|mark| mark == '#').then_some(heading)
    });
    headings.map(id).collect()
}

fn id(heading: &str) -> String {
    let characters = heading.trim().chars().filter_map(|character| {
        if character.is_whitespace() {
            return Some('-');
        }
        let stays = character.is_alphanumeric() || matches!(character, '-' | '_');
        stays.then(|| character.to_ascii_lowercase())
    });
    characters.collect()
}

/// Returns the target path of a link on a page, relative to the top of the repository.
fn resolve(page: &Path, target: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => assert!(path.pop(), "{target} leaves the repository"),
            component => path.push(component),
        }
    }
    path
}

/// Returns the problem with a page's link, if any.
fn wrong(page: &Page, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        page.path.clone()
    } else {
        resolve(&page.path, file)
    };
    let is_of_book = |path: &Path| path.starts_with("docs/src");
    if !root().join(&path).exists() {
        return Some("is not there".to_owned());
    }
    if is_of_book(&page.path) && !is_of_book(&path) {
        return Some("is not in the book".to_owned());
    }
    if anchor.is_empty() {
        return None;
    }
    let text = fs::read_to_string(root().join(&path)).unwrap();
    let ids = ids(&Page { path, text });
    (!ids.iter().any(|id| id == anchor)).then(|| format!("has no such heading: {ids:?}"))
}

#[test]
fn links_resolve_to_existing_pages_and_headings() {
    let mut found = 0;
    let mut problems = Vec::new();
    for page in pages() {
        for target in targets(&page) {
            if !target.starts_with("https://") && !target.starts_with("http://") {
                found += 1;
                let wrong = wrong(&page, &target);
                problems.extend(wrong.map(|wrong| format!("{}: {target} {wrong}", page.name())));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(found > 50, "only {found} links found");
}

#[test]
fn headings_of_a_page_have_unique_ids() {
    for page in pages() {
        let mut seen = BTreeSet::new();
        let twice = ids(&page).into_iter().find(|id| !seen.insert(id.clone()));
        assert_eq!(twice, None, "{}", page.name());
    }
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = page_of_book("SUMMARY.md");
    let mut listed: Vec<_> = targets(&summary)
        .iter()
        .map(|target| resolve(&summary.path, target))
        .chain([summary.path.clone()])
        .collect();
    listed.sort();
    assert_eq!(listed, pages_of_book());
}

#[test]
fn ids_match_those_of_mdbook() {
    let ids = ["X-Robots-Tag", "`server.listen`", "[[rule]] and `a_b`"].map(id);
    assert_eq!(ids, ["x-robots-tag", "serverlisten", "rule-and-a_b"]);
}
