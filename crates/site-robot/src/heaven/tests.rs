//! Tests of all pages of a robot heaven that is generated from hostile descriptions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use html5gum::{Token, Tokenizer};

mod round_trip;

use super::*;
use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::Store;

pub(super) const SITE: &str = "https://www.example.com";

/// Text that attempts to break out of any context.
const HOSTILE: &str = "</title></script><script>alert('1')</script>\"' onload='x' --> ]]> & <!-- \u{202e}\0\u{1b} {{ x }} {% x %} ${x}";

#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "heaven writes extensions in lower case"
)]
fn is_page(path: &str) -> bool {
    path.ends_with(".html") || path.ends_with(".htm")
}

pub(super) fn description(path: &str, attributes: &[(&str, &str)]) -> ResourceDescription {
    let mut description = ResourceDescription::new(format!("{SITE}{path}"));
    for (name, value) in attributes {
        description.set(name, *value);
    }
    description
}

/// Returns ordinary descriptions, and descriptions with hostile values in every attribute.
pub(super) fn descriptions() -> Vec<ResourceDescription> {
    let attributes = [
        name::TITLE,
        name::DESCRIPTION,
        name::KEYWORDS,
        name::AUTHOR,
        name::LANGUAGE,
        name::CONTENT_TYPE,
        name::LAST_MODIFIED,
        name::FULL_TEXT,
        name::TABLE_OF_CONTENTS,
        name::CLASSIFICATION,
        name::DEPTH,
        name::LINKS,
        name::ROBOTS,
        name::MD5,
    ];
    let hostile = attributes.map(|name| (name, HOSTILE));
    let mut all = vec![
        description("/hostile", &hostile),
        description("/hostile?\"><script>alert(1)</script>", &hostile),
        description("/%3Cscript%3E/'/a", &hostile),
        description("/", &[(name::TITLE, "Front page"), (name::DEPTH, "0")]),
        description("/members/", &[(name::TITLE, "Members"), (name::DEPTH, "1")]),
        description("/nothing", &[]),
        description(
            "/quiet",
            &[
                (name::ROBOTS, "noarchive, nofollow"),
                (name::TITLE, "Quiet"),
                (name::FULL_TEXT, "not to be kept"),
            ],
        ),
        description(
            "/hidden",
            &[(name::ROBOTS, "noindex"), (name::TITLE, "hidden title")],
        ),
    ];
    for number in 0..240 {
        let (path, title) = (format!("/members/{number}.html"), format!("Page {number}"));
        let date = format!("Sun, 01 Mar 2026 12:{:02}:05 GMT", number % 60);
        all.push(description(
            &path,
            &[
                (name::TITLE, &title),
                (name::DESCRIPTION, "What it is about."),
                (name::AUTHOR, if number % 2 == 0 { "Ada" } else { "Grace" }),
                (name::LANGUAGE, "en-GB"),
                (name::LAST_MODIFIED, &date),
                (name::CLASSIFICATION, "Science:Machines"),
                (name::TABLE_OF_CONTENTS, "First\n  Second"),
                (
                    name::FULL_TEXT,
                    "Opening words.\nFirst\nMore words.\nSecond\nLast words.",
                ),
                (name::DEPTH, "2"),
            ],
        ));
    }
    all
}

pub(super) async fn library(descriptions: &[ResourceDescription]) -> (Store, Library) {
    let store = Store::connect("sqlite::memory:").await.unwrap();
    store
        .descriptions()
        .save("s", 1, descriptions, 1_790_000_000_000)
        .await
        .unwrap();
    (store.clone(), Library::new(store, "s"))
}

pub(super) fn settings() -> HeavenSettings {
    HeavenSettings::new(SITE)
        .unwrap()
        .name("The <Example> & Co")
        .summary("What \"members\" find.")
        .needs_login(|path| path.starts_with("/members/"))
}

