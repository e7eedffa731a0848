//! `include`: further files of the configuration.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Key, Kind, Reach, Value, file};

/// Files that a configuration includes, at most.
const MAX_FILES: usize = 256;

/// Further files whose keys and tables count as if they stood in this one.
pub(super) const INCLUDE: Key = Key::new("", "include", Kind::List, Reach::Live);

/// Returns the files that a configuration file includes, sorted by their paths; errors carry their line.
///
/// Patterns are relative to the file. `*` in a file's name stands for any characters, except for a
/// dot at its beginning. Files that cannot be listed are errors; a pattern without any file is none.
pub(super) fn files(
    of: &Path,
    own: &[(&'static Key, Value, usize)],
) -> Result<Vec<PathBuf>, (usize, String)> {
    let mut found = Vec::new();
    for (key, value, line) in own {
        let Value::List(patterns) = value else {
            continue;
        };
        for pattern in patterns {
            let wrong = |reason| (*line, format!("{}: {pattern:?}: {reason}", key.name));
            found.extend(matching(of, pattern).map_err(wrong)?);
            if found.len() > MAX_FILES {
                return Err(wrong(format!("more than {MAX_FILES} files are included")));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns the files that the configuration file includes now, as far as they can be found.
#[must_use]
pub fn included_files(of: &Path, text: &str) -> Vec<PathBuf> {
    files(of, &file::read(text).own).unwrap_or_default()
}

fn matching(of: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let path = of.parent().unwrap_or(Path::new("")).join(pattern);
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(directory)) = (name, path.parent()) else {
        return Err("it names no file".to_owned());
    };
    let Some((start, end)) = name.split_once('*') else {
        return Ok(vec![path]);
    };
    if end.contains('*') || directory.to_string_lossy().contains('*') {
        return Err("only one * can stand, in the name of the file".to_owned());
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
