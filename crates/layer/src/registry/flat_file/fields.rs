//! Parsing of fields, including several fields joined in one line.

use crate::registry::text::cut;

/// Maximum number of bytes in a field name.
const MAX_NAME_BYTES: usize = 64;

/// Field names of the schema without `robot-`. Any of these names starts a new field even in the
/// middle of a value.
const SCHEMA: &[&str] = &[
    "availability",
    "cover-url",
    "description",
    "details-url",
    "environment",
    "exclusion",
    "exclusion-useragent",
    "from",
    "history",
    "host",
    "id",
    "language",
    "name",
    "nofollow",
    "noindex",
    "owner-email",
    "owner-name",
    "owner-url",
    "platform",
    "purpose",
    "status",
    "type",
    "useragent",
];

/// Splits a line into a name and a value if the line is a field (`name`, spaces, `:`, value).
///
/// The name is returned in lower case, with hyphens.
pub(super) fn field(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once(':')?;
    Some((field_name(name.trim_end())?, value))
}

/// Splits a value that contains further fields, and passes each field to `take`.
pub(super) fn unglue(name: &str, value: &str, mut take: impl FnMut(&str, &str)) {
    let mut name = name.to_owned();
    let mut rest = value;
    while let Some((at, next)) = next_glued(rest) {
        take(&name, rest.get(..at).unwrap_or_default());
        let behind = rest.get(at..).and_then(|field| field.split_once(':'));
        name = next;
        rest = behind.map(|(_, value)| value).unwrap_or_default();
    }
    take(&name, rest);
}

/// Splits a field name into its base and its trailing number: `useragent2` has number 2.
pub(super) fn split_number(name: &str) -> (&str, usize) {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name
        .get(base.len()..)
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(1);
    (base, number)
}

/// Returns `true` if a value contains text that would be parsed as another field.
pub(super) fn holds_field(value: &str) -> bool {
    next_glued(value).is_some()
}

fn field_name(name: &str) -> Option<String> {
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    fits.then(|| name.to_ascii_lowercase().replace('_', "-"))
}

/// Finds the next field in a value: any field at the start, but only schema fields elsewhere.
fn next_glued(value: &str) -> Option<(usize, String)> {
    let blanks = value.len() - value.trim_start().len();
    let mut from = 0;
    while let Some(found) = find_robot(value, from) {
        let name = value
            .get(found..)
            // A few spaces may precede the colon. Searching further would take quadratic time.
            .and_then(|text| cut(text, MAX_NAME_BYTES + 16).split_once(':'))
            .and_then(|(name, _)| field_name(name.trim_end()));
        if let Some(name) = name
            && (found == blanks || is_in_schema(&name))
        {
            return Some((found, name));
        }
        from = found + "robot-".len();
    }
    None
}

/// Finds the next `robot-` at or after a position, in any case.
fn find_robot(value: &str, from: usize) -> Option<usize> {
    value
        .as_bytes()
        .get(from..)?
        .windows("robot-".len())
        .position(|window| window.eq_ignore_ascii_case(b"robot-"))
        .map(|at| from + at)
}

fn is_in_schema(name: &str) -> bool {
    name.strip_prefix("robot-")
        .is_some_and(|name| SCHEMA.contains(&split_number(name).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unglued(name: &str, value: &str) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        unglue(name, value, |name, value| {
            fields.push((name.to_owned(), value.trim().to_owned()));
        });
        fields
    }

    #[test]
    fn a_field_name_consists_of_letters() {
        assert_eq!(field("Robot-ID : x"), Some(("robot-id".to_owned(), " x")));
        assert_eq!(field("robot_id:x"), Some(("robot-id".to_owned(), "x")));
        assert_eq!(field("see http://x"), None);
        assert_eq!(field(": x"), None);
        assert_eq!(field("no colon"), None);
    }

    #[test]
    fn glued_fields_are_split() {
        assert_eq!(
            unglued("robot-id", " robot-name: quill"),
            [
                ("robot-id".to_owned(), String::new()),
                ("robot-name".to_owned(), "quill".to_owned())
            ]
        );
        assert_eq!(
            unglued(
                "robot-description",
                " gathers things.robot-history: since 1997"
            ),
            [
                ("robot-description".to_owned(), "gathers things.".to_owned()),
                ("robot-history".to_owned(), "since 1997".to_owned())
            ]
        );
    }

    #[test]
    fn words_that_are_not_fields_stay_in_the_value() {
        for text in [
            "a robot-like thing: yes",
            "the robot-id is here",
            "see robot-made: x robot-",
            "robot-",
        ] {
            assert_eq!(unglued("robot-name", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn numbers_are_split_off_names() {
        assert_eq!(split_number("robot-useragent2"), ("robot-useragent", 2));
        assert_eq!(split_number("robot-useragent"), ("robot-useragent", 1));
        assert_eq!(split_number("x99999999999999999999999"), ("x", 1));
    }
}
