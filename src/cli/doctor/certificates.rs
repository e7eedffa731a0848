//! Checks how long the certificates are valid.

use crate::clock::Clock;
use crate::listen::{CertificateState, Validity};

use super::{check::Check, run::Subject};

const DAY: u64 = 86_400;
/// Days before its end from which a certificate causes a warning.
///
/// One that is valid for less than 42 days does so in the last third of its time, when `listen`
/// renews those that it orders.
const WARNING_DAYS: u64 = 14;

pub(super) fn certificates(subject: &Subject<'_>) -> Vec<Check> {
    let now = u64::try_from(Clock::system().now_ms() / 1_000).unwrap_or_default();
    let states = subject
        .server
        .iter()
        .flat_map(|server| server.certificates());
    states.map(|state| certificate(&state, now)).collect()
}

fn certificate(state: &CertificateState, now: u64) -> Check {
    const NAME: &str = "certificate";
    // A certificate may have an address in place of a name, or nothing that is known to us.
    let names = match &*state.names.join(", ") {
        "" => state.file.display().to_string(),
        names => names.to_owned(),
    };
    let renew = if state.is_ordered {
        "the log of `serve` says why it is not renewed"
    } else {
        "renew it"
    };
    let Some(Validity {
        not_before,
        not_after,
    }) = state.validity
    else {
        let text = format!("{names}: not issued yet: `serve` orders it");
        return Check::new(NAME, Ok(text));
    };
    let days = not_after.abs_diff(now) / DAY;
    if not_after < now {
        let text = format!("{names}: expired {days} days ago: {renew}");
        return Check::new(NAME, Err(text));
    }
    if not_before > now {
        let text = format!("{names}: not valid yet: look at this machine's clock");
        return Check::new(NAME, Err(text));
    }
    let third = (not_after - not_before) / 3;
    if not_after - now < third.min(WARNING_DAYS * DAY) {
        return Check::warning(NAME, format!("{names}: expires in {days} days: {renew}"));
    }
    Check::new(NAME, Ok(format!("{names}: good for {days} days")))
}
