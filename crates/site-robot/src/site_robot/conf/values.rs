//! Values of the keys that are set in robot.conf.

use std::fmt;

use crate::filter::{Note, StartingPoint, quoted, unquote};

use super::{KEYS, RobotKey};

/// Normalized values of a robot.conf file, in the order of [`KEYS`].
#[derive(Clone, Default, Eq, PartialEq)]
pub(super) struct Values {
    set: Vec<(&'static str, String)>,
    pub(super) seeds: Vec<StartingPoint>,
}

impl Values {
    /// Sets a key; errors and warnings are added to the notes.
    pub(super) fn set(&mut self, line: usize, name: &str, value: &str, notes: &mut Vec<Note>) {
        if name.eq_ignore_ascii_case("seed") {
            match seed(value) {
                Ok(seed) => self.seeds.push(seed),
                Err(text) => notes.push(Note::error(line, text)),
            }
            return;
        }
        let Some(key) = RobotKey::find(name) else {
            notes.push(Note::error(line, RobotKey::unknown(name)));
            return;
        };
        if key
            .alias
            .is_some_and(|alias| alias.eq_ignore_ascii_case(name))
        {
            let text = format!("replaced {} with {}", quoted(name), key.name);
            notes.push(Note::repair(line, text));
        }
        match key.normalise(value) {
            Ok(value) => self.put(line, key, value, notes),
            Err(text) => notes.push(Note::error(line, text)),
        }
    }

    fn put(&mut self, line: usize, key: &RobotKey, value: String, notes: &mut Vec<Note>) {
        let before = self.set.iter_mut().find(|(name, _)| *name == key.name);
        match before {
            Some((_, known)) => {
                let text = format!("duplicate {}; the value on this line is used", key.name);
                notes.push(Note::warning(line, text));
                *known = value;
            }
            None => self.set.push((key.name, value)),
        }
    }

    /// Returns the value that is set for a key, or `None` if the value is missing or empty.
    pub(super) fn own(&self, name: &str) -> Option<&str> {
        let found = self.set.iter().find(|(known, _)| *known == name)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the value that is set for a key, or else its default, or `None` if there is neither.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let default = || {
            KEYS.iter()
                .find(|key| key.name == name)
                .map(|key| key.default)
        };
        let value = self.own(name).or_else(default)?;
        (!value.is_empty()).then(|| value.to_owned())
    }
}

impl fmt::Debug for Values {
    /// Writes only the keys, because the values may include a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.set.iter().map(|(name, _)| name);
        f.debug_list().entries(keys).finish()
    }
}

/// Parses a seed of the form `URL depth=N`; the URL may be quoted.
fn seed(value: &str) -> Result<StartingPoint, String> {
    let value = value.trim();
    let (url, rest) = match unquote(value) {
        Some(quotation) => (quotation.value, quotation.rest),
        None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
    };
    let rest = rest.trim();
    if rest.is_empty() {
        return StartingPoint::parse(url.trim(), None);
    }
    let depth = rest.strip_prefix("depth=").map(str::trim);
    let depth = depth.ok_or_else(|| format!("{} is not depth=N", quoted(rest)))?;
    let depth = unquote(depth).map_or(depth, |quotation| quotation.value);
    StartingPoint::parse(url.trim(), Some(depth))
}
