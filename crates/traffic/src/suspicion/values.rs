//! Formats fleets and suspicious addresses as JSON and text.

use robot_detection_fleets::{Conduct, Fleet, Reasons};
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Returns a JSON value that describes a fleet.
pub fn fleet_value(fleet: &Fleet) -> Value {
    let figures = &fleet.figures;
    json!({
        "user_agent": &*fleet.user_agent,
        "requests": figures.requests,
        "addresses": figures.addresses,
        "per_address": figures.per_address,
        "assets_share": figures.assets,
        "pages_share": figures.share,
        "usual_pages_share": figures.usual_share,
        "since": moment(fleet.since_s),
        "until": moment(fleet.until_s),
        "reasons": reasons_value(fleet.reasons),
        "samples": fleet.samples.iter().map(|path| &**path).collect::<Vec<_>>(),
    })
}

/// Returns a JSON value that describes an address or network with suspicious behaviour.
pub fn conduct_value(conduct: &Conduct) -> Value {
    json!({
        "network": conduct.network().to_string(),
        "requests": conduct.requests,
        "pages": conduct.pages,
        "paths": conduct.paths,
        "not_found": conduct.missing,
        "since": moment(conduct.since_s),
        "until": moment(conduct.until_s),
        "reasons": reasons_value(conduct.reasons),
    })
}

fn reasons_value(reasons: Reasons) -> Value {
    let value = reasons.iter().map(|reason| {
        json!({
            "code": reason.code(),
            "sentence": reason.sentence(),
            "weight": reason.weight(),
        })
    });
    value.collect()
}

/// Formats a time, given in seconds since 1970, as RFC 3339; a time out of range is formatted as
/// 1970.
pub fn moment(at_s: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at_s).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    at.format(&Rfc3339).unwrap_or_default()
}

/// Formats a share as a percentage, such as `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
