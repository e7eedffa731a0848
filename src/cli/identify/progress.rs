//! How far it is, for a person who waits.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

use super::input::Input;

/// Returns a bar where somebody sees it and no answers run through it.
pub(super) fn bar(inputs: &[Input], is_summary: bool) -> ProgressBar {
    let is_free = is_summary || !io::stdout().is_terminal();
    if !is_free || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let sizes: Option<u64> = inputs.iter().map(Input::size_bytes).sum();
    let (bar, style) = match sizes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes}  {bytes_per_sec}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
