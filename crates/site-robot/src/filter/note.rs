//! What is to be said about the lines of a configuration file.

use std::fmt;

/// Notes that are kept of one file; the rest is only counted.
const MAX_NOTES: usize = 1_000;

/// Remark about one line of a configuration file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Note {
    /// Line, counted from 1.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and what to do or what was done about it.
    pub text: String,
}

impl Note {
    /// Creates a note of what must be put right before the file can be used.
    pub fn error(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Severity::Error, text)
    }

    /// Creates a note of what may not do what was meant.
    pub fn warning(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Severity::Warning, text)
    }

    /// Creates a note of what was put right while reading.
    pub fn repair(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Severity::Repair, text)
    }

    fn new(line: usize, severity: Severity, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            line,
            severity,
            text,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.severity, self.text)
    }
}

robot_detection_layer::words! {
    /// How bad a note is.
    #[derive(Ord, PartialOrd)]
    pub enum Severity {
        /// Put right while reading.
        Repair = "repair",
        /// May not do what was meant.
        Warning = "warning",
        /// The file cannot be used.
        Error = "error",
    }
}

/// Error of a file that cannot be used: what is wrong, a note a line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub struct FileErrors {
    name: String,
    notes: Vec<Note>,
}

impl FileErrors {
    /// Returns an error if one of the notes is one; `name` is the file's, for people.
    ///
    /// # Errors
    ///
    /// Fails with those notes that are errors.
    pub fn check(name: &str, notes: &[Note]) -> Result<(), Self> {
        let errors = notes.iter().filter(|it| it.severity == Severity::Error);
        let notes: Vec<_> = errors.cloned().collect();
        if notes.is_empty() {
            return Ok(());
        }
        let name = name.to_owned();
        Err(Self { name, notes })
    }

    /// Returns the errors, in order of their lines.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn text(&self) -> String {
        let name = self.name.escape_debug();
        let lines = self
            .notes
            .iter()
            .map(|note| format!("{name}:{}: {}", note.line, note.text));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Notes of one file, limited in number.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Notes {
    notes: Vec<Note>,
}

impl Notes {
    pub(super) fn push(&mut self, note: Note) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        } else if self.notes.len() == MAX_NOTES {
            let text = format!("more than {MAX_NOTES} remarks; the rest is left out");
            self.notes.push(Note::error(note.line, text));
        }
    }

    pub(super) fn error(&mut self, line: usize, text: impl Into<String>) {
        self.push(Note::error(line, text));
    }

    pub(super) fn warning(&mut self, line: usize, text: impl Into<String>) {
        self.push(Note::warning(line, text));
    }

    pub(super) fn repair(&mut self, line: usize, text: impl Into<String>) {
        self.push(Note::repair(line, text));
    }

    pub(super) fn into_sorted(mut self) -> Vec<Note> {
        self.notes.sort_by_key(|note| note.line);
        self.notes.dedup();
        self.notes
    }
}
