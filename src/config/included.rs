//! `include`: additional configuration files, and files that contain secrets.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use toml::de::DeTable;

use super::{Key, Kind, Reach, Value, file};

/// The maximum number of included configuration files.
const MAX_FILES: usize = 256;

/// Additional configuration files, whose keys and tables are read as part of this file
pub(super) const INCLUDE: Key = Key::new("", "include", Kind::List, Reach::Live);

/// Patterns of files to include, each with its line.
#[derive(Clone, Debug, Default)]
pub struct Includes(Vec<(String, usize)>);

impl Includes {
    /// Reads the patterns from the text of a file; empty if the text is not valid TOML.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let table = DeTable::parse(text).ok();
        let value = table
            .as_ref()
            .and_then(|table| table.get_ref().get(INCLUDE.name));
        let value =
            value.and_then(|value| file::convert(value.get_ref()).ok()?.fit(INCLUDE.kind).ok());
        Self::new(value.iter().map(|value| (value, 0)))
    }

    pub(super) fn new<'v>(values: impl Iterator<Item = (&'v Value, usize)>) -> Self {
        let items = values.filter_map(|(value, line)| Some((value.items().ok()?, line)));
        let patterns =
            items.flat_map(|(items, line)| items.iter().cloned().map(move |item| (item, line)));
        Self(patterns.collect())
    }

    /// Returns the included files, sorted by path; errors contain the line of the pattern.
    ///
    /// Patterns are relative to the file `of`. `*` in a file name matches any characters except a
    /// leading dot. An unreadable directory is an error, but a pattern without any match is not.
    pub(super) fn files(&self, of: &Path) -> Result<Vec<PathBuf>, (usize, String)> {
        let mut found = Vec::new();
        for (pattern, line) in &self.0 {
            let wrong = |reason| (*line, format!("{}: {pattern:?}: {reason}", INCLUDE.name));
            found.extend(matching(of, pattern).map_err(wrong)?);
            if found.len() > MAX_FILES {
                return Err(wrong(format!("more than {MAX_FILES} files are included")));
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Returns the included configuration files that currently exist.
    #[must_use]
    pub fn present(&self, of: &Path) -> Vec<PathBuf> {
        self.files(of).unwrap_or_default()
    }
}

fn matching(of: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let path = of.parent().unwrap_or(Path::new("")).join(pattern);
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(directory)) = (name, path.parent()) else {
        return Err("the pattern contains no file name".to_owned());
    };
    let Some((start, end)) = name.split_once('*') else {
        return Ok(vec![path]);
    };
    if end.contains('*') || directory.to_string_lossy().contains('*') {
        return Err("only one * is allowed, and only in the file name".to_owned());
    }
    let directory_or_here = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let entries = fs::read_dir(directory_or_here)
        .map_err(|error| format!("cannot list {}: {error}", directory_or_here.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_meant = |name: &String| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.ends_with(end))
            && name.starts_with('.') == start.starts_with('.')
    };
    Ok(names
        .filter(is_meant)
        .map(|name| directory.join(name))
        .collect())
}

/// The prefix for the names of systemd credentials.
const CREDENTIAL: &str = "credential:";

/// The maximum size of a secret, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads a secret from a file; removes trailing line breaks.
///
/// `credential:NAME` is the file NAME in `$CREDENTIALS_DIRECTORY` (systemd's `LoadCredential=`).
///
/// # Errors
///
/// Returns an error with the path and the reason, but never with the content.
pub(super) fn read(path: &Value) -> Result<Value, String> {
    let Value::Text(path) = path else {
        return Err("the file path must be a string in quotes".to_owned());
    };
    let file = file(path.trim())?;
    let shown = file.display();
    let mut secret = String::new();
    let opened = fs::File::open(&file)
        .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut secret));
    opened.map_err(|error| format!("cannot read the file {shown}: {error}"))?;
    if secret.len() as u64 > MAX_BYTES {
        return Err(format!("the file {shown} is longer than {MAX_BYTES} bytes"));
    }
    let secret = secret.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(format!(
            "the file {shown} is empty; write the secret into it"
        ));
    }
    Ok(Value::Text(secret.to_owned()))
}

fn file(path: &str) -> Result<PathBuf, String> {
    let Some(name) = path.strip_prefix(CREDENTIAL) else {
        return Ok(PathBuf::from(path));
    };
    if name.is_empty() || name.contains('/') {
        return Err(format!(
            "{name:?} is not a credential name; write {CREDENTIAL}NAME, with the NAME from LoadCredential=NAME:PATH"
        ));
    }
    let directory = env::var_os("CREDENTIALS_DIRECTORY")
        .ok_or("CREDENTIALS_DIRECTORY is not set; add LoadCredential= to the systemd unit")?;
    Ok(Path::new(&directory).join(name))
}
