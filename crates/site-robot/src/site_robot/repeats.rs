//! Detects pages that are repeated under ever-changing numbers, such as session ids in paths.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState},
};

use url::Url;

/// Maximum number of different appearances that are counted; beyond that, all counts are reset.
const MAX_LOOKS: usize = 100_000;

/// Counter for pages that look alike: the title and text are the same, and the URLs differ only in
/// numbers.
#[derive(Debug)]
pub(super) struct RepeatCounter {
    max_pages: u32,
    counts: HashMap<u64, u32>,
}

impl RepeatCounter {
    /// Creates a counter that allows at most `max_pages` pages with the same appearance.
    pub(super) fn new(max_pages: u32) -> Self {
        Self {
            max_pages,
            counts: HashMap::new(),
        }
    }

    /// Counts a page; returns `true` if so many pages look the same that the page's links should
    /// not be followed.
    pub(super) fn is_repeated(&mut self, look: u64) -> bool {
        // A reset lets some pages of a trap through, but limits the memory needed for any site.
        if self.counts.len() >= MAX_LOOKS && !self.counts.contains_key(&look) {
            self.counts.clear();
        }
        let count = self.counts.entry(look).or_default();
        *count = count.saturating_add(1);
        *count > self.max_pages
    }
}

/// Returns a fingerprint of a page's appearance if the page's URL contains a digit.
pub(super) fn page_fingerprint<'t>(
    hasher: &RandomState,
    url: &Url,
    title: &str,
    texts: impl IntoIterator<Item = &'t str>,
) -> Option<u64> {
    let behind = url
        .as_str()
        .get(url.origin().ascii_serialization().len()..)?;
    let has_number = behind.bytes().any(|byte| byte.is_ascii_digit());
    has_number.then(|| {
        let mut look = hasher.build_hasher();
        (shape(behind), title).hash(&mut look);
        texts.into_iter().for_each(|text| text.hash(&mut look));
        look.finish()
    })
}

/// Returns a path in which each word that contains a digit is replaced with `*`.
fn shape(path: &str) -> String {
    let mut shape = String::with_capacity(path.len());
    let mut word = String::new();
    let end = |word: &mut String, shape: &mut String| {
        let is_number = word.bytes().any(|byte| byte.is_ascii_digit());
        shape.push_str(if is_number { "*" } else { word });
        word.clear();
    };
    for c in path.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
        } else {
            end(&mut word, &mut shape);
            shape.push(c);
        }
    }
    end(&mut word, &mut shape);
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_digits_are_ignored() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b.html", "/a/b.html"),
            ("/s/8f3e77aa/page", "/s/*/page"),
            ("/page17?x=0A&y=b", "/*?x=*&y=b"),
            ("/1-2-3", "/*-*-*"),
        ] {
            assert_eq!(shape(path), expected);
        }
    }

    #[test]
    fn pages_look_alike_by_title_text_and_path() {
        let hasher = RandomState::new();
        let of = |url: &str, title: &str, text: &str| {
            page_fingerprint(&hasher, &url.parse().unwrap(), title, [text])
        };
        let first = of("http://h/s/1/a", "A", "text").unwrap();
        assert_eq!(of("http://h/s/2/a", "A", "text"), Some(first));
        assert_ne!(of("http://h/s/2/b", "A", "text"), Some(first));
        assert_ne!(of("http://h/s/2/a", "B", "text"), Some(first));
        assert_ne!(of("http://h/s/2/a", "A", "other"), Some(first));
        assert_eq!(of("http://h8/a", "A", "text"), None);
    }

    #[test]
    fn repetitions_and_memory_are_limited() {
        let mut repeats = RepeatCounter::new(1_000);
        assert!((0..1_000).all(|_| !repeats.is_repeated(7)));
        assert!(repeats.is_repeated(7));
        for look in 8..300_000 {
            assert!(!repeats.is_repeated(look));
        }
        assert!(repeats.counts.len() <= MAX_LOOKS);
    }
}
