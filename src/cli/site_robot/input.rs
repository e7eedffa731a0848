//! The configuration file that a command is about.

use std::path::Path;

use crate::cli::{input, usage::WrongUsage};

pub(super) use crate::cli::input::{is_standard_input, name};

/// Largest file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a file or standard input as UTF-8.
pub(super) fn read(file: &Path) -> Result<String, WrongUsage> {
    let bytes = input::read(file, MAX_BYTES, "is larger than 4 MiB")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let name = name(file);
        WrongUsage(format!(
            "{name} is not UTF-8 at byte {at}; convert it with iconv"
        ))
    })
}
