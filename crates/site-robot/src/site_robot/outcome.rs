//! Determines the meaning of a response before its body is read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use robot_detection_store::store::{ClaimedUrl, Loss};

use super::source::{PageResponse, SourceError};

/// Maximum pause that a server can request.
const MAX_HOLD: Duration = Duration::from_mins(10);

/// Meaning of a server's response for the URL that was visited.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ResponseMeaning {
    /// The response is a page to be processed.
    Page,
    /// The page has not changed.
    Unmodified,
    /// The page has moved to another URL.
    Moved(String),
    /// The URL has no page to describe.
    Gone {
        /// Reason why there is nothing to describe.
        reason: String,
        /// Consequence for an existing description of the page.
        loss: Loss,
    },
    /// The URL currently has no page, but may have one later.
    Passing {
        /// Reason why there is currently no page.
        reason: String,
        /// Pause that the server has requested before the next attempt.
        hold: Option<Duration>,
    },
}

/// Returns the meaning of a response, based on its status.
pub(super) fn meaning(
    answer: &PageResponse,
    was_conditional: bool,
    now_ms: i64,
) -> ResponseMeaning {
    let status = answer.status;
    match status {
        200 | 203 => match unknown_coding(answer) {
            None => ResponseMeaning::Page,
            Some(coding) => gone(
                format!("unsupported content coding {coding}"),
                Loss::Missing,
            ),
        },
        // A 304 response to an unconditional request contains no page and is treated like any other
        // status.
        304 if was_conditional => ResponseMeaning::Unmodified,
        301 | 302 | 303 | 307 | 308 => match answer.location() {
            Some(location) => ResponseMeaning::Moved(location),
            None => gone(
                format!("status {status} without a redirect target"),
                Loss::Missing,
            ),
        },
        // These statuses are temporary: too early (RFC 8470 §5.2), too many requests (RFC 6585 §4),
        // and server errors.
        408 | 425 | 429 | 500..=599 => ResponseMeaning::Passing {
            reason: format!("status {status}"),
            // A run must end, even if a server requests a longer pause.
            hold: answer.retry_after(time(now_ms)).map(|it| it.min(MAX_HOLD)),
        },
        _ => gone(format!("status {status}"), loss_of(status)),
    }
}

fn gone(reason: String, loss: Loss) -> ResponseMeaning {
    ResponseMeaning::Gone { reason, loss }
}

/// Returns the kind of loss that results from a status without a page.
fn loss_of(status: u16) -> Loss {
    match status {
        401 | 407 => Loss::Locked,
        403 => Loss::Forbidden,
        // Status 451 also refers to the page itself (RFC 7725).
        410 | 451 => Loss::Told,
        _ => Loss::Gone,
    }
}

/// Returns the content coding of a body that could not be decompressed.
fn unknown_coding(answer: &PageResponse) -> Option<String> {
    let coding = answer.text(&http::header::CONTENT_ENCODING)?;
    let shown: String = coding.chars().take(50).collect();
    (!coding.eq_ignore_ascii_case("identity")).then(|| shown.escape_debug().to_string())
}

/// Returns the meaning of a request that received no response.
pub(super) fn meaning_of_error(error: &SourceError) -> ResponseMeaning {
    let reason = error.to_string();
    if error.is_temporary() {
        return ResponseMeaning::Passing { reason, hold: None };
    }
    match error {
        // The page is excluded by our own limit.
        SourceError::TooLarge { .. } => gone(reason, Loss::Excluded),
        SourceError::Login { .. } | SourceError::Locked { .. } => gone(reason, Loss::Locked),
        _ => gone(reason, Loss::Missing),
    }
}

/// Returns the time of the next attempt for a failed page, or `None` if there are no attempts left.
pub(super) fn retry_ms(
    claimed: &ClaimedUrl,
    (retries, delay): (u32, Duration),
    hold: Option<Duration>,
    now_ms: i64,
) -> Option<i64> {
    if claimed.attempts >= retries {
        return None;
    }
    // Each pause is four times as long as the previous one, to relieve a server in trouble.
    let factor = 4_u32.saturating_pow(claimed.attempts);
    let pause = delay.saturating_mul(factor);
    let pause = pause.max(hold.unwrap_or_default()).min(MAX_HOLD);
    Some(now_ms.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)))
}

/// Converts milliseconds since 1970 to a system time.
pub(super) fn time(now_ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(now_ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(5);

    #[test]
    fn each_pause_is_four_times_the_previous_one() {
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
