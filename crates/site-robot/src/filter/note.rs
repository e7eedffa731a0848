//! Notes about the lines of a configuration file.

use std::fmt;

/// Maximum number of notes stored for one file.
const MAX_NOTES: usize = 1_000;

/// A note about a line of a configuration file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Note {
    /// Line number in the file, starting at 1.
    pub line: usize,
    /// Severity of the note.
    pub severity: Severity,
    /// Text of the note: the problem, and either how it was repaired or what to do about it.
    pub text: String,
}

impl Note {
    /// Creates a note about an error that makes the file unusable.
    pub fn error(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Severity::Error, text)
    }

    /// Creates a note about a line that may not have the intended effect.
    pub fn warning(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Severity::Warning, text)
    }

    /// Creates a note about a mistake that was repaired while reading the file.
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
    /// Severity of a note.
    #[derive(Ord, PartialOrd)]
    pub enum Severity {
        /// A mistake was repaired while reading the file.
        Repair = "repair",
        /// The line may not have the intended effect.
        Warning = "warning",
        /// The file cannot be used.
        Error = "error",
    }
}

/// Error for an unusable configuration file; the message lists the errors in the file, one per
/// line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub struct FileErrors {
    name: String,
    notes: Vec<Note>,
}

impl FileErrors {
    /// Returns an error if any note is an error; `name` is the file name that appears in messages.
    ///
    /// # Errors
    ///
    /// Returns the notes that are errors.
    pub fn check(name: &str, notes: &[Note]) -> Result<(), Self> {
        let errors = notes.iter().filter(|it| it.severity == Severity::Error);
        let notes: Vec<_> = errors.cloned().collect();
        if notes.is_empty() {
            return Ok(());
        }
        let name = name.to_owned();
        Err(Self { name, notes })
    }

    /// Returns the errors, sorted by line number.
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

/// Notes about a single file, up to a maximum number.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Notes {
    notes: Vec<Note>,
}

impl Notes {
    pub(super) fn push(&mut self, note: Note) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        } else if self.notes.len() == MAX_NOTES {
            let text = format!("there are more than {MAX_NOTES} notes; the rest are omitted");
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
