//! Items of a configuration file, in their original order.

/// A line of a file, or several joined lines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) enum Item {
    /// One or more empty lines.
    Blank,
    /// A comment, including its `#`.
    Comment(String),
    /// An opening tag, `<Tag …>`.
    Open(Tag),
    /// A closing tag, `</Tag>`.
    Close { line: usize, tag: String },
    /// A keyword with its `key=value` pairs.
    Entry(Entry),
}

/// An opening tag, `<Tag …>`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Tag {
    pub(in crate::filter) line: usize,
    pub(in crate::filter) name: String,
    pub(in crate::filter) pairs: Vec<Pair>,
}

/// A keyword with its `key=value` pairs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Entry {
    pub(in crate::filter) line: usize,
    pub(in crate::filter) word: String,
    pub(in crate::filter) pairs: Vec<Pair>,
    pub(in crate::filter) comment: Option<String>,
}

/// A `key=value` pair.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::filter) struct Pair {
    pub(in crate::filter) line: usize,
    /// Key in lower case.
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
