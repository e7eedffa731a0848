//! Parser for classification.conf.

use std::fmt;

use crate::filter::{
    Note, Resource,
    note::Notes,
    pblock::{self, Block, Entry, Item},
};

use super::rule::{Comparison, ComparisonResult, reject_unknown_keys, required};

/// Keywords that can start a line in classification.conf.
const BLOCK: Block = Block {
    tags: &["Classes"],
    what: "line of classification.conf",
    words: &["Class"],
};

/// Rules in a classification.conf file, which assign classes to resources.
///
/// The format is specific to this program: one rule per line, in the form `Class name=… src=…
/// operator=… string=…`, with the same sources and operators as in filterrules.conf. The parts of a
/// class path are separated by `:`. The first matching rule wins.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::{ClassificationRules, Resource};
///
/// let rules = ClassificationRules::parse(
///     "Class name=\"Products:Manuals\" src=path operator=begins-with string=/docs/",
/// );
/// let resource = Resource::new("http://www.example.com/docs/a".parse().unwrap(), 1);
/// assert_eq!(rules.class(&resource), Some("Products:Manuals"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClassificationRules {
    items: Vec<Item>,
    rules: Vec<(String, Comparison)>,
    notes: Vec<Note>,
}

impl ClassificationRules {
    /// Parses a classification.conf file. Errors are returned by [`Self::notes`].
    pub fn parse(text: &str) -> Self {
        let mut notes = Notes::default();
        let items = pblock::read(text, BLOCK, &mut notes);
        let mut rules = Vec::new();
        for item in &items {
            match item {
                Item::Entry(entry) => rules.extend(rule(entry, &mut notes)),
                Item::Open(tag) => notes.error(tag.line, "blocks are not allowed; use Class lines"),
                Item::Close { line, .. } => notes.error(*line, "blocks are not allowed"),
                Item::Blank | Item::Comment(_) => {}
            }
        }
        let notes = notes.into_sorted();
        Self {
            items,
            rules,
            notes,
        }
    }

    /// Returns the class of a resource, or `None` if no rule matches.
    pub fn class(&self, resource: &Resource) -> Option<&str> {
        let mut rules = self.rules.iter();
        let found = rules.find(|(_, rule)| rule.compare(resource) == ComparisonResult::Matches)?;
        Some(&found.0)
    }

    /// Returns the number of classification rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns `true` if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the errors, sorted by line number.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl fmt::Display for ClassificationRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        pblock::write(&self.items, f)
    }
}

fn rule(entry: &Entry, notes: &mut Notes) -> Option<(String, Comparison)> {
    let keys = ["name", "src", "operator", "string"];
    reject_unknown_keys(&entry.pairs, &keys, "Class", notes);
    let name = required(entry, "name", notes);
    let comparison = Comparison::read(entry, notes);
    Some((name?.to_owned(), comparison?))
}
