use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
};

use tempfile::TempDir;

use super::publish;
use crate::heaven::{
    HeavenError, Library,
    tests::{SITE, description, library, settings, tree},
};
use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::Store;

/// A robot heaven in a temporary directory.
struct Site {
    store: Store,
    library: Library,
    _directory: TempDir,
    parent: PathBuf,
    heaven: PathBuf,
}

impl Site {
    async fn new(descriptions: &[ResourceDescription]) -> Self {
        let (store, library) = library(descriptions).await;
        let directory = tempfile::tempdir().unwrap();
        let parent = fs::canonicalize(directory.path()).unwrap();
        Self {
            heaven: parent.join("heaven"),
            _directory: directory,
            parent,
            store,
            library,
        }
    }

    /// Publishes the heaven; returns the number of files written, and whether anything changed.
    async fn publish(&self) -> Result<(usize, bool), HeavenError> {
        let published = publish(&self.library, &self.heaven, &settings()).await?;
        Ok((published.written, published.is_changed))
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        tree(&self.heaven)
    }

    /// Returns the directory entries next to the published directory.
    fn beside(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.parent).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn two() -> Vec<ResourceDescription> {
    vec![
        description(
            "/a",
            &[
                (name::TITLE, "A"),
                (name::FULL_TEXT, "Text of a."),
                (name::MODIFIED, "2026-03-01"),
            ],
        ),
        description(
            "/b/",
            &[(name::TITLE, "B"), (name::FULL_TEXT, "Text of b.")],
        ),
    ]
}

#[tokio::test]
async fn heaven_is_published_atomically() {
    let site = Site::new(&two()).await;
    assert!(site.publish().await.unwrap().1);
    let files = site.files();
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".robot-heaven",
            ".robot-heaven-pages",
            "a.htm",
            "b/index.html",
            "by/date/index.html",
            "by/title/index.html",
            "feed.atom",
            "heaven.css",
            "index.html",
            "llms.txt",
            "rd.jsonl",
            "rd.soif",
            "sitemap.xml",
        ]
    );
    assert_eq!(site.beside(), [".heaven.lock", "heaven"]);
}

#[tokio::test]
async fn markdown_files_and_links_exist_only_if_enabled() {
    let site = Site::new(&two()).await;
    for (is_wanted, settings) in [
        (false, settings()),
        (true, settings().markdown_files(true)),
        (false, settings().markdown_files(true).markdown(false)),
    ] {
        let published = publish(&site.library, &site.heaven, &settings).await;
        assert!(published.unwrap().is_changed);
        let files = site.files();
        for path in ["a.htm", "b/index.html"] {
            let file = format!("{path}.md");
            assert_eq!(files.contains_key(&file), is_wanted, "{file}");
            let html = std::str::from_utf8(&files[path]).unwrap();
            assert_eq!(html.contains(&file), is_wanted, "{html}");
        }
        // All files that llms.txt links to must exist.
        let llms = std::str::from_utf8(&files["llms.txt"]).unwrap();
        let start = format!("]({SITE}/robot-heaven/");
        let links = llms.split(&start).skip(1);
        let links: Vec<_> = links.map(|rest| rest.split(')').next().unwrap()).collect();
        assert!(links.len() >= 4, "{llms}");
        for link in links {
            let is_directory = link.is_empty() || link.ends_with('/');
            let file = format!("{link}{}", if is_directory { "index.html" } else { "" });
            assert!(files.contains_key(&file), "{file} in {llms}");
        }
        assert_eq!(llms.contains(".md)"), is_wanted, "{llms}");
    }
}

#[tokio::test]
async fn unchanged_heaven_is_not_replaced() {
    let site = Site::new(&two()).await;
    site.publish().await.unwrap();
    let (before, kept) = (site.files(), fs::metadata(&site.heaven).unwrap());
    assert_eq!(site.publish().await.unwrap(), (0, false));
    assert_eq!(site.files(), before);
    let now = fs::metadata(&site.heaven).unwrap();
    assert_eq!(now.modified().unwrap(), kept.modified().unwrap());
    assert_eq!(site.beside(), [".heaven.lock", "heaven"]);
}

