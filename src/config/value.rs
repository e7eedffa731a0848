//! Values of settings, and functions that parse values from strings.

use std::fmt;

use super::Kind;

/// The value of a setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A list of strings.
    List(Vec<String>),
    /// A list of whole numbers.
    Numbers(Vec<i64>),
    /// Pairs of a name and a string; a name may occur several times.
    Map(Vec<(String, String)>),
}

impl Value {
    /// Parses a value of the given kind from an environment variable or flag.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values if the text is not of this kind.
    pub fn parse(kind: Kind, text: &str) -> Result<Self, String> {
        match kind {
            Kind::Text | Kind::Word(_) => Ok(Self::Text(text.to_owned())),
            Kind::Integer { .. } => text
                .trim()
                .parse()
                .map_err(|_| format!("{text:?} is not a whole number"))
                .and_then(|number| Self::Integer(number).fit(kind)),
            Kind::Bool => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Ok(Self::Bool(true)),
                "false" | "no" | "off" | "0" => Ok(Self::Bool(false)),
                _ => Err(format!("{text:?} is neither true nor false")),
            },
            Kind::List | Kind::Words(_) => Ok(Self::List(comma_separated(text))),
            Kind::Numbers => Self::Text(text.to_owned()).fit(kind),
            Kind::Lines => Ok(Self::List(one(text))),
            Kind::Map => Err(format!("{text:?} is not {}", kind.describe())),
        }
    }

    /// Returns the value if it has the given kind; a string is converted to a list if necessary.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values if the value has another kind.
    pub fn fit(self, kind: Kind) -> Result<Self, String> {
        match (kind, self) {
            (Kind::Integer { min, max }, Self::Integer(number)) if number < min || number > max => {
                Err(format!("{number} is not between {min} and {max}"))
            }
            // A single item does not need brackets, as in `FilterPattern = '/private/*'`.
            (Kind::List | Kind::Words(_), Self::Text(text)) => {
                Ok(Self::List(comma_separated(&text)))
            }
            (Kind::Numbers, Self::Integer(number)) => Ok(Self::Numbers(vec![number])),
            (Kind::Numbers, Self::Text(text)) => numbers(&comma_separated(&text)),
            (Kind::Numbers, Self::List(texts)) => numbers(&texts),
            (Kind::List | Kind::Lines | Kind::Words(_), Self::Numbers(_)) => {
                Err("a list must contain strings, not integer values".to_owned())
            }
            (Kind::Lines, Self::Text(text)) => Ok(Self::List(one(&text))),
            (Kind::Text | Kind::Word(_), value @ Self::Text(_))
            | (Kind::Integer { .. }, value @ Self::Integer(_))
            | (Kind::Bool, value @ Self::Bool(_))
            | (Kind::Numbers, value @ Self::Numbers(_))
            | (Kind::List | Kind::Lines | Kind::Words(_), value @ Self::List(_))
            | (Kind::Map, value @ Self::Map(_)) => Ok(value),
            (kind, value) => Err(format!("{value} is not {}", kind.describe())),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(number) => number.fmt(f),
            Self::Bool(flag) => flag.fmt(f),
            Self::List(items) => f.debug_list().entries(items).finish(),
            Self::Numbers(numbers) => f.debug_list().entries(numbers).finish(),
            Self::Map(items) => {
                let items = items.iter().map(|(name, text)| (name, text));
                f.debug_map().entries(items).finish()
            }
        }
    }
}

/// Parses comma-separated numbers, which may have the prefix `AS`.
fn numbers(texts: &[String]) -> Result<Value, String> {
    let number = |text: &String| {
        let digits = text.strip_prefix("AS").unwrap_or(text);
        digits
            .parse()
            .map_err(|_| format!("{text:?} is not a whole number"))
    };
    texts
        .iter()
        .map(number)
        .collect::<Result<_, _>>()
        .map(Value::Numbers)
}

/// Splits a string at commas, trims the items and skips empty items.
fn comma_separated(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns a list with a single string, or an empty list for an empty string.
fn one(text: &str) -> Vec<String> {
    let text = text.trim();
    let text = (!text.is_empty()).then(|| text.to_owned());
    text.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_trimmed_and_skip_empty_items() {
        assert_eq!(
            Value::parse(Kind::List, " /a/* ,, /b/* ,"),
            Ok(Value::List(vec!["/a/*".into(), "/b/*".into()]))
        );
    }

    #[test]
    fn numbers_are_checked_against_their_range() {
        let kind = Kind::Integer { min: 1, max: 9 };
        assert_eq!(Value::parse(kind, "9"), Ok(Value::Integer(9)));
        assert!(Value::parse(kind, "10").is_err());
        assert!(Value::parse(kind, "ten").is_err());
        assert!(Value::Text("9".into()).fit(kind).is_err());
    }
}
