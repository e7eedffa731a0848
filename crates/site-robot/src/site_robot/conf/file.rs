//! Parser for robot.conf, which preserves comments and order.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{RobotConf, RobotKey};
use crate::filter::{Files, Note, QuoteFault, is_quote, quoted, unquote};

/// Maximum size of a robot.conf file, in bytes.
const MAX_BYTES: usize = 1024 * 1024;

/// Maximum number of lines in a robot.conf file.
const MAX_LINES: usize = 10_000;

/// Maximum number of lines in a quoted value.
const MAX_VALUE_LINES: usize = 4;

/// A parsed robot.conf file: one `key=value` per line, `#` comments, optional quotes.
///
/// [`Display`](fmt::Display) writes the normal form.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::site_robot::RobotConfFile;
///
/// let file = RobotConfFile::parse("cmd-hook=”/opt/hook -v”\nonCompletion = quit\n");
/// assert_eq!(file.notes().len(), 1);
/// assert_eq!(file.to_string(), "cmd-hook=\"/opt/hook -v\"\nonCompletion=quit\n");
/// ```
#[derive(Clone, Debug)]
pub struct RobotConfFile {
    lines: Vec<Line>,
    conf: RobotConf,
    notes: Vec<Note>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Line {
    Blank,
    Comment(String),
    Pair {
        line: usize,
        key: String,
        value: String,
    },
}

impl RobotConfFile {
    /// Parses a robot.conf file. Errors are returned by [`Self::notes`].
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader::new(text);
        reader.read();
        let Reader { found, notes, .. } = reader;
        let mut file = Self {
            lines: found,
            conf: RobotConf::default(),
            notes,
        };
        file.settle();
        file
    }

    /// Returns the settings; invalid settings have their default values.
    pub const fn conf(&self) -> &RobotConf {
        &self.conf
    }

    /// Returns the repairs, warnings and errors, sorted by line number.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the number of the line that sets a key; if several lines set it, the number of the
    /// last.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Pair { line, key: own, .. } if own.eq_ignore_ascii_case(key) => Some(*line),
            _ => None,
        })
    }

    fn settle(&mut self) {
        let pairs = self.lines.iter().filter_map(|line| match line {
            Line::Pair { line, key, value } => Some((*line, key.as_str(), value.as_str())),
            Line::Blank | Line::Comment(_) => None,
        });
        let (conf, notes) = RobotConf::from_pairs(pairs);
        self.conf = conf;
        self.notes.extend(notes);
        self.notes.sort_by_key(|note| note.line);
        for line in &mut self.lines {
            if let Line::Pair { key, value, .. } = line
                && let Some(known) = RobotKey::find(key)
            {
                known.name.clone_into(key);
                if let Ok(normal) = known.normalise(value) {
                    *value = normal;
                }
            }
        }
    }
}

impl fmt::Display for RobotConfFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.lines.iter().rposition(|line| *line != Line::Blank);
        for line in self.lines.iter().take(end.map_or(0, |end| end + 1)) {
            match line {
                Line::Blank => writeln!(f)?,
                Line::Comment(text) => writeln!(f, "{text}")?,
                Line::Pair { key, value, .. } if is_plain(key, value) => {
                    writeln!(f, "{key}={value}")?;
                }
                Line::Pair { key, value, .. } => writeln!(f, "{key}=\"{value}\"")?,
            }
        }
        Ok(())
    }
}

/// Returns `true` if a value can be written without quotes; seeds contain their own quotes.
fn is_plain(key: &str, value: &str) -> bool {
    let is_word = !value.is_empty()
        && !value.contains(char::is_whitespace)
        && !value.starts_with(is_quote)
        && !value.ends_with('\\');
    is_word || is_seed(key)
}