/// Returns all files in a directory tree, by relative path.
pub(super) fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut waiting) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let below = path.strip_prefix(directory).unwrap();
                files.insert(below.to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Content of an HTML page.
#[derive(Debug, Default)]
struct Read {
    text: String,
    json_ld: Vec<String>,
    links: Vec<String>,
    ids: BTreeSet<String>,
    elements: BTreeMap<String, usize>,
    metas: BTreeMap<String, String>,
    relations: BTreeMap<String, String>,
    language: String,
}

/// Parses a page; panics if markup is unclosed, duplicate or unknown.
fn read(html: &str) -> Read {
    let mut read = Read::default();
    let mut open: Vec<String> = Vec::new();
    for token in Tokenizer::new(html) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let element = String::from_utf8(tag.name.to_vec()).unwrap();
                let mut attributes = BTreeMap::new();
                for (name, value) in &tag.attributes {
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    assert!(
                        !name.starts_with("on") && name != "style",
                        "{name} in {html}"
                    );
                    attributes.insert(name, String::from_utf8(value.to_vec()).unwrap());
                }
                note(&element, &attributes, &mut read);
                *read.elements.entry(element.clone()).or_default() += 1;
                let is_void =
                    ["meta", "link", "circle", "ellipse", "rect", "path"].contains(&&*element);
                if !is_void {
                    open.push(element);
                }
            }
            Token::EndTag(tag) => {
                let element = String::from_utf8(tag.name.to_vec()).unwrap();
                if !["circle", "ellipse", "rect", "path"].contains(&&*element) {
                    assert_eq!(open.pop().as_deref(), Some(&*element), "{html}");
                }
            }
            Token::String(text) => {
                let text = String::from_utf8(text.to_vec()).unwrap();
                if open.last().is_some_and(|element| element == "script") {
                    read.json_ld.push(text);
                } else {
                    read.text.push_str(&text);
                }
            }
            Token::Doctype(_) => {}
            Token::Comment(comment) => panic!("{comment:?} in {html}"),
            Token::Error(error) => panic!("{error:?} in {html}"),
        }
    }
    assert!(open.is_empty(), "{open:?} in {html}");
    read
}

fn note(element: &str, attributes: &BTreeMap<String, String>, read: &mut Read) {
    let value = |name: &str| attributes.get(name).cloned().unwrap_or_default();
    if let Some(id) = attributes.get("id") {
        assert!(read.ids.insert(id.clone()), "{id} twice");
    }
    match element {
        "html" => read.language = value("lang"),
        "a" => read.links.push(value("href")),
        "meta" => {
            read.metas.insert(
                format!("{}{}", value("name"), value("property")),
                value("content"),
            );
        }
        "link" => {
            let key = format!("{} {}", value("rel"), value("type"));
            read.relations.insert(key.trim().to_owned(), value("href"));
        }
        "script" => assert_eq!(value("type"), "application/ld+json"),
        _ => {}
    }
}

/// Checks the properties that all pages have in common.
fn check_frame(path: &str, read: &Read) {
    let count = |element: &str| read.elements.get(element).copied().unwrap_or_default();
    for element in [
        "html", "head", "title", "body", "main", "h1", "header", "footer",
    ] {
        let svg = usize::from(element == "title" && count("svg") > 0);
        assert_eq!(count(element), 1 + svg, "{element} in {path}");
    }
    assert!(
        !read.language.is_empty() && read.ids.contains("main"),
        "{path}"
    );
    assert!(
        read.links.len() <= 160,
        "{path} has {} links",
        read.links.len()
    );
    for text in &read.json_ld {
        let data: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(data["@context"], "https://schema.org", "{path}");
    }
}

