//! The file that a command is about.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::cli::{output, usage::WrongUsage};

/// Octets that are read at most: far more than any robot reads.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the name of a file for people; none and `-` are standard input.
pub(super) fn name(file: Option<&Path>) -> String {
    match named(file) {
        Some(path) => output::clean(&path.display().to_string()),
        None => "standard input".to_owned(),
    }
}

/// Reads a file, or standard input.
pub(super) fn read(file: Option<&Path>) -> Result<Vec<u8>, WrongUsage> {
    let bytes = match named(file) {
        Some(path) => File::open(path).and_then(read_all),
        None => read_all(io::stdin().lock()),
    };
    let name = name(file);
    let bytes = bytes
        .map_err(|error| WrongUsage(format!("cannot read {name} (is it a file?): {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        let text =
            format!("{name} is larger than 16 MiB, robots read 500 KiB; is it a robots.txt?");
        return Err(WrongUsage(text));
    }
    Ok(bytes)
}

fn named(file: Option<&Path>) -> Option<&Path> {
    file.filter(|path| path.as_os_str() != "-")
}

/// Reads one octet more than there may be.
fn read_all(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
