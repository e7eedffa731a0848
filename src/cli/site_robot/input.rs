//! The file that a command is about.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::cli::{output, usage::WrongUsage};

/// Octets that are read at most.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Returns `true` if standard input is meant.
pub(super) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the name of a file for people.
pub(super) fn name(file: &Path) -> String {
    if is_standard_input(file) {
        return "standard input".to_owned();
    }
    output::clean(&file.display().to_string())
}

/// Reads a file or standard input as UTF-8.
pub(super) fn read(file: &Path) -> Result<String, WrongUsage> {
    let bytes = if is_standard_input(file) {
        read_all(io::stdin().lock())
    } else {
        File::open(file).and_then(read_all)
    };
    let name = name(file);
    let bytes = bytes
        .map_err(|error| WrongUsage(format!("cannot read {name} (is it a file?): {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(WrongUsage(format!("{name} is larger than 4 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        WrongUsage(format!(
            "{name} is not UTF-8 at byte {at}; convert it with iconv"
        ))
    })
}

/// Reads one octet more than there may be.
fn read_all(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
