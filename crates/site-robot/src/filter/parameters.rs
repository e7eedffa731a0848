//! The parameters of one directive.

use std::cell::RefCell;

use super::{Source, pblock::Pair, unknown};

/// Parameters of one directive: names in lower case, values as written.
///
/// It notes which were asked for: the others are unknown to the function, and
/// the file is refused because of them.
#[derive(Debug)]
pub struct Parameters {
    pairs: Vec<Pair>,
    asked: RefCell<Vec<String>>,
}

impl Parameters {
    /// Creates the parameters from all items but `fn` and `enable`.
    pub(super) fn new(pairs: &[Pair]) -> Self {
        let own = pairs
            .iter()
            .filter(|it| it.key != "fn" && it.key != "enable");
        Self {
            pairs: own.cloned().collect(),
            asked: RefCell::default(),
        }
    }

    /// Returns a parameter, none where it is absent or empty.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.asked.borrow_mut().push(name.to_owned());
        let found = self.pairs.iter().find(|pair| pair.key == name)?;
        Some(found.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a parameter that must be there.
    ///
    /// # Errors
    ///
    /// Fails where it is absent or empty.
    pub fn required(&self, name: &str) -> Result<&str, String> {
        let missing = || format!("{name}= is missing; add it");
        self.optional(name).ok_or_else(missing)
    }

    /// Returns a whole number.
    ///
    /// # Errors
    ///
    /// Fails where it is none.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.optional(name) else {
            return Ok(None);
        };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{name}={value:?} is no whole number from 0 on")),
        }
    }

    /// Returns a size or count.
    pub(super) fn size(&self, name: &str) -> Result<Option<usize>, String> {
        let number = self.number(name)?;
        Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    /// Returns whether something is wished; absent: not.
    ///
    /// # Errors
    ///
    /// Fails where it is none of true, false, yes, no, on and off.
    pub fn boolean(&self, name: &str) -> Result<bool, String> {
        let Some(value) = self.optional(name) else {
            return Ok(false);
        };
        boolean(value).ok_or_else(|| format!("{name}={value:?} is neither true nor false"))
    }

    /// Returns a source that must be named.
    ///
    /// # Errors
    ///
    /// Fails where it is absent.
    pub fn source(&self, name: &str) -> Result<Source, String> {
        Ok(Source::named(self.required(name)?))
    }

    /// Returns line and text for each parameter that was not asked for.
    pub(super) fn unknown(&self) -> Vec<(usize, String)> {
        let asked = self.asked.borrow();
        let is_unknown = |pair: &&Pair| !asked.contains(&pair.key);
        let pairs = self.pairs.iter().filter(is_unknown);
        let say = |pair: &Pair| {
            let key = &pair.key;
            if asked.is_empty() {
                return format!("{key:?} is no parameter here; the function takes none");
            }
            unknown("parameter here", key, asked.iter().map(String::as_str))
        };
        pairs.map(|pair| (pair.line, say(pair))).collect()
    }
}

/// Reads true, yes, on and false, no, off; upper and lower case are the same.
pub fn boolean(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