#[tokio::test]
async fn every_page_is_valid_for_any_description() {
    let (_store, library) = library(&descriptions()).await;
    let directory = tempfile::tempdir().unwrap();
    let heaven = directory.path().join("heaven");
    let settings = settings().markdown_files(true);
    let published = publish(&library, &heaven, &settings).await.unwrap();
    assert_eq!(published.catalogue.len(), 247);
    let files = tree(&heaven);
    let mut pages = 0;
    for (path, content) in files.iter().filter(|(path, _)| is_page(path)) {
        let html = std::str::from_utf8(content).unwrap();
        let read = read(html);
        check_frame(path, &read);
        assert!(
            !html.contains("hidden title") && !html.contains("not to be kept"),
            "{path}"
        );
        let links = read.links.iter().chain(read.relations.values());
        for below in links.filter_map(|link| link.strip_prefix("/robot-heaven/")) {
            let is_directory = below.is_empty() || below.ends_with('/');
            let file = if is_directory {
                format!("{below}index.html")
            } else {
                below.to_owned()
            };
            assert!(files.contains_key(&file), "{path} links to {below}");
        }
        for link in read.links.iter().filter_map(|link| link.strip_prefix('#')) {
            assert!(read.ids.contains(link), "{path} links to #{link}");
        }
        if path.starts_with("by/") || path == "index.html" {
            continue;
        }
        pages += 1;
        assert_eq!(read.json_ld.len(), 1, "{path}");
        assert!(read.relations["canonical"].starts_with(SITE), "{path}");
        assert!(read.metas.contains_key("description") && read.metas.contains_key("og:title"));
        assert!(files.contains_key(&format!("{path}.md")), "{path}");
    }
    assert_eq!(pages, 247);
    for file in [
        "sitemap.xml",
        "feed.atom",
        "llms.txt",
        "rd.soif",
        "rd.jsonl",
        "heaven.css",
    ] {
        let text = std::str::from_utf8(&files[file]).unwrap();
        assert!(
            !text.contains("hidden title") && !text.contains("not to be kept"),
            "{file}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "covers the complete page")]
fn page_contains_the_data_of_its_description() {
    let of = description(
        "/members/a/b.html",
        &[
            (name::TITLE, "Salt & pepper"),
            (name::DESCRIPTION, "About <both>."),
            (name::AUTHOR, "Ada"),
            (name::LANGUAGE, "de-CH"),
            (name::LAST_MODIFIED, "Sun, 01 Mar 2026 12:30:05 GMT"),
            (name::CLASSIFICATION, "Food:Spice"),
            (name::ROBOTS, "nofollow, nosnippet"),
            (name::TABLE_OF_CONTENTS, "Salt\nPepper"),
            (name::FULL_TEXT, "Opening.\nSalt\nWhite.\nPepper\nBlack."),
        ],
    );
    let mut builder = CatalogueBuilder::default();
    builder.add(&description("/members/a/", &[(name::TITLE, "Spices")]));
    builder.add(&of);
    let settings = settings();
    let read = read(&page(&of, &builder.build(&settings), &settings));
    assert_eq!(read.language, "de-CH");
    for (name, content) in [
        ("description", "About <both>."),
        ("robots", "nofollow, nosnippet"),
        ("author", "Ada"),
        ("og:locale", "de_CH"),
        ("og:url", "https://www.example.com/members/a/b.html"),
        ("article:modified_time", "2026-03-01T12:30:05Z"),
    ] {
        assert_eq!(read.metas[name], content);
    }
    for (relation, href) in [
        ("canonical", "https://www.example.com/members/a/b.html"),
        ("prev", "/robot-heaven/members/a/"),
        ("index", "/robot-heaven/"),
        (
            "alternate text/markdown",
            "/robot-heaven/members/a/b.html.md",
        ),
        ("describedby text/plain", "/robot-heaven/llms.txt"),
    ] {
        assert_eq!(read.relations[relation], href);
    }
    let data: serde_json::Value = serde_json::from_str(&read.json_ld[0]).unwrap();
    assert_eq!(data["@type"], "Article");
    assert_eq!(data["headline"], "Salt & pepper");
    assert_eq!(data["isAccessibleForFree"], false);
    assert_eq!(data["hasPart"]["cssSelector"], ".text");
    let crumbs = data["breadcrumb"]["itemListElement"].as_array().unwrap();
    let names: Vec<_> = crumbs
        .iter()
        .map(|crumb| crumb["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["The <Example> & Co", "Spices", "Salt & pepper"].map(|name| if name == "Spices" {
            "a"
        } else {
            name
        })
    );
    assert!(read.text.contains("Food › Spice") && read.text.contains("White."));
}

#[test]
fn public_page_has_no_access_markup() {
    let of = description("/open", &[(name::TITLE, "Open")]);
    let settings = settings();
    let read = read(&page(&of, &Catalogue::default(), &settings));
    let data: serde_json::Value = serde_json::from_str(&read.json_ld[0]).unwrap();
    assert!(data["isAccessibleForFree"].is_null());
    assert_eq!(data["@type"], "WebPage");
}
