//! Parser for filter.conf files, which repairs common mistakes.

use std::fmt;

use super::{
    Note, Stage,
    note::Notes,
    parameters::boolean,
    pblock::{self, Block, Entry, Item, Pair, Tag},
    quoted,
};

/// Maximum number of filters in one file.
const MAX_FILTERS: usize = 1_000;

/// Keywords that can start a line in filter.conf.
const BLOCK: Block = Block {
    tags: &["Filter"],
    what: "directive",
    words: &[
        "Setup",
        "MetaData",
        "Data",
        "Enumerate",
        "Generate",
        "Shutdown",
    ],
};

/// A parsed filter.conf file, with comments and order preserved (Sun 7.1, chapter 43).
///
/// Obvious mistakes are repaired and reported in the notes, so that the examples in Sun's reference
/// can be loaded. [`Display`](fmt::Display) writes the normal form.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::FilterConf;
///
/// let conf = FilterConf::parse("<Filter name=\"a>\nData fn-generate-md5\n</Filter>");
/// assert_eq!(conf.notes().len(), 2);
/// assert_eq!(conf.to_string(), "<Filter name=\"a\">\nData fn=generate-md5\n</Filter>\n");
/// ```
#[derive(Clone, Debug)]
pub struct FilterConf {
    items: Vec<Item>,
    filters: Vec<FilterText>,
    notes: Vec<Note>,
}

/// A filter as written in the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilterText {
    name: String,
    line: usize,
    directives: Vec<Directive>,
}

/// A directive as written in the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directive {
    pub(super) line: usize,
    pub(super) stage: Stage,
    pub(super) function: String,
    pub(super) is_enabled: bool,
    pub(super) pairs: Vec<Pair>,
}

impl FilterConf {
    /// Parses a filter.conf file. Repairs and errors are returned by [`Self::notes`].
    pub fn parse(text: &str) -> Self {
        let mut notes = Notes::default();
        let items = pblock::read(text, BLOCK, &mut notes);
        let items = enclose(items, &mut notes);
        let mut conf = Self {
            items,
            filters: Vec::new(),
            notes: Vec::new(),
        };
        conf.collect(&mut notes);
        conf.notes = notes.into_sorted();
        conf
    }

    /// Returns the filters in the order of the file.
    pub fn filters(&self) -> &[FilterText] {
        &self.filters
    }

    /// Returns the repairs and errors, sorted by line number.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Normalizes the entries, and collects filters and directives.
    fn collect(&mut self, notes: &mut Notes) {
        for item in &mut self.items {
            match item {
                Item::Open(tag) => {
                    let filter = filter(tag, &self.filters, notes);
                    self.filters.push(filter);
                }
                Item::Entry(entry) => {
                    let directive = directive(entry, notes);
                    let filter = self.filters.last_mut();
                    if let Some((filter, directive)) = filter.zip(directive) {
                        filter.directives.push(directive);
                    }
                }
                Item::Blank | Item::Comment(_) | Item::Close { .. } => {}
            }
            if self.filters.len() > MAX_FILTERS {
                return notes.error(1, format!("the file has more than {MAX_FILTERS} filters"));
            }
        }
    }
}

impl fmt::Display for FilterConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        pblock::write(&self.items, f)
    }
}

impl FilterText {
    /// Returns the name of the filter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the line number of the filter's opening tag.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns the filter's directives in the order of the file.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }
}

impl Directive {
    /// Returns the line number at which the directive starts.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns the stage at which the directive runs.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns the name of the directive's function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Returns `true` unless the directive is disabled by `enable=false` or `enable=off`.
    pub const fn is_enabled(&self) -> bool {
        self.is_enabled
    }
}

/// Adds missing tags, and removes closing tags without an opening tag.
fn enclose(items: Vec<Item>, notes: &mut Notes) -> Vec<Item> {
    let mut whole = Vec::with_capacity(items.len() + 2);
    let mut open: Option<usize> = None;
    for item in items {
        match &item {
            Item::Open(tag) => {
                if let Some(from) = open.replace(tag.line) {
                    close(tag.line, from, &mut whole, notes);
                }
            }
            Item::Close { line, .. } => {
                if open.take().is_none() {
                    notes.repair(*line, "removed a </Filter> that has no opening <Filter>");
                    continue;
                }
            }
            Item::Entry(entry) if open.is_none() => {
                let text = "directive outside a filter; moved into a filter named \"unnamed\"";
                notes.repair(entry.line, text);
                whole.push(Item::Open(unnamed(entry.line, &whole)));
                open = Some(entry.line);
            }
            Item::Entry(_) | Item::Blank | Item::Comment(_) => {}
        }
        whole.push(item);
    }
    if let Some(from) = open {
        close(from, from, &mut whole, notes);
    }
    whole
}

