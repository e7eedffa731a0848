//! Checks the verification of robots' claims, including address lists and resolvers.

use crate::app::{self, ClaimProver, Verification};
use crate::clock::Clock;
use crate::verify::{Method, RangesState};

use super::{
    super::context,
    check::{Check, Subject},
};

const NAME: &str = "verification";

const RESOLVER: &str = "resolver";

const HOUR_MS: i64 = 3_600_000;

/// Checks the verification methods, and reports unusable lists and resolvers.
pub(super) async fn verification(
    subject: &Subject<'_>,
    offline: bool,
) -> anyhow::Result<Vec<Check>> {
    let verification = app::verification(&subject.settings.verify);
    let methods = Method::ALL
        .iter()
        .filter(|method| verification.uses(**method));
    let methods: Vec<_> = methods.map(|method| method.as_str()).collect();
    if methods.is_empty() {
        let off = "off: every claim is unverifiable; set verify.enabled and verify.methods";
        return Ok(vec![Check::new(NAME, Ok(off.to_owned()))]);
    }
    let mut checks = Vec::new();
    let mut lists = String::new();
    if verification.uses(Method::Ranges)
        && let Ok(prover) = context::claim_prover(subject.loaded).await
    {
        let states = prover.lists();
        lists = summary(&states, Clock::system().now_ms());
        checks.extend(states.iter().filter_map(|state| {
            let url = &state.url;
            let text = match (&state.error, state.is_stale) {
                (Some(error), _) if !state.has_copy() => {
                    format!("the list {url} has never been downloaded: {error}")
                }
                (Some(error), _) => format!("the list {url} cannot be refreshed: {error}"),
                (None, true) => {
                    format!("the list {url} is too old to prove that a robot is spoofed")
                }
                (None, false) => return None,
            };
            Some(Check::warning(NAME, text))
        }));
    }
    let spoofed = &subject.settings.verify.spoofed;
    let methods = methods.join(", ");
    let text = format!("by {methods}{lists}; spoofed robots: {spoofed}");
    checks.insert(0, Check::new(NAME, Ok(text)));
    if verification.uses(Method::ReverseDns) && !offline {
        checks.extend(resolvers(&verification).await);
    }
    Ok(checks)
}

/// Queries each resolver; the system's resolvers cause only warnings, because they are not
/// configured here.
async fn resolvers(verification: &Verification) -> Vec<Check> {
    let is_named = !verification.resolvers().is_empty();
    let failed = |text: String| {
        if is_named {
            Check::new(RESOLVER, Err(text))
        } else {
            Check::warning(RESOLVER, text)
        }
    };
    let advice = "without a working resolver, robots cannot be verified by host name";
    let checks = match ClaimProver::check_resolvers(verification).await {
        Ok(checks) => checks,
        Err(error) => {
            return vec![failed(format!("{error}; set verify.dns_servers: {advice}"))];
        }
    };
    let whose = if is_named { "" } else { " (system resolver)" };
    let told = checks.into_iter().map(|check| {
        let (server, took_ms) = (check.server, check.took.as_millis());
        match check.error {
            None if check.is_without_names => Check::warning(
                RESOLVER,
                format!(
                    "{server}{whose} answers in {took_ms} ms, but does not return the names of well-known addresses: robots that are verified only by host name are unverifiable; in verify.dns_servers, set a resolver that supports reverse lookups"
                ),
            ),
            None => {
                let text = format!("{server}{whose} answers in {took_ms} ms");
                Check::new(RESOLVER, Ok(text))
            }
            Some(error) => failed(format!(
                "{server}{whose} failed after {took_ms} ms: {error}; check verify.dns_servers: {advice}"
            )),
        }
    });
    told.collect()
}

/// Returns the number of lists, and the time since the least recently checked list was checked.
fn summary(states: &[RangesState], now_ms: i64) -> String {
    let prefixes: usize = states.iter().map(|state| state.prefixes).sum();
    let oldest_ms = states.iter().filter_map(|state| state.checked_ms).min();
    let had = states.iter().filter(|state| state.has_copy()).count();
    let of = match states.len() {
        all if all == had => String::new(),
        all => format!(" of {all}"),
    };
    let age = oldest_age(oldest_ms, now_ms);
    format!("; {had}{of} lists with {prefixes} address ranges{age}")
}

/// Returns the time since a list was last checked, if the list was ever checked.
pub(super) fn age(checked_ms: Option<i64>, now_ms: i64) -> String {
    let Some(at_ms) = checked_ms else {
        return String::new();
    };
    match now_ms.saturating_sub(at_ms).max(0) / HOUR_MS {
        0 => ", checked in the last hour".to_owned(),
        hours @ 1..48 => format!(", checked {hours} h ago"),
        hours => format!(", checked {} days ago", hours / 24),
    }
}

fn oldest_age(oldest_ms: Option<i64>, now_ms: i64) -> String {
    let age = age(oldest_ms, now_ms);
    let first = if age.ends_with("hour") {
        "all"
    } else {
        "the oldest"
    };
    age.replacen(", ", &format!(", {first} "), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    #[test]
    fn age_of_the_oldest_list_is_shown() {
        assert_eq!(summary(&[], 0), "; 0 lists with 0 address ranges");
        for (ago_ms, text) in [
            (0, "all checked in the last hour"),
            (-5, "all checked in the last hour"),
            (HOUR_MS, "the oldest checked 1 h ago"),
            (47 * HOUR_MS, "the oldest checked 47 h ago"),
            (80 * HOUR_MS, "the oldest checked 3 days ago"),
        ] {
            assert_eq!(
                oldest_age(Some(NOW_MS - ago_ms), NOW_MS),
                format!(", {text}")
            );
        }
    }
}
