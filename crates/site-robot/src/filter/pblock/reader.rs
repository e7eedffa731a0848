//! Line reader that continues after an error.

use crate::filter::{note::Notes, quoted, unknown_word};

use super::{
    Entry, Item, Tag,
    words::{begins_with_pair, pairs},
};

/// Maximum size of a configuration file.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Maximum length of a line, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Maximum number of directives in a configuration file.
const MAX_ENTRIES: usize = 20_000;

/// Maximum number of pairs per directive.
const MAX_PAIRS: usize = 64;

/// Tags and keywords of a file format.
#[derive(Clone, Copy, Debug)]
pub(in crate::filter) struct Block {
    /// Valid tags, in their canonical spelling.
    pub(in crate::filter) tags: &'static [&'static str],
    /// Name that messages use for a line's keyword.
    pub(in crate::filter) what: &'static str,
    /// Valid keywords.
    pub(in crate::filter) words: &'static [&'static str],
}

/// Parses the text of a complete configuration file.
pub(in crate::filter) fn read(text: &str, block: Block, notes: &mut Notes) -> Vec<Item> {
    if text.len() > MAX_BYTES {
        notes.error(1, "the file is larger than 4 MiB; split it");
        return Vec::new();
    }
    let mut reader = Reader {
        block,
        notes,
        items: Vec::new(),
        entries: 0,
        is_continued: false,
        last_entry: None,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.split('\n').enumerate() {
        if reader.entries > MAX_ENTRIES {
            let text = format!("found more than {MAX_ENTRIES} directives; the rest are ignored");
            reader.notes.error(at + 1, text);
            break;
        }
        reader.line(at + 1, line.trim());
    }
    reader.items
}

struct Reader<'n> {
    block: Block,
    notes: &'n mut Notes,
    items: Vec<Item>,
    entries: usize,
    /// Whether the previous line ended with a backslash.
    is_continued: bool,
    /// Index of the entry to which the pairs belong if the next line contains only pairs.
    last_entry: Option<usize>,
}

impl Reader<'_> {
    fn line(&mut self, line: usize, text: &str) {
        let is_continued = std::mem::take(&mut self.is_continued);
        if text.len() > MAX_LINE {
            self.notes
                .error(line, "the line is longer than 64 KiB and was ignored");
        } else if text.is_empty() {
            if !matches!(self.items.last(), None | Some(Item::Blank)) {
                self.items.push(Item::Blank);
            }
        } else if text.starts_with('#') {
            self.items.push(Item::Comment(text.to_owned()));
        } else if let Some(inside) = text.strip_prefix('<') {
            // A line that contains only pairs and follows a tag does not belong to the entry before
            // the tag.
            self.last_entry = None;
            self.tag(line, inside);
        } else {
            self.directive(line, text, is_continued);
        }
    }

    fn directive(&mut self, line: usize, text: &str, is_continued: bool) {
        let whole = text.trim_end_matches(|c: char| c == '\\' || c.is_whitespace());
        if whole.len() < text.len() {
            self.is_continued = true;
            let slashes = text.get(whole.len()..).unwrap_or_default();
            self.notes.repair(
                line,
                format!(
                    "treated `{}` at the end of the line as a line continuation",
                    shortened(slashes)
                ),
            );
        }
        let whole = whole.trim();
        if whole.is_empty() {
            return;
        }
        match self.last_entry {
            Some(at) if is_continued => self.join(at, line, whole),
            Some(at) if begins_with_pair(whole) => {
                let text = format!(
                    "the line that starts with {} was joined to the previous line",
                    begin(whole)
                );
                self.notes.repair(line, text);
                self.join(at, line, whole);
            }
            _ => self.entry(line, whole),
        }
    }

    fn join(&mut self, at: usize, line: usize, text: &str) {
        let more = pairs(line, text, self.notes);
        let Some(Item::Entry(entry)) = self.items.get_mut(at) else {
            return;
        };
        for pair in more.pairs {
            if entry.value(&pair.key).is_some() {
                let text = format!("duplicate {}=; remove one", pair.key);
                self.notes.error(line, text);
            } else if entry.pairs.len() < MAX_PAIRS {
                entry.pairs.push(pair);
            } else {
                self.notes
                    .error(line, format!("found more than {MAX_PAIRS} parameters"));
            }
        }
        if let Some(comment) = more.comment {
            self.items.push(Item::Comment(comment));
        }
    }

    fn entry(&mut self, line: usize, text: &str) {
        self.entries += 1;
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let words = self.block.words.iter().copied();
        let known = words.clone().find(|it| it.eq_ignore_ascii_case(word));
        if known.is_none() {
            let text = unknown_word(self.block.what, word, words);
            self.notes.error(line, text);
        }
        let mut read = pairs(line, rest, self.notes);
        if read.pairs.len() > MAX_PAIRS {
            self.notes
                .error(line, format!("found more than {MAX_PAIRS} parameters"));
            read.pairs.truncate(MAX_PAIRS);
        }
        self.last_entry = Some(self.items.len());
        self.items.push(Item::Entry(Entry {
            line,
            // An unknown keyword stays in the normal form, although the file is rejected.
            word: known.unwrap_or(word).to_owned(),
            pairs: read.pairs,
            comment: read.comment,
        }));
    }

    /// Parses a tag, starting after `<`.
    fn tag(&mut self, line: usize, inside: &str) {
        let inside = match inside.rsplit_once('>') {
            Some((inside, "")) => inside,
            Some((inside, after)) => {
                let text = format!(
                    "unexpected text {} after `>`; move the text to a separate line",
                    quoted(after)
                );
                self.notes.error(line, text);
                inside
            }
            None => {
                self.notes
                    .repair(line, "added the missing `>` at the end of the line");
                inside
            }
        };
        let is_close = inside.starts_with('/');
        let inside = inside.trim_start_matches('/').trim();
        let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        let (name, rest) = inside.split_at(end);
        let tags = self.block.tags.iter().copied();
        let Some(known) = tags.clone().find(|it| it.eq_ignore_ascii_case(name)) else {
            let text = unknown_word("block", name, tags);
            return self.notes.error(line, text);
        };
        let name = known.to_owned();
        if is_close {
            self.items.push(Item::Close { line, tag: name });
            return;
        }
        let read = pairs(line, rest, self.notes);
        if let Some(comment) = read.comment {
            self.items.push(Item::Comment(comment));
        }
        let pairs = read.pairs;
        self.items.push(Item::Open(Tag { line, name, pairs }));
    }
}

fn begin(text: &str) -> String {
    let (key, _) = text.split_once('=').unwrap_or((text, ""));
    format!("`{key}=`")
}

fn shortened(slashes: &str) -> &str {
    slashes.get(..4).unwrap_or(slashes)
}
