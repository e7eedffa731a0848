//! The reasons of a decision, step by step.

/// Characters of a path or a name that a step quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// One step on the way to a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// "verdict", "evidence", "settings", "method", "path", "rules", "never", "heaven",
    /// "robot", "allow", "deny", "spoofed", "rule", "purpose", "tag", "robots.txt", "mode"
    /// or the word of an [`Action`](super::Action).
    pub name: &'static str,
    /// What was found, as a sentence.
    pub text: String,
}

/// Listener to the steps; the texts are made only if it wants them.
pub(super) trait Trace {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String);
}

/// Listens to nothing.
pub(super) struct Silent;

impl Trace for Silent {
    #[inline]
    fn step(&mut self, _: &'static str, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<Step> {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String) {
        self.push(Step { name, text: text() });
    }
}

/// Returns bytes from outside as quoted text of limited length, control characters escaped.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
