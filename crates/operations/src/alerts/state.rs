//! The states of an alert, and the times at which its receiver is notified.

use super::Event;
use robot_detection_store::store::AlertState;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Time without findings after which an alert ends.
///
/// A figure that fluctuates around its threshold therefore raises a single alert instead of many.
const CALM_MS: i64 = 10 * MINUTE_MS;

/// Maximum time between two delivery attempts.
const LONGEST_PAUSE_MS: i64 = HOUR_MS;

/// Records the findings of an evaluation.
pub(super) fn observe(state: &mut AlertState, findings: &[String], now_ms: i64) {
    if findings.is_empty() {
        if state.is_firing && now_ms.saturating_sub(state.seen_ms) >= CALM_MS {
            state.is_firing = false;
            state.since_ms = now_ms;
        }
        return;
    }
    if !state.is_firing {
        state.is_firing = true;
        state.since_ms = now_ms;
    }
    state.seen_ms = now_ms;
    state.findings = findings.join("\n");
}

/// Returns the event that must be reported to the alert's receiver now, if any.
///
/// Only the difference from the last delivered state is reported, so a receiver that was down for a
/// day gets a single message, or none if the alert has ended in the meantime.
pub(super) fn due(state: &AlertState, now_ms: i64) -> Option<Event> {
    if now_ms < next_attempt_ms(state) {
        return None;
    }
    match (state.is_firing, state.is_told) {
        (true, false) => Some(Event::Begun),
        (true, true) if now_ms.saturating_sub(state.told_ms) >= DAY_MS => Some(Event::Lasting),
        (false, true) => Some(Event::Ended),
        _ => None,
    }
}

/// Records the result of a delivery attempt.
pub(super) fn record_attempt(state: &mut AlertState, result: &Result<(), String>, now_ms: i64) {
    state.tried_ms = now_ms;
    match result {
        Ok(()) => {
            state.is_told = state.is_firing;
            state.told_ms = now_ms;
            state.failures = 0;
            state.error.clear();
        }
        Err(error) => {
            state.failures = state.failures.saturating_add(1);
            state.error.clone_from(error);
        }
    }
}

/// Returns the earliest time of the next delivery attempt: 1, 2, 4 … minutes, and at most an hour,
/// after the failed attempt.
fn next_attempt_ms(state: &AlertState) -> i64 {
    let Some(doublings) = state.failures.checked_sub(1) else {
        return i64::MIN;
    };
    let pause_ms = MINUTE_MS << doublings.min(6);
    state
        .tried_ms
        .saturating_add(pause_ms.min(LONGEST_PAUSE_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time at which the tests start: 2026-03-01T12:00:00Z.
    const NOW_MS: i64 = 1_772_366_400_000;

    fn found() -> Vec<String> {
        vec!["One.".to_owned()]
    }

    fn tell(state: &mut AlertState, now_ms: i64, is_taken: bool) -> Option<Event> {
        let due = due(state, now_ms);
        if due.is_some() {
            let result = if is_taken {
                Ok(())
            } else {
                Err("down".to_owned())
            };
            record_attempt(state, &result, now_ms);
        }
        due
    }

    #[test]
    fn alert_sends_a_message_at_its_start_daily_and_at_its_end() {
        let mut state = AlertState::default();
        let mut told = Vec::new();
        for minute in 0..(50 * 60) {
            let now_ms = NOW_MS + minute * MINUTE_MS;
            // The finding is absent for nine of every ten minutes and ends after two days.
            let is_found = minute % 10 == 0 && minute < 49 * 60;
            let findings = if is_found { found() } else { Vec::new() };
            observe(&mut state, &findings, now_ms);
            told.extend(tell(&mut state, now_ms, true));
        }
        let expected = [Event::Begun, Event::Lasting, Event::Lasting, Event::Ended];
        assert_eq!(told, expected);
    }

    #[test]
    fn attempts_back_off_and_only_the_latest_state_is_reported() {
        let mut state = AlertState::default();
        let mut attempts = 0;
        for minute in 0..(24 * 60) {
            let now_ms = NOW_MS + minute * MINUTE_MS;
            observe(&mut state, &found(), now_ms);
            attempts += i32::from(tell(&mut state, now_ms, false).is_some());
        }
        assert!((20..40).contains(&attempts), "{attempts}");
        let now_ms = NOW_MS + DAY_MS + HOUR_MS;
        observe(&mut state, &found(), now_ms);
        assert_eq!(tell(&mut state, now_ms, true), Some(Event::Begun));
        assert_eq!(tell(&mut state, now_ms + 1, true), None);
        // An alert that starts and ends while the receiver is down is never reported.
        observe(&mut state, &[], now_ms + CALM_MS);
        assert_eq!(tell(&mut state, now_ms + CALM_MS, true), Some(Event::Ended));
        let mut down = AlertState::default();
        observe(&mut down, &found(), NOW_MS);
        assert_eq!(tell(&mut down, NOW_MS, false), Some(Event::Begun));
        observe(&mut down, &[], NOW_MS + HOUR_MS);
        assert_eq!(tell(&mut down, NOW_MS + HOUR_MS, true), None);
    }
}