fn is_seed(key: &str) -> bool {
    key.eq_ignore_ascii_case("seed")
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    at: usize,
    found: Vec<Line>,
    notes: Vec<Note>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut notes = Vec::new();
        let is_large = text.len() > MAX_BYTES;
        let lines: Vec<_> = text
            .split('\n')
            .map(str::trim)
            .take(MAX_LINES + 1)
            .collect();
        if is_large || lines.len() > MAX_LINES {
            let text =
                "the file is larger than 1 MiB or 10,000 lines; check that it is a robot.conf";
            notes.push(Note::error(1, text));
        }
        Self {
            lines: if notes.is_empty() { lines } else { Vec::new() },
            at: 0,
            found: Vec::new(),
            notes,
        }
    }

    fn read(&mut self) {
        while let Some(text) = self.lines.get(self.at).copied() {
            self.at += 1;
            if text.is_empty() {
                if !matches!(self.found.last(), None | Some(Line::Blank)) {
                    self.found.push(Line::Blank);
                }
            } else if text.starts_with('#') {
                self.found.push(Line::Comment(text.to_owned()));
            } else {
                self.pair(self.at, text);
            }
        }
    }

    fn pair(&mut self, line: usize, text: &str) {
        let whole = text.trim_end_matches(|c: char| c == '\\' || c.is_whitespace());
        if whole.len() < text.len() {
            self.repair(line, "removed the `\\` at the end of the line".to_owned());
        }
        let Some((key, value)) = whole.split_once('=') else {
            let text = format!("{} is not a key=value pair", quoted(whole));
            return self.notes.push(Note::error(line, text));
        };
        let (key, value) = (key.trim(), value.trim());
        let value = if is_seed(key) {
            value.to_owned()
        } else {
            self.value(line, key, value)
        };
        if value.contains('"') && !is_seed(key) {
            let text = format!(
                "the value of {} contains a quotation mark; remove the mark",
                quoted(key)
            );
            return self.notes.push(Note::error(line, text));
        }
        let key = key.to_owned();
        self.found.push(Line::Pair { line, key, value });
    }

    /// Parses a value, which may continue on the following lines.
    fn value(&mut self, line: usize, key: &str, text: &str) -> String {
        let Some(quotation) = unquote(text) else {
            return self.unquoted(line, key, text);
        };
        let mut value = quotation.value.trim().to_owned();
        let mut rest = quotation.rest;
        match quotation.fault {
            Some(QuoteFault::Curly) => {
                self.repair(
                    line,
                    format!(
                        "replaced the curly quotes around the value of {key} with straight quotes"
                    ),
                );
            }
            Some(QuoteFault::Unclosed) => match self.rest_of_quotation() {
                Some((more, after)) => {
                    self.repair(line, format!("joined the lines of the value of {key}"));
                    value.push_str(&more);
                    rest = after;
                }
                None => self.repair(
                    line,
                    format!("added the missing closing quote of the value of {key}"),
                ),
            },
            None => {}
        }
        let rest = rest.trim();
        if rest.starts_with('#') {
            self.found.push(Line::Comment(rest.to_owned()));
        } else if !rest.is_empty() {
            let text = format!(
                "unexpected text {} after the value of {key}; remove the text",
                quoted(rest)
            );
            self.notes.push(Note::error(line, text));
        }
        value
    }

    fn unquoted(&mut self, line: usize, key: &str, text: &str) -> String {
        let (value, comment) = cut_comment(text);
        if let Some(comment) = comment {
            self.found.push(Line::Comment(comment.to_owned()));
        }
        if !value.is_empty() {
            return value.to_owned();
        }
        let next = self.lines.get(self.at).copied().unwrap_or_default();
        if next.is_empty() || next.starts_with('#') || next.contains('=') {
            return String::new();
        }
        self.at += 1;
        self.repair(line, format!("used the next line as the value of {key}"));
        let next = unquote(next).map_or(next, |quotation| quotation.value);
        next.trim_end_matches('\\').trim().to_owned()
    }

    /// Returns the text before and after the closing quote on the following lines, and skips these
    /// lines.
    fn rest_of_quotation(&mut self) -> Option<(String, &'t str)> {
        let mut value = String::new();
        for ahead in 0..MAX_VALUE_LINES {
            let text = *self.lines.get(self.at + ahead)?;
            // An unclosed quote must not swallow the keys that follow.
            if text.starts_with('#') || is_key(text) {
                return None;
            }
            if let Some((end, rest)) = text.split_once(is_quote) {
                value.push_str(end.trim());
                self.at += ahead + 1;
                return Some((value, rest));
            }
            value.push_str(text.trim_end_matches('\\').trim());
        }
        None
    }

    fn repair(&mut self, line: usize, text: String) {
        self.notes.push(Note::repair(line, text));
    }
}

/// Returns `true` if a line sets a key.
fn is_key(text: &str) -> bool {
    let key = text.split_once('=').map(|(key, _)| key.trim());
    key.is_some_and(|key| is_seed(key) || RobotKey::find(key).is_some())
}

/// Splits off a comment, which starts with `#` at the beginning of the text or after white space.
fn cut_comment(text: &str) -> (&str, Option<&str>) {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('#')) {
        let (before, comment) = text.split_at(at + found);
        // A `#` inside a word is the start of a URL fragment.
        if before.is_empty() || before.ends_with(char::is_whitespace) {
            return (before.trim_end(), Some(comment));
        }
        at += found + 1;
    }
    (text, None)
}

/// Maximum size of a referenced file, in bytes.
const MAX_NAMED_BYTES: u64 = 4 * 1024 * 1024;

/// Files on disk that the directives in a filter.conf file refer to.
///
/// A relative path such as `./config/filterrules.conf` is searched for below the directory of
/// filter.conf, below the parent of that directory (in Sun's reference, filter.conf is in
/// `config`), and below the working directory.
#[derive(Clone, Debug)]
pub struct ConfigFiles {
    directories: Vec<PathBuf>,
}

impl ConfigFiles {
    /// Creates a reader for the files that the filter.conf file at the given path refers to.
    pub fn beside(filter_conf: &Path) -> Self {
        let directory = filter_conf.parent().unwrap_or(Path::new(""));
        let above = directory.join("..");
        let directories = vec![directory.to_owned(), above, PathBuf::new()];
        Self { directories }
    }
}

impl Files for ConfigFiles {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        for directory in &self.directories {
            match read(&directory.join(path)) {
                Ok(text) => return Ok(Some(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot read {path:?}: {error}")),
            }
        }
        Ok(None)
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Reads one byte more than is allowed, so that the parser rejects the file as too large.
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_NAMED_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