#[tokio::test]
async fn withdrawn_page_disappears_everywhere() {
    let site = Site::new(&two()).await;
    site.publish().await.unwrap();
    site.store
        .descriptions()
        .delete("s", &[&format!("{SITE}/a")])
        .await
        .unwrap();
    assert!(site.publish().await.unwrap().1);
    let files = site.files();
    assert!(!files.contains_key("a.htm"));
    for (name, content) in files {
        let text = String::from_utf8(content).unwrap();
        assert!(
            !text.contains("a.htm") && !text.contains("Text of a"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn noindex_page_disappears_and_other_files_are_reused() {
    let mut descriptions = two();
    descriptions.push(description("/c/d", &[(name::TITLE, "D")]));
    let site = Site::new(&descriptions).await;
    site.publish().await.unwrap();
    let hidden = description("/c/d", &[(name::TITLE, "D"), (name::ROBOTS, "noindex")]);
    site.store
        .descriptions()
        .save("s", 2, &[hidden], 1_790_000_000_001)
        .await
        .unwrap();
    let published = publish(&site.library, &site.heaven, &settings())
        .await
        .unwrap();
    assert!(published.is_changed && !site.heaven.join("c").exists());
    // The page of /a and the style sheet are unchanged.
    assert!(published.unchanged >= 2, "{published:?}");
}

#[tokio::test]
async fn leftovers_of_a_killed_publication_are_removed() {
    let site = Site::new(&two()).await;
    site.publish().await.unwrap();
    let before = site.files();
    // The process was killed while writing, and between the two steps of an exchange.
    fs::create_dir_all(site.parent.join(".heaven.staging/b")).unwrap();
    fs::write(site.parent.join(".heaven.staging/b/half.html"), "<html").unwrap();
    fs::rename(&site.heaven, site.parent.join(".heaven.old")).unwrap();
    assert_eq!(site.publish().await.unwrap(), (0, false));
    assert_eq!(site.files(), before);
    assert_eq!(site.beside(), [".heaven.lock", "heaven"]);
}

#[tokio::test]
async fn concurrent_publications_are_rejected() {
    let site = Site::new(&two()).await;
    let lock = File::create(site.parent.join(".heaven.lock")).unwrap();
    lock.lock().unwrap();
    assert!(matches!(site.publish().await, Err(HeavenError::Busy(_))));
    assert!(!site.heaven.exists());
    drop(lock);
    site.publish().await.unwrap();
}

#[tokio::test]
async fn foreign_files_are_not_replaced() {
    let site = Site::new(&two()).await;
    fs::create_dir(&site.heaven).unwrap();
    site.publish().await.unwrap();
    fs::remove_dir_all(&site.heaven).unwrap();
    fs::create_dir(&site.heaven).unwrap();
    fs::write(site.heaven.join("index.html"), "mine").unwrap();
    assert!(matches!(site.publish().await, Err(HeavenError::NotOurs(_))));
    assert_eq!(fs::read(site.heaven.join("index.html")).unwrap(), b"mine");
    assert_eq!(site.beside(), [".heaven.lock", "heaven"]);
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_link_is_preserved() {
    let site = Site::new(&two()).await;
    let real = site.parent.join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &site.heaven).unwrap();
    site.publish().await.unwrap();
    assert!(fs::symlink_metadata(&site.heaven).unwrap().is_symlink());
    assert!(real.join("index.html").is_file());
}

#[cfg(unix)]
#[tokio::test]
async fn failed_publication_changes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let site = Site::new(&two()).await;
    site.publish().await.unwrap();
    let before = site.files();
    // The database becomes unavailable during the publication.
    site.store.close().await;
    assert!(matches!(site.publish().await, Err(HeavenError::Store(_))));
    assert_eq!(site.files(), before);
    assert_eq!(
        fs::metadata(&site.heaven).unwrap().permissions().mode() & 0o700,
        0o700
    );
}
