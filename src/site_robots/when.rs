//! When does a site robot run? Decided without a clock or a database.

use crate::config::Schedule;
use crate::store::{RunCommand, StoredRun};

/// Pause between two rounds of a loop without a schedule, in milliseconds.
const ROUND_MS: i64 = 60 * 60 * 1_000;

/// Stop that was seen: of which run, and when first.
pub(super) type Stopped = (i64, i64);

/// Returns when the next round of a loop begins (`onCompletion=loop`), behind the end of the last.
///
/// That is the next time of the schedule; without one, an hour later.
pub(super) fn next_round_ms(schedule: Option<&Schedule>, finished_ms: i64) -> i64 {
    let next_ms = schedule.and_then(|schedule| schedule.next_ms(finished_ms));
    next_ms.unwrap_or_else(|| finished_ms.saturating_add(ROUND_MS))
}

/// Returns `true` if a site's run is to be begun, or resumed, now.
///
/// That is when a time of the schedule has passed since the last run began,
/// when there was none yet, and when one was cut off. A run that waits to be
/// resumed is left alone, one that was stopped until the next time of the schedule.
pub(super) fn is_due(
    schedule: &Schedule,
    last: Option<&StoredRun>,
    stopped: Option<Stopped>,
    now_ms: i64,
) -> bool {
    let Some(last) = last else { return true };
    let passed_since = |ms| {
        schedule
            .next_ms(ms)
            .is_some_and(|next_ms| next_ms <= now_ms)
    };
    match (last.finished_ms, last.wanted) {
        // Since it began and not since it ended: a run that is longer than the interval would skip
        // a time.
        (Some(_), _) => passed_since(last.started_ms),
        (None, RunCommand::Run) => true,
        (None, RunCommand::Pause) => false,
        (None, RunCommand::Stop) => {
            let seen = stopped.filter(|(run_id, _)| *run_id == last.run_id);
            seen.is_some_and(|(_, seen_ms)| passed_since(seen_ms))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    const HOUR_MS: i64 = 3_600_000;
    /// 2026-11-22T00:00:00Z
    const MIDNIGHT: i64 = 1_795_305_600_000;

    async fn run(finished: bool, wanted: RunCommand) -> StoredRun {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let (run, _) = store.frontier().begin_run("a", "", MIDNIGHT).await.unwrap();
        store.frontier().set_run_command("a", wanted).await.unwrap();
        if finished {
            store
                .frontier()
                .finish_run("a", run.run_id, 0, MIDNIGHT + 1)
                .await
                .unwrap();
        }
        store.frontier().run(run.run_id).await.unwrap()
    }

    #[test]
    fn expressions_are_of_utc() {
        let schedule = Schedule::parse("30 3 * * *").unwrap();
        assert_eq!(
            schedule.next_ms(MIDNIGHT),
            Some(MIDNIGHT + 3 * HOUR_MS + HOUR_MS / 2)
        );
        assert!(Schedule::parse("every day").is_err());
        assert!(Schedule::parse("").is_err());
    }

    #[test]
    fn a_loop_keeps_to_its_schedule_or_pauses_for_an_hour() {
        let schedule = Schedule::parse("0 3 * * *").unwrap();
        let three = MIDNIGHT + 3 * HOUR_MS;
        assert_eq!(next_round_ms(Some(&schedule), MIDNIGHT + 1), three);
        assert_eq!(next_round_ms(Some(&schedule), three), three + 24 * HOUR_MS);
        assert_eq!(next_round_ms(None, MIDNIGHT + 1), MIDNIGHT + HOUR_MS + 1);
        let every_second = Schedule::parse("* * * * * *").unwrap();
        assert_eq!(
            next_round_ms(Some(&every_second), MIDNIGHT),
            MIDNIGHT + 1_000
        );
    }

    #[tokio::test]
    async fn a_run_is_due_when_its_time_has_passed() {
        let schedule = Schedule::parse("0 * * * *").unwrap();
        let is_due = |last: Option<&StoredRun>, now_ms| is_due(&schedule, last, None, now_ms);
        assert!(is_due(None, MIDNIGHT));
        let finished = run(true, RunCommand::Run).await;
        assert!(!is_due(Some(&finished), MIDNIGHT + HOUR_MS - 1));
        assert!(is_due(Some(&finished), MIDNIGHT + HOUR_MS));
        assert!(is_due(
            Some(&run(false, RunCommand::Run).await),
            MIDNIGHT + 1
        ));
        let paused = run(false, RunCommand::Pause).await;
        assert!(!is_due(Some(&paused), MIDNIGHT + 9 * HOUR_MS));
    }

    #[tokio::test]
    async fn a_run_that_was_stopped_waits_for_the_next_time() {
        let schedule = Schedule::parse("0 * * * *").unwrap();
        let run = run(false, RunCommand::Stop).await;
        let seen_ms = MIDNIGHT + 2 * HOUR_MS + 5;
        let is_due = |stopped, now_ms| is_due(&schedule, Some(&run), stopped, now_ms);
        assert!(!is_due(None, seen_ms));
        assert!(!is_due(Some((run.run_id, seen_ms)), seen_ms + 60_000));
        assert!(is_due(Some((run.run_id, seen_ms)), MIDNIGHT + 3 * HOUR_MS));
        assert!(!is_due(
            Some((run.run_id + 1, seen_ms)),
            MIDNIGHT + 3 * HOUR_MS
        ));
    }
}
