//! What a file is made of, in order.

/// Line of a file, or several lines joined.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) enum Item {
    /// Empty lines, as many as there are.
    Blank,
    /// Comment, from its `#`.
    Comment(String),
    /// `<Tag …>`.
    Open(Tag),
    /// `</Tag>`.
    Close { line: usize, tag: String },
    /// Word and pairs.
    Entry(Entry),
}

/// `<Tag …>`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Tag {
    pub(in crate::filter) line: usize,
    pub(in crate::filter) name: String,
    pub(in crate::filter) pairs: Vec<Pair>,
}

/// Word and its pairs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Entry {
    pub(in crate::filter) line: usize,
    pub(in crate::filter) word: String,
    pub(in crate::filter) pairs: Vec<Pair>,
    pub(in crate::filter) comment: Option<String>,
}

/// `key=value`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Pair {
    pub(in crate::filter) line: usize,
    /// In lower case.
    pub(in crate::filter) key: String,
    pub(in crate::filter) value: String,
}

impl Entry {
    pub(in crate::filter) fn value(&self, key: &str) -> Option<&str> {
        value(&self.pairs, key)
    }
}

impl Tag {
    pub(in crate::filter) fn value(&self, key: &str) -> Option<&str> {
        value(&self.pairs, key)
    }
}

fn value<'a>(pairs: &'a [Pair], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|pair| pair.key == key)?;
    Some(&found.value)
}
