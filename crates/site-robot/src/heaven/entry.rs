//! Entries of indexes.

use std::{collections::HashSet, sync::Arc};

use super::{
    date::Date,
    text::{cut, one_line},
};
use robot_detection_robots_txt::meta::RobotsDirectives;
use robot_detection_store::description::{ResourceDescription, name};

/// Bytes of a title, an author or a class in an index.
const MAX_BYTES: usize = 200;

/// Page as indexes list it; it is small, as there may be many.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) url: Box<str>,
    /// Empty where the page has none.
    title: Box<str>,
    pub(super) author: Arc<str>,
    pub(super) class: Arc<str>,
    pub(super) date: Option<Date>,
    pub(super) depth: Option<u32>,
}

/// Returns `true` if a description has a page: of http or https, and not `noindex`.
pub(super) fn has_page(description: &ResourceDescription) -> bool {
    is_web(description.url()) && directives(description).index()
}

/// Returns what robots may do with a page.
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
    /// Returns the entry of a description that has a page.
    ///
    /// Words that many pages share are kept once, in `words`.
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
            date: Date::of(description),
            depth: description
                .value(name::DEPTH)
                .and_then(|depth| depth.trim().parse().ok()),
        })
    }

    /// Returns the title, or of a page without one the URL.
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
    fn what_is_not_to_be_indexed_has_no_entry() {
        for robots in ["noindex", "NONE", "noarchive, NoIndex", "index,noindex"] {
            assert!(
                entry("https://a.example/", &[("robots", robots)]).is_none(),
                "{robots}"
            );
        }
        assert!(entry("https://a.example/", &[("robots", "noarchive,nofollow")]).is_some());
    }

    #[test]
    fn only_pages_of_the_web_have_entries() {
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
    fn a_page_without_a_title_is_called_by_its_url() {
        let entry = entry("https://a.example/b", &[("title", " \n"), ("depth", " 3 ")]).unwrap();
        assert_eq!(entry.label(), "https://a.example/b");
        assert_eq!(entry.depth, Some(3));
    }

    #[test]
    fn words_of_many_pages_are_kept_once() {
        let mut words = HashSet::new();
        let mut description = ResourceDescription::new("https://a.example/");
        description.set("author", "Ada");
        let one = Entry::new(&description, &mut words).unwrap();
        let other = Entry::new(&description, &mut words).unwrap();
        assert!(Arc::ptr_eq(&one.author, &other.author));
    }
}
