//! Parameters of a directive.

use std::cell::RefCell;

use super::{Source, pblock::Pair, unknown_word};

/// Parameters of a directive: names in lower case, and values as written.
///
/// This type records which parameters the function queries. All other parameters are reported as
/// unknown, and the file is rejected.
#[derive(Debug)]
pub struct Parameters {
    pairs: Vec<Pair>,
    asked: RefCell<Vec<String>>,
}

impl Parameters {
    /// Creates the parameters from all pairs except `fn` and `enable`.
    pub(super) fn new(pairs: &[Pair]) -> Self {
        let own = pairs
            .iter()
            .filter(|it| it.key != "fn" && it.key != "enable");
        Self {
            pairs: own.cloned().collect(),
            asked: RefCell::default(),
        }
    }

    /// Returns the value of a parameter, or `None` if it is missing or empty.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.asked.borrow_mut().push(name.to_owned());
        let found = self.pairs.iter().find(|pair| pair.key == name)?;
        Some(found.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a required parameter.
    ///
    /// # Errors
    ///
    /// Returns an error if the parameter is missing or empty.
    pub fn required(&self, name: &str) -> Result<&str, String> {
        let missing = || format!("{name}= is missing; add it");
        self.optional(name).ok_or_else(missing)
    }

    /// Returns the value of a parameter as a non-negative integer.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.optional(name) else {
            return Ok(None);
        };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{name}={value:?} is not a non-negative integer")),
        }
    }

    /// Returns the value of a parameter as a size or count.
    pub(super) fn size(&self, name: &str) -> Result<Option<usize>, String> {
        let number = self.number(name)?;
        Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    /// Returns the value of a parameter as a boolean, or `false` if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not true, false, yes, no, on or off.
    pub fn boolean(&self, name: &str) -> Result<bool, String> {
        let Some(value) = self.optional(name) else {
            return Ok(false);
        };
        boolean(value).ok_or_else(|| format!("{name}={value:?} is neither true nor false"))
    }

    /// Returns the value of a required parameter as a source.
    ///
    /// # Errors
    ///
    /// Returns an error if the parameter is missing.
    pub fn source(&self, name: &str) -> Result<Source, String> {
        Ok(Source::from_name(self.required(name)?))
    }

    /// Returns the line and message for each parameter that the function did not query.
    pub(super) fn unknown(&self) -> Vec<(usize, String)> {
        let asked = self.asked.borrow();
        let is_unknown = |pair: &&Pair| !asked.contains(&pair.key);
        let pairs = self.pairs.iter().filter(is_unknown);
        let say = |pair: &Pair| {
            let key = &pair.key;
            if asked.is_empty() {
                return format!("unknown parameter {key:?}; the function accepts none");
            }
            unknown_word("parameter here", key, asked.iter().map(String::as_str))
        };
        pairs.map(|pair| (pair.line, say(pair))).collect()
    }
}

/// Parses the words true, yes, on, false, no and off, case-insensitively.
pub fn boolean(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
