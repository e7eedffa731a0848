//! Progress, shown to a person who waits.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

use super::input::Input;

/// Returns a bar, hidden where nobody sees it or where answers are printed to the same terminal.
pub(in crate::cli) fn bar(inputs: &[Input], is_summary: bool) -> ProgressBar {
    // Bar and answers on one terminal would take turns in overwriting each other.
    let is_free = is_summary || !io::stdout().is_terminal();
    if !is_free || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    // One input of unknown size, such as a pipe, leaves the whole without a percentage.
    let sizes: Option<u64> = inputs.iter().map(Input::size_bytes).sum();
    let (bar, style) = match sizes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left  {msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes}  {bytes_per_sec}  {msg}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Progress of proofs: how many of the claims that were found are proven.
///
/// Each robot and address counts once. Reading stops while claims are proven, so that a bar of
/// bytes alone would seem to hang.
#[derive(Debug)]
pub(super) struct ProofProgress {
    bar: ProgressBar,
    found: usize,
    proven: usize,
}

impl ProofProgress {
    pub(super) fn new(bar: &ProgressBar) -> Self {
        Self {
            bar: bar.clone(),
            found: 0,
            proven: 0,
        }
    }

    /// Adds claims that are to be proven.
    pub(super) fn found(&mut self, more: usize) {
        self.found += more;
        self.show();
    }

    /// Adds a claim that is proven, or of which nothing can be said.
    pub(super) fn proven(&mut self) {
        self.proven += 1;
        self.show();
    }

    fn show(&self) {
        let Self { bar, found, proven } = self;
        bar.set_message(format!("{proven} of {found} robots' addresses proven"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_tells_how_many_of_the_claims_found_are_proven() {
        let bar = ProgressBar::hidden();
        let mut claims = ProofProgress::new(&bar);
        assert_eq!(bar.message(), "");
        claims.found(3);
        assert_eq!(bar.message(), "0 of 3 robots' addresses proven");
        claims.proven();
        claims.found(2);
        claims.proven();
        assert_eq!(bar.message(), "2 of 5 robots' addresses proven");
    }
}
