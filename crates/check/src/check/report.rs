//! Reports in which an application behind a front proxy specifies which visitors are human.

use std::{fmt::Write as _, net::IpAddr};

use serde::Deserialize;

/// Maximum size of a report in bytes.
pub const MAX_REPORT_BYTES: usize = 64 << 10;

/// Maximum number of visitors in a report.
const MAX_ENTRIES: usize = 1_000;

/// Maximum number of invalid entries that the error message lists.
const MAX_TOLD: usize = 20;

/// An entry about one visitor in an application's report.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VisitorReport {
    /// Address of the visitor.
    pub address: IpAddr,
    /// The visitor's `User-Agent` header.
    #[serde(default)]
    pub user_agent: String,
    /// Whether the visitor is a person.
    pub person: YesNo,
    /// Host of the site; required only if several sites are configured.
    pub host: Option<String>,
}

/// Whether a visitor is a person.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum YesNo {
    /// The visitor is a person.
    Yes,
    /// The visitor is not a person.
    No,
}

/// The error for an invalid report; each invalid entry has a line in the message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EntryErrors {
    text: String,
    wrong: usize,
}

impl EntryErrors {
    /// Adds an error for an entry; the first entry has the number 1.
    pub fn add(&mut self, number: usize, reason: &str) {
        self.wrong += 1;
        if self.wrong <= MAX_TOLD {
            // Writing to a `String` never fails.
            let _ = writeln!(self.text, "line {number}: {reason}");
        }
    }

    /// Returns `right` if no error was added.
    ///
    /// # Errors
    ///
    /// Returns the error messages for all invalid entries if an error was added.
    pub fn into_result<T>(self, right: T) -> Result<T, String> {
        if self.wrong == 0 {
            return Ok(right);
        }
        let more = self.wrong.saturating_sub(MAX_TOLD);
        let more = if more > 0 {
            format!("and {more} more\n")
        } else {
            String::new()
        };
        Err(format!("{}{more}no entry was accepted\n", self.text))
    }
}

/// Parses a report: a JSON array, or one line per visitor, either JSON or `ADDRESS yes|no
/// USER-AGENT`.
///
/// # Errors
///
/// Returns a numbered error message for each invalid entry; a single invalid entry invalidates the
/// whole report.
pub fn read_report(body: &[u8]) -> Result<Vec<VisitorReport>, String> {
    let text =
        std::str::from_utf8(body).map_err(|_| "the report is not valid UTF-8\n".to_owned())?;
    let text = text.trim();
    let entries = if text.starts_with('[') {
        let all: Vec<serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| format!("the report is not valid JSON: {error}\n"))?;
        let entries = all.into_iter().zip(1..);
        let entry = |(value, number)| (number, of_json(serde_json::from_value(value)));
        entries.map(entry).collect::<Vec<_>>()
    } else {
        let lines = text.lines().zip(1..);
        let lines = lines.filter(|(line, _)| !line.trim().is_empty());
        lines
            .map(|(line, number)| (number, of_line(line)))
            .collect()
    };
    if entries.is_empty() || entries.len() > MAX_ENTRIES {
        let number = entries.len();
        return Err(format!(
            "a report must contain 1 to {MAX_ENTRIES} visitors, but this report contains {number}\n"
        ));
    }
    let (mut reported, mut wrong) = (Vec::new(), EntryErrors::default());
    for (number, entry) in entries {
        match entry {
            Ok(entry) => reported.push(entry),
            Err(reason) => wrong.add(number, &reason),
        }
    }
    wrong.into_result(reported)
}

fn of_line(line: &str) -> Result<VisitorReport, String> {
    let line = line.trim();
    if line.starts_with('{') {
        return of_json(serde_json::from_str(line));
    }
    let (address, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim_start();
    let (word, user_agent) = rest.split_once(' ').unwrap_or((rest, ""));
    let address = address
        .parse()
        .map_err(|_| "the line must begin with an address, as in: 192.0.2.7 no Mozilla/5.0 (…)")?;
    let person = match word {
        "yes" => YesNo::Yes,
        "no" => YesNo::No,
        _ => return Err("the address must be followed by yes or no".to_owned()),
    };
    Ok(VisitorReport {
        address,
        user_agent: user_agent.trim().to_owned(),
        person,
        host: None,
    })
}

fn of_json(entry: serde_json::Result<VisitorReport>) -> Result<VisitorReport, String> {
    entry.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(body: &str) -> String {
        match read_report(body.as_bytes()) {
            Ok(all) => {
                let all = all.iter().map(|one| {
                    let VisitorReport {
                        address,
                        user_agent,
                        person,
                        host,
                    } = one;
                    format!("{address} {person:?} {user_agent:?} {host:?}")
                });
                all.collect::<Vec<_>>().join("; ")
            }
            Err(wrong) => wrong,
        }
    }

    #[test]
    fn all_report_formats_are_equivalent() {
        let expected = "192.0.2.7 No \"Chrome/156 x\" None; 2001:db8::1 Yes \"\" None";
        for body in [
            "192.0.2.7 no Chrome/156 x\n\n2001:db8::1 yes\n",
            "192.0.2.7  no  Chrome/156 x \r\n2001:db8::1 yes",
            r#"[{"address": "192.0.2.7", "user_agent": "Chrome/156 x", "person": "no"},
                {"address": "2001:db8::1", "person": "yes"}]"#,
            "{\"address\": \"192.0.2.7\", \"user_agent\": \"Chrome/156 x\", \"person\": \"no\"}\n2001:db8::1 yes",
        ] {
            assert_eq!(told(body), expected, "{body}");
        }
        let sited = r#"{"address": "192.0.2.7", "person": "no", "host": "a.example"}"#;
        assert_eq!(told(sited), "192.0.2.7 No \"\" Some(\"a.example\")");
    }

    #[test]
    fn invalid_entries_are_reported_by_number_and_invalidate_the_report() {
        for (body, parts) in [
            (
                "192.0.2.7 no a\n192.0.2 no a\n192.0.2.8 maybe a",
                &[
                    "line 2: the line must begin with an address",
                    "line 3: the address must be followed",
                    "no entry was accepted",
                ][..],
            ),
            (
                r#"[{"address": "192.0.2.7", "person": "no", "pearson": 1}]"#,
                &["line 1: unknown field `pearson`"],
            ),
            (
                r#"[{"address": "192.0.2.7"}]"#,
                &["line 1: missing field `person`"],
            ),
            ("[1", &["not valid JSON"]),
            ("", &["1 to 1000 visitors, but this report contains 0"]),
            (&"192.0.2.7 no\n".repeat(1_001), &["contains 1001"]),
            (&"x\n".repeat(30), &["line 20: ", "and 10 more"]),
        ] {
            let told = read_report(body.as_bytes()).unwrap_err();
            for part in parts {
                assert!(told.contains(part), "{body}: {told}");
            }
            assert!(!told.contains("line 21"), "{told}");
        }
        assert!(read_report(b"192.0.2.7 no \xff").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_report_or_a_short_refusal(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Err(told) = read_report(&body) {
                prop_assert!(told.len() < 8_192);
            }
        }
    }
}
