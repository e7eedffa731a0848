//! The table of all keys that `check` shows.

use super::{KEYS, RobotKeyKind, values::Values};

/// One key and what it is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotConfRow {
    /// The key.
    pub key: &'static str,
    /// Its value in its normal form; none where it has none; a password is not shown.
    pub value: Option<String>,
    /// Whether that is the default, because nothing was set.
    pub is_default: bool,
    /// Meaning, with units.
    pub help: &'static str,
}

pub(super) fn rows(values: &Values) -> Vec<RobotConfRow> {
    let row = |key: &super::RobotKey| {
        let shown = |value: String| match key.kind {
            RobotKeyKind::Secret => "********".to_owned(),
            _ => value,
        };
        RobotConfRow {
            key: key.name,
            value: values.text(key.name).map(shown),
            is_default: values.own(key.name).is_none(),
            help: key.help,
        }
    };
    KEYS.iter().map(row).collect()
}
