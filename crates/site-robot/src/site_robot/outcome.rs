//! The meaning of an answer, before its body is read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use robot_detection_store::store::{ClaimedUrl, Loss};

use super::source::{PageResponse, SourceError};

/// Longest time that a server may ask us to wait.
const MAX_HOLD: Duration = Duration::from_mins(10);

/// Meaning of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum AnswerMeaning {
    /// A page, to be read.
    Page,
    /// The page is as it was.
    Unmodified,
    /// The page is elsewhere.
    Moved(String),
    /// There is nothing to describe.
    Gone {
        /// Reason.
        reason: String,
        /// Loss of the description that follows.
        loss: Loss,
    },
    /// There may be something later.
    Passing {
        /// Reason why there is nothing now.
        reason: String,
        /// Time that the server asks us to wait.
        hold: Option<Duration>,
    },
}

/// Returns the meaning of an answer, by its status.
pub(super) fn meaning(answer: &PageResponse, was_conditional: bool, now_ms: i64) -> AnswerMeaning {
    let status = answer.status;
    match status {
        200 | 203 => match unknown_coding(answer) {
            None => AnswerMeaning::Page,
            Some(coding) => gone(
                format!("nobody asked for the coding {coding}"),
                Loss::Missing,
            ),
        },
        // A 304 that was not asked for brings no page: it counts as any other status.
        304 if was_conditional => AnswerMeaning::Unmodified,
        301 | 302 | 303 | 307 | 308 => match answer.location() {
            Some(location) => AnswerMeaning::Moved(location),
            None => gone(
                format!("the answer {status} names no place to go to"),
                Loss::Missing,
            ),
        },
        // Statuses that say of themselves that they pass: too early (RFC 8470 §5.2), too many
        // requests (RFC 6585 §4), and faults of the server.
        408 | 425 | 429 | 500..=599 => AnswerMeaning::Passing {
            reason: format!("status {status}"),
            // A run has to end, whatever a server asks for.
            hold: answer.retry_after(time(now_ms)).map(|it| it.min(MAX_HOLD)),
        },
        _ => gone(format!("status {status}"), loss_of(status)),
    }
}

fn gone(reason: String, loss: Loss) -> AnswerMeaning {
    AnswerMeaning::Gone { reason, loss }
}

/// Returns the loss that follows from a status without a page.
fn loss_of(status: u16) -> Loss {
    match status {
        401 | 407 => Loss::Locked,
        403 => Loss::Forbidden,
        // 451 too is said of the page itself (RFC 7725).
        410 | 451 => Loss::Told,
        _ => Loss::Gone,
    }
}

/// Returns the coding of a body that was not decompressed.
fn unknown_coding(answer: &PageResponse) -> Option<String> {
    let coding = answer.text(&http::header::CONTENT_ENCODING)?;
    let shown: String = coding.chars().take(50).collect();
    (!coding.eq_ignore_ascii_case("identity")).then(|| shown.escape_debug().to_string())
}

/// Returns the meaning of a request without an answer.
pub(super) fn meaning_of_error(error: &SourceError) -> AnswerMeaning {
    let reason = error.to_string();
    if error.is_temporary() {
        return AnswerMeaning::Passing { reason, hold: None };
    }
    match error {
        // Our own limit leaves it out.
        SourceError::TooLarge { .. } => gone(reason, Loss::Excluded),
        SourceError::Login { .. } | SourceError::Locked { .. } => gone(reason, Loss::Locked),
        _ => gone(reason, Loss::Missing),
    }
}

/// Returns when a page that failed is tried again; nothing when it has had its chances.
pub(super) fn retry_ms(
    claimed: &ClaimedUrl,
    (retries, delay): (u32, Duration),
    hold: Option<Duration>,
    now_ms: i64,
) -> Option<i64> {
    if claimed.attempts >= retries {
        return None;
    }
    // Each pause is four times the last, so that a server in trouble is left alone for longer.
    let factor = 4_u32.saturating_pow(claimed.attempts);
    let pause = delay.saturating_mul(factor);
    let pause = pause.max(hold.unwrap_or_default()).min(MAX_HOLD);
    Some(now_ms.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)))
}

/// Returns a moment as others take it.
pub(super) fn time(now_ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(now_ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(5);

    #[test]
    fn each_pause_is_four_times_the_last() {
        let mut claimed = ClaimedUrl::new("http://a/", "a:80");
        let mut pauses = Vec::new();
        while let Some(due_ms) = retry_ms(&claimed, (5, DELAY), None, 1_000) {
            pauses.push((due_ms - 1_000) / 1_000);
            claimed.attempts += 1;
        }
        assert_eq!(pauses, [5, 20, 80, 320, 600]);
        claimed.attempts = 0;
        assert_eq!(retry_ms(&claimed, (0, DELAY), None, 1_000), None);
        let hold = Some(Duration::from_mins(1));
        assert_eq!(retry_ms(&claimed, (1, DELAY), hold, 0), Some(60_000));
    }
}
