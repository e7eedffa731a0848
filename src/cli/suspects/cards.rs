//! Formats fleets and automated behaviour as blocks of text.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cli::output::clean;
use crate::suspicion::percent;

/// The maximum number of addresses and networks to print; JSON output contains all of them.
const SHOWN: usize = 20;

/// Returns the JSON reports on suspects as blocks of text.
pub(in crate::cli) fn cards(fleets: &[Value], conduct: &[Value]) -> String {
    let mut text = String::new();
    for (number, fleet) in (1..).zip(fleets) {
        // Writing to a string never fails.
        let _ = writeln!(text, "\nfleet {number}: {}", words(of(fleet, "user_agent")));
        for (name, value) in fleet_rows(fleet) {
            row(name, &value, &mut text);
        }
        rest(fleet, &mut text);
    }
    if fleets.is_empty() {
        text.push_str("\nno fleets\n");
    }
    for one in conduct.iter().take(SHOWN) {
        let _ = writeln!(text, "\n{}", words(of(one, "network")));
        let requests = format!(
            "{}, including {} for pages (about {} distinct paths), {} not found",
            of(one, "requests"),
            of(one, "pages"),
            of(one, "paths"),
            of(one, "not_found")
        );
        row("requests", &requests, &mut text);
        rest(one, &mut text);
    }
    if conduct.is_empty() {
        text.push_str("\nno address or network behaves like a robot\n");
    }
    if let Some(more) = conduct.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "\nand {more} more, listed by --json");
    }
    text
}

fn fleet_rows(fleet: &Value) -> [(&'static str, String); 3] {
    let share = |name: &str| of(fleet, name).as_f64().map(percent);
    let pages = share("pages_share").unwrap_or_default();
    let usual = share("usual_pages_share").map(|usual| format!(", usually {usual}"));
    let each = of(fleet, "per_address").as_f64().unwrap_or_default();
    [
        (
            "requests",
            format!(
                "{} from about {} addresses, {each:.1} per address in ten minutes",
                of(fleet, "requests"),
                of(fleet, "addresses")
            ),
        ),
        ("assets", share("assets_share").unwrap_or_default()),
        (
            "pages",
            format!("{pages} of all pages at peak{}", usual.unwrap_or_default()),
        ),
    ]
}

/// Adds the time, the reasons and the sample requests of a suspect to the text.
fn rest(one: &Value, text: &mut String) {
    let mut flagged = words(of(one, "since"));
    if let Some(until) = one.get("until") {
        let _ = write!(flagged, " to {}", words(until));
    }
    row("flagged", &flagged, text);
    for reason in of(one, "reasons").as_array().into_iter().flatten() {
        let why = format!(
            "{}: it {}",
            words(of(reason, "code")),
            words(of(reason, "sentence"))
        );
        row("why", &why, text);
    }
    for path in of(one, "samples").as_array().into_iter().flatten() {
        row("sample", &words(path), text);
    }
}

fn row(name: &str, value: &str, text: &mut String) {
    let _ = writeln!(text, "  {name:<9} {value}");
}

fn words(value: &Value) -> String {
    clean(value.as_str().unwrap_or_default())
}

/// Returns the given member of an object, or null if it does not exist.
fn of<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}
