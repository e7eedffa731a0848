//! What was found, as cards and as JSON.

use serde_json::{Value, json};

use crate::cli::suspects::cards;
use crate::suspicion::{conduct_value, fleet_value, moment};

use super::read::{Counts, Found};

/// Returns cards for people.
pub(super) fn text(found: &Found, counts: &Counts) -> String {
    format!(
        "{} requests of people judged, of {} lines\n{}",
        counts.judged,
        counts.lines,
        cards(&fleets(found), &conduct(found))
    )
}

/// Returns what this log cannot tell, a sentence each.
pub(super) fn cannot_tell(counts: &Counts, has_robots_txt: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    if counts.unreadable * 2 > counts.lines {
        sentences.push(format!(
            "{} of {} lines cannot be read: the common, the combined and JSON forms can, with a time each",
            counts.unreadable, counts.lines
        ));
    }
    if counts.without_client > 0 {
        sentences.push(format!(
            "{} requests name no client's address and were not judged; log it in front, or as remote_addr",
            counts.without_client
        ));
    }
    if counts.late > 0 {
        sentences.push(format!(
            "{} requests are older than those before them, and were judged later than they came",
            counts.late
        ));
    }
    if counts.judged == 0 {
        return sentences;
    }
    if counts.referred == 0 {
        sentences.push(
            "no line names a referrer, so fleet-no-referrers cannot be told: log the combined form, or http_referer"
                .to_owned(),
        );
    }
    if !has_robots_txt {
        let text = "conduct-closed cannot be told without --robots-txt";
        sentences.push(text.to_owned());
    }
    sentences.push(
        "no log tells how a client's headers look: a fleet under a User-Agent that many people have is hidden among them"
            .to_owned(),
    );
    sentences
}

/// Returns all of it as JSON.
pub(super) fn value(found: &Found, counts: &Counts, has_robots_txt: bool) -> Value {
    json!({
        "fleets": fleets(found),
        "conduct": conduct(found),
        "lines": counts.lines,
        "unreadable": counts.unreadable,
        "judged": counts.judged,
        "cannot_tell": cannot_tell(counts, has_robots_txt),
    })
}

fn fleets(found: &Found) -> Vec<Value> {
    let told = found.fleets.iter();
    let told = told.map(|told| with_until(fleet_value(&told.flagged), told.until_s));
    told.collect()
}

fn conduct(found: &Found) -> Vec<Value> {
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
