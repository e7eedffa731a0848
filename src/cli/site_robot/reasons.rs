//! Counts the reasons why pages visited in a run are not described.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::app::RunResult;
use crate::cli::output;
use crate::store::{Store, StoreError};

/// The maximum number of reasons to print, most frequent first; JSON output contains all reasons.
const MAX_REASONS: usize = 5;

/// A reason why pages are not described, with the number of affected pages.
#[derive(Debug)]
pub(in crate::cli) struct Reason {
    text: String,
    pages: u64,
    first: String,
}

impl Reason {
    pub(super) fn value(&self) -> Value {
        json!({"reason": self.text, "pages": self.pages, "first": self.first})
    }
}

/// Returns the reasons why pages visited in a run are not described, most frequent first.
pub(in crate::cli) async fn reasons(
    store: &Store,
    ran: &RunResult,
) -> Result<Vec<Reason>, StoreError> {
    let (site, run_id) = (&ran.summary.site, ran.summary.run_id);
    let mut found: BTreeMap<String, Reason> = BTreeMap::new();
    let mut after = String::new();
    loop {
        let piece = store
            .publications()
            .undescribed_outcomes(site, run_id, &after)
            .await?;
        match piece.last() {
            Some((last, ..)) => after.clone_from(last),
            None => break,
        }
        for (outcome, pages, first) in piece {
            let text = outcome.split_once(": ").map_or(&*outcome, |(_, text)| text);
            // Redirect targets are removed, so that all redirects are counted as one reason.
            let text = text.split(", moved to ").next().unwrap_or(text);
            let reason = found.entry(text.to_owned()).or_insert_with(|| Reason {
                text: text.to_owned(),
                pages: 0,
                first,
            });
            reason.pages += pages;
        }
    }
    let mut reasons: Vec<_> = found.into_values().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.pages));
    Ok(reasons)
}

pub(super) fn print_reasons(reasons: &[Reason]) -> std::io::Result<()> {
    for Reason { text, pages, first } in reasons.iter().take(MAX_REASONS) {
        let text = format!("  not described: {pages}, for example {first}: {text}");
        output::line(&output::clean(&text))?;
    }
    if let Some(more) = reasons
        .len()
        .checked_sub(MAX_REASONS)
        .filter(|more| *more > 0)
    {
        output::line(&format!("  and {more} more reasons, listed by --json"))?;
    }
    let asks_login = |reason: &Reason| {
        ["status 401", "status 403"]
            .iter()
            .any(|it| reason.text.contains(it))
    };
    if reasons.iter().any(asks_login) {
        output::line(
            "  to allow the site robot to log in, set site_robot.login or site_robot.login_form",
        )?;
    }
    Ok(())
}
