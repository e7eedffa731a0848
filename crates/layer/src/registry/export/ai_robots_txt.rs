//! Export to the `robots.json` format of ai.robots.txt.

use std::borrow::Borrow;

use serde::{Serialize, Serializer};

use super::{exported::Exported, exported::one_line, tokens::tokens};
use crate::registry::{Exclusion, Purpose, Robot, import::published::ai_function};

/// A JSON object that preserves the order of its keys.
struct Entries<'r>(Vec<(&'r str, Entry)>);

#[derive(Serialize)]
struct Entry {
    operator: String,
    respect: String,
    function: &'static str,
    frequency: &'static str,
    description: String,
}

/// The value that the list contains for unknown facts.
const UNCLEAR: &str = "Unclear at this time.";

/// Writes the active robots as an object in the format of ai.robots.txt.
///
/// Each token becomes a key; patterns of other kinds are left out. When the list is read back, a
/// robot's ID is `ai:` followed by the token's slug, its name and product token are the token, and
/// its details, operator, purpose and exclusion are unchanged; hosts and ranges are lost.
#[must_use]
pub fn write_ai_robots_txt<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let tokens = tokens(&mut exported, robots).into_iter();
    let entries = tokens.map(|(robot, token)| (token, entry(robot)));
    exported.text =
        serde_json::to_string_pretty(&Entries(entries.collect())).unwrap_or_default() + "\n";
    exported
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(token, entry)| (token, entry)))
    }
}

fn entry(robot: &Robot) -> Entry {
    let operator = robot
        .operator
        .as_deref()
        // Square brackets would end the link text below.
        .map(|name| one_line(name).replace('[', "(").replace(']', ")"));
    let url = robot.details_url.as_deref().map(link_target);
    let description = match (&operator, &url) {
        (None, Some(url)) => format!("{}: {url}", one_line(&robot.name)),
        _ => one_line(&robot.name),
    };
    Entry {
        operator: match (operator, url) {
            (Some(name), Some(url)) => format!("[{name}]({url})"),
            (Some(name), None) => name,
            (None, _) => UNCLEAR.to_owned(),
        },
        respect: match robot.exclusion {
            Exclusion::Unknown => UNCLEAR.to_owned(),
            known => capitalised(known.as_str()),
        },
        function: match robot.purpose {
            Purpose::Unknown => UNCLEAR,
            known => ai_function(known),
        },
        frequency: UNCLEAR,
        description,
    }
}

/// Escapes the characters in a URL that would end a Markdown link.
fn link_target(url: &str) -> String {
    let mut target = String::new();
    for c in one_line(url).chars() {
        match c {
            '(' => target.push_str("%28"),
            ')' => target.push_str("%29"),
            '[' => target.push_str("%5B"),
            ']' => target.push_str("%5D"),
            '{' => target.push_str("%7B"),
            '}' => target.push_str("%7D"),
            '"' => target.push_str("%22"),
            '<' => target.push_str("%3C"),
            '>' => target.push_str("%3E"),
            '\\' => target.push_str("%5C"),
            '`' => target.push_str("%60"),
            '\'' => target.push_str("%27"),
            ' ' => target.push_str("%20"),
            c => target.push(c),
        }
    }
    target
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
