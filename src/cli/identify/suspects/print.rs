//! Prints the suspects as blocks of text and as JSON.

use serde_json::{Value, json};

use crate::cli::suspects::cards;
use crate::suspicion::{conduct_value, fleet_value, moment};

use super::read::{Counts, FlaggedClients};

/// Returns the suspects as blocks of text.
pub(super) fn text(found: &FlaggedClients, counts: &Counts) -> String {
    format!(
        "{} human requests evaluated, {} lines read\n{}",
        counts.judged,
        counts.lines,
        cards(&fleets(found), &conduct(found))
    )
}

/// Returns the limitations of this log's evaluation, one sentence each.
pub(super) fn cannot_tell(counts: &Counts, has_robots_txt: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    if counts.unreadable * 2 > counts.lines {
        sentences.push(format!(
            "{} of {} lines cannot be read: the common, combined and JSON formats are supported, with a time in each line",
            counts.unreadable, counts.lines
        ));
    }
    if counts.without_client > 0 {
        sentences.push(format!(
            "{} requests have no client address and were not evaluated; log the address as the first field or as remote_addr",
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
            "no line contains a referrer, so fleet-no-referrers cannot be evaluated: use the combined log format, or log http_referer"
                .to_owned(),
        );
    }
    if !has_robots_txt {
        let text = "conduct-closed cannot be evaluated without --robots-txt";
        sentences.push(text.to_owned());
    }
    sentences.push(
        "logs do not contain most request headers, so a fleet whose User-Agent is also used by many human visitors cannot be found"
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
