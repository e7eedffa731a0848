//! Prints the suspects as cards and as JSON.

use serde_json::{Value, json};

use crate::cli::suspects::cards;
use crate::suspicion::{conduct_value, fleet_value, moment};

use super::read::{Counts, FlaggedClients};

/// Returns the suspects as cards of text.
pub(super) fn text(found: &FlaggedClients, counts: &Counts) -> String {
    format!(
        "{} human requests evaluated, {} lines read\n{}",
        counts.judged,
        counts.lines,
        cards(&fleets(found), &conduct(found))
    )
}

/// Returns the limits of this log's evaluation, one sentence each.
pub(super) fn cannot_tell(counts: &Counts, has_robots_txt: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    if counts.unreadable * 2 > counts.lines {
        sentences.push(format!(
            "{} of {} lines cannot be read: supported are the common, combined and JSON formats with a time in each line",
            counts.unreadable, counts.lines
        ));
    }
    if counts.without_client > 0 {
        sentences.push(format!(
            "{} requests have no client address and were not evaluated; log it as the first field or as remote_addr",
            counts.without_client
        ));
    }
    if counts.late > 0 {
        sentences.push(format!(
            "{} requests are older than earlier lines and were evaluated out of order",
            counts.late
        ));
    }
    if counts.judged == 0 {
        return sentences;
    }
    if counts.referred == 0 {
        sentences.push(
            "no line has a referrer, so fleet-no-referrers cannot be evaluated: log the combined format or http_referer"
                .to_owned(),
        );
    }
    if !has_robots_txt {
        let text = "conduct-closed cannot be evaluated without --robots-txt";
        sentences.push(text.to_owned());
    }
    sentences.push(
        "logs lack most request headers, so a fleet with a User-Agent that many human visitors use is not found"
            .to_owned(),
    );
    sentences
}

/// Returns the suspects and counts as JSON.
pub(super) fn value(found: &FlaggedClients, counts: &Counts, has_robots_txt: bool) -> Value {
    json!({
        "fleets": fleets(found),
        "conduct": conduct(found),
        "lines": counts.lines,
        "unreadable": counts.unreadable,
        "judged": counts.judged,
        "cannot_tell": cannot_tell(counts, has_robots_txt),
    })
}

fn fleets(found: &FlaggedClients) -> Vec<Value> {
    let told = found.fleets.iter();
    let told = told.map(|told| with_until(fleet_value(&told.flagged), told.until_s));
    told.collect()
}

fn conduct(found: &FlaggedClients) -> Vec<Value> {
    let told = found.conduct.iter();
    let told = told.map(|told| with_until(conduct_value(&told.flagged), told.until_s));
    told.collect()
}

fn with_until(mut value: Value, until_s: i64) -> Value {
    if let Some(value) = value.as_object_mut() {
        value.insert("until".to_owned(), moment(until_s).into());
    }
    value
}
