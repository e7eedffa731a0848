//! Entries in index pages.

use std::{collections::HashSet, sync::Arc};

use super::{
    date::Date,
    text::{cut, one_line},
};
use robot_detection_robots_txt::meta::RobotsDirectives;
use robot_detection_store::description::{ResourceDescription, name};

/// Maximum length of a title, an author or a class in an index, in bytes.
const MAX_BYTES: usize = 200;

/// Entry for a page; entries are compact because indexes may list many pages.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) url: Box<str>,
    /// Title of the page; empty if missing.
    title: Box<str>,
    pub(super) author: Arc<str>,
    pub(super) class: Arc<str>,
    pub(super) date: Option<Date>,
    pub(super) depth: Option<u32>,
}

/// Returns `true` if a description gets a heaven page, that is, if its URL's scheme is http or
/// https and it is not `noindex`.
pub(super) fn has_page(description: &ResourceDescription) -> bool {
    is_web(description.url()) && directives(description).index()
}

/// Returns the robots directives of a page.
pub(super) fn directives(description: &ResourceDescription) -> RobotsDirectives {
    RobotsDirectives::parse(description.value(name::ROBOTS).unwrap_or_default())
}

fn is_web(url: &str) -> bool {
    let has_host = |rest: &str| !rest.is_empty() && !rest.starts_with('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(has_host)
        && !url
            .chars()
            .any(|character| character.is_control() || character.is_whitespace())
}

impl Entry {
    /// Creates the entry for a description, or returns `None` if the description gets no page.
    ///
    /// Values that many pages have in common are stored only once, in `words`.
    pub(super) fn new(
        description: &ResourceDescription,
        words: &mut HashSet<Arc<str>>,
    ) -> Option<Self> {
        if !has_page(description) {
            return None;
        }
        let text =
            |name: &str| one_line(cut(description.value(name).unwrap_or_default(), MAX_BYTES));
        let mut shared = |name: &str| {
            let word = text(name);
            if let Some(known) = words.get(word.as_str()) {
                return Arc::clone(known);
            }
            let word: Arc<str> = word.into();
            words.insert(Arc::clone(&word));
            word
        };
        Some(Self {
            url: description.url().into(),
            author: shared(name::AUTHOR),
            class: shared(name::CLASSIFICATION),
            title: text(name::TITLE).into(),
            date: Date::from_description(description),
            depth: description
                .value(name::DEPTH)
                .and_then(|depth| depth.trim().parse().ok()),
        })
    }

    /// Returns the title of the page, or its URL if the title is missing.
    pub(super) fn label(&self) -> &str {
        if self.title.is_empty() {
            &self.url
        } else {
            &self.title
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(url: &str, attributes: &[(&str, &str)]) -> Option<Entry> {
        let mut description = ResourceDescription::new(url);
        for (name, value) in attributes {
            description.set(name, *value);
        }
        Entry::new(&description, &mut HashSet::new())
    }

    #[test]
    fn noindex_pages_have_no_entry() {
        for robots in ["noindex", "NONE", "noarchive, NoIndex", "index,noindex"] {
            assert!(
                entry("https://a.example/", &[("robots", robots)]).is_none(),
                "{robots}"
            );
        }
        assert!(entry("https://a.example/", &[("robots", "noarchive,nofollow")]).is_some());
    }

    #[test]
    fn only_web_pages_have_entries() {
        for url in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,a",
            "https://",
            "https:///a",
            "https://a.example/\n",
            "",
        ] {
            assert!(entry(url, &[]).is_none(), "{url:?}");
        }
    }

    #[test]
    fn page_without_a_title_is_labelled_with_its_url() {
        let entry = entry("https://a.example/b", &[("title", " \n"), ("depth", " 3 ")]).unwrap();
        assert_eq!(entry.label(), "https://a.example/b");
        assert_eq!(entry.depth, Some(3));
    }

    #[test]
    fn shared_words_are_stored_once() {
        let mut words = HashSet::new();
        let mut description = ResourceDescription::new("https://a.example/");
        description.set("author", "Ada");
        let one = Entry::new(&description, &mut words).unwrap();
        let other = Entry::new(&description, &mut words).unwrap();
        assert!(Arc::ptr_eq(&one.author, &other.author));
    }
}
