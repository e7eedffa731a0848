//! The form for a live rule.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{access::Visitor, problem::Problem, state::AdminState};
use robot_detection_operations::{
    Invalid, Refusal,
    live_rules::{RuleFields, Surroundings},
};

/// The names of the form's fields, including the fields for all actions.
pub(super) const FIELDS: [&str; 16] = [
    "name",
    "action",
    "robot",
    "operator",
    "purpose",
    "visitors",
    "addresses",
    "user_agent",
    "people",
    "path",
    "query",
    "site",
    "status",
    "requests",
    "per_seconds",
    "ends",
];

/// A live rule as submitted by a form; an empty field is treated as missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct RuleForm(BTreeMap<String, String>);

impl RuleForm {
    /// Returns the trimmed text of a field; empty if the field is missing.
    pub(super) fn get(&self, field: &str) -> &str {
        self.0.get(field).map_or("", |text| text.trim())
    }

    /// Returns the fields that the selected action supports.
    pub(super) fn fields(&self) -> Result<RuleFields, Invalid> {
        let action = self.get("action");
        let mut json = Map::new();
        json.insert("action".to_owned(), action.into());
        for field in FIELDS {
            let text = self.get(field);
            let owner = match field {
                "status" => "refuse",
                "requests" | "per_seconds" => "slow",
                _ => action,
            };
            if text.is_empty() || owner != action {
                continue;
            }
            let value = match field {
                "status" | "requests" | "per_seconds" => {
                    let number = text.parse::<u16>();
                    number
                        .map_err(|_| Invalid::new(field, "enter a whole number"))?
                        .into()
                }
                "people" => true.into(),
                _ => text.into(),
            };
            json.insert(field.to_owned(), value);
        }
        RuleFields::deserialize(Value::Object(json))
            .map_err(|error| Invalid::new("action", error.to_string()))
    }
}

/// Returns the context in which rules are evaluated, or an error if live rules are turned off.
pub(super) fn surroundings<'s>(
    state: &'s AdminState,
    visitor: &Visitor,
) -> Result<Surroundings<'s>, Problem> {
    check_enabled(state)?;
    Ok(state.operations().surroundings(state.caller_as(visitor)))
}

/// Refuses the request if live rules are turned off.
pub(super) fn check_enabled(state: &AdminState) -> Result<(), Refusal> {
    if state.operations().live_rules.is_enabled() {
        return Ok(());
    }
    let message = "Live rules are turned off: admin.rules is false in the configuration.";
    Err(Refusal::conflict("rules_off", message))
}
