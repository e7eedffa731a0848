//! Shows the address lists published by robot operators.

use std::{collections::BTreeMap, io, process::ExitCode};

use serde_json::{Value, json};

use crate::app::ClaimProver;
use crate::cli::{args::VerifyArgs, output};
use crate::fetch::shown_url;
use crate::operations::rfc3339;
use crate::registry::Robot;
use crate::verify::{RangesOutcome, RangesState};

/// An address list that verifies robots, and the state of the list.
#[derive(Debug)]
struct List<'r> {
    /// The URL of the list, without the password.
    url: String,
    robots: Vec<&'r str>,
    state: Option<RangesState>,
}

pub(super) async fn run(
    prover: &ClaimProver,
    robots: &[Robot],
    args: &VerifyArgs,
) -> anyhow::Result<ExitCode> {
    // Several robots of an operator may share a list, which is downloaded only once.
    let mut named = BTreeMap::<&String, Vec<&str>>::new();
    for robot in robots {
        if let Some(url) = &robot.ranges_url {
            named.entry(url).or_default().push(&robot.id);
        }
    }
    let mut has_failed = false;
    if args.refresh {
        let urls: Vec<String> = named.keys().copied().cloned().collect();
        output::note(&format!("downloading {} lists", urls.len()));
        let reports = prover.refresh(&urls, true).await;
        let failed = |outcome: &RangesOutcome| matches!(outcome, RangesOutcome::Failed(_));
        has_failed = reports.iter().any(|report| failed(&report.outcome));
    }
    let states = prover.lists();
    let lists: Vec<_> = named
        .into_iter()
        .map(|(url, robots)| {
            // States contain URLs without passwords, so the displayed URLs are compared.
            let url = shown_url(url);
            let state = states.iter().find(|state| state.url == url).cloned();
            List { url, robots, state }
        })
        .collect();
    if args.json {
        let lists = lists.iter().map(List::object).collect();
        output::json(&Value::Array(lists))?;
    } else {
        print(&lists)?;
    }
    Ok(ExitCode::from(u8::from(has_failed)))
}

fn print(lists: &[List<'_>]) -> io::Result<()> {
    let rows: Vec<_> = lists.iter().map(List::row).collect();
    output::table(
        &["PREFIXES", "CREATED", "CHECKED", "STATE", "ROBOTS", "URL"],
        &rows,
    )?;
    if lists.iter().all(|list| list.state.is_none()) && !lists.is_empty() {
        output::note(
            "no list has been downloaded yet: `serve` downloads a list at the first request from a robot that uses it; to download all lists now, run `verify --ranges --refresh`",
        );
    }
    Ok(())
}

impl List<'_> {
    fn row(&self) -> Vec<String> {
        let state = self.state.as_ref();
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let words = match state {
            None => "not downloaded".to_owned(),
            Some(state) => match (&state.error, state.is_stale) {
                (Some(error), _) if !state.has_copy() => format!("never downloaded: {error}"),
                (Some(error), true) => format!("stale: {error}"),
                (Some(error), false) => format!("failing: {error}"),
                (None, true) => "stale".to_owned(),
                (None, false) => "ok".to_owned(),
            },
        };
        vec![
            text(state.map(|state| state.prefixes.to_string())),
            text(state.and_then(|state| state.created.clone())),
            text(state.and_then(|state| state.checked_ms).map(rfc3339)),
            output::clean(&words),
            self.robots.join(" "),
            output::clean(&self.url),
        ]
    }

    fn object(&self) -> Value {
        let state = self.state.as_ref();
        let at = |ms: Option<i64>| ms.map(rfc3339);
        json!({
            "url": self.url,
            "robots": self.robots,
            "prefixes": state.map(|state| state.prefixes),
            "unreadable": state.map(|state| state.unreadable),
            "created": state.and_then(|state| state.created.as_ref()),
            "fetched": at(state.and_then(|state| state.fetched_ms)),
            "checked": at(state.and_then(|state| state.checked_ms)),
            "tried": at(state.and_then(|state| state.tried_ms)),
            "state": state.map_or("unused", RangesState::as_str),
            "stale": state.map(|state| state.is_stale),
            "error": state.and_then(|state| state.error.as_ref()),
        })
    }
}
