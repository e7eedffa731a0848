//! The robots.txt that a command is about.

use std::path::Path;

use crate::cli::{input, usage::WrongUsage};

/// Largest file that is read: far more than any robot reads.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the name of a file as messages print it; without one, that of standard input.
pub(super) fn name(file: Option<&Path>) -> String {
    input::name(or_standard_input(file))
}

/// Reads a file; without one, standard input.
pub(super) fn read(file: Option<&Path>) -> Result<Vec<u8>, WrongUsage> {
    input::read(
        or_standard_input(file),
        MAX_BYTES,
        "is larger than 16 MiB, robots read 500 KiB; is it a robots.txt?",
    )
}

fn or_standard_input(file: Option<&Path>) -> &Path {
    file.unwrap_or(Path::new("-"))
}