fn close(line: usize, from: usize, items: &mut Vec<Item>, notes: &mut Notes) {
    notes.repair(
        line,
        format!("added the missing </Filter> for the filter on line {from}"),
    );
    // Empty lines and comments after the last directive belong to the next filter.
    let is_last = |item: &Item| matches!(item, Item::Entry(_) | Item::Open(_));
    let at = items
        .iter()
        .rposition(is_last)
        .map_or(items.len(), |at| at + 1);
    let tag = "Filter".to_owned();
    items.insert(at, Item::Close { line, tag });
}

fn unnamed(line: usize, before: &[Item]) -> Tag {
    let tags = before.iter().filter(|item| matches!(item, Item::Open(_)));
    let value = match tags.count() {
        0 => "unnamed".to_owned(),
        count => format!("unnamed-{}", count + 1),
    };
    let key = "name".to_owned();
    Tag {
        line,
        name: "Filter".to_owned(),
        pairs: vec![Pair { line, key, value }],
    }
}

fn filter(tag: &Tag, before: &[FilterText], notes: &mut Notes) -> FilterText {
    let line = tag.line;
    for pair in tag.pairs.iter().filter(|pair| pair.key != "name") {
        notes.error(
            line,
            format!(
                "unknown parameter {:?}; a filter accepts only name=",
                pair.key
            ),
        );
    }
    let name = tag.value("name").unwrap_or_default().to_owned();
    if name.is_empty() {
        notes.error(line, "the filter has no name; write <Filter name=\"…\">");
    } else if let Some(first) = before.iter().find(|it| it.name == name) {
        let text = format!(
            "filter {} is already defined on line {}",
            quoted(&name),
            first.line
        );
        notes.error(line, text);
    }
    let directives = Vec::new();
    FilterText {
        name,
        line,
        directives,
    }
}

/// Moves the parameters `fn` and `enable` to the front of a directive, and evaluates both.
fn directive(entry: &mut Entry, notes: &mut Notes) -> Option<Directive> {
    // The sort is stable, so all other parameters keep their order.
    entry.pairs.sort_by_key(|pair| match pair.key.as_str() {
        "fn" => 0,
        "enable" => 1,
        _ => 2,
    });
    let mut is_enabled = true;
    for pair in &mut entry.pairs {
        if pair.key == "fn" {
            mend_function(pair, notes);
        } else if pair.key == "enable" {
            is_enabled = enable(pair, notes);
        }
    }
    let Some(function) = entry.value("fn").filter(|name| !name.is_empty()) else {
        notes.error(
            entry.line,
            format!("{} has no fn=; specify a function", entry.word),
        );
        return None;
    };
    Some(Directive {
        line: entry.line,
        stage: Stage::from_name(&entry.word)?,
        function: function.to_owned(),
        is_enabled,
        pairs: entry.pairs.clone(),
    })
}

/// Replaces function names that are misspelled in Sun's reference.
fn mend_function(pair: &mut Pair, notes: &mut Notes) {
    if let Some(right) = canonical_name(&pair.value) {
        let text = format!("replaced fn={} with fn={right}", quoted(&pair.value));
        notes.repair(pair.line, text);
        right.clone_into(&mut pair.value);
    }
}

/// Returns the correct name of a function for one of its alternative names.
///
/// Sun's reference contains two such names: an alias, and a name that was accidentally joined with
/// the next line.
fn canonical_name(name: &str) -> Option<&'static str> {
    match name {
        "generate-last-modified" => Some("generate-rd-last-modified"),
        "assign-type-by-extclear-source" => Some("assign-type-by-extension"),
        _ => None,
    }
}

fn enable(pair: &mut Pair, notes: &mut Notes) -> bool {
    let Some(is_enabled) = boolean(&pair.value) else {
        let text = format!(
            "enable={} is not one of true, false, on, off",
            quoted(&pair.value)
        );
        notes.error(pair.line, text);
        // The returned value does not matter, because the error causes the file to be rejected.
        return true;
    };
    let right = if is_enabled { "true" } else { "false" };
    right.clone_into(&mut pair.value);
    is_enabled
}
