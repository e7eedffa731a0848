//! Scheduler that looks for due sources every five minutes.
//!
//! The cron job only sends a signal; the receiving loop runs the refresh. Therefore, refreshes
//! never overlap, and shutdown waits for them. Only cron-type jobs in UTC are used, because
//! repeated jobs stop after the process has been suspended, and local time jumps twice a year.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tracing::error;

use super::{Trigger, refresher::Refresher};

/// The cron expression, with the fields second, minute, hour, day, month and weekday.
const EVERY_FIVE_MINUTES: &str = "0 */5 * * * *";
/// The maximum random delay after a signal, so that different installations do not all send
/// requests at the same time.
const LONGEST_SPREAD: Duration = Duration::from_mins(4);

impl Refresher {
    /// Refreshes due sources immediately and at each signal, until shutdown.
    pub(super) async fn keep_schedule(&self) {
        self.refresh_due(Trigger::Start).await;
        // Capacity 1, so that several signals during a refresh are treated as one.
        let (ring, mut rings) = mpsc::channel(1);
        let mut bell = match start_bell(ring).await {
            Ok(bell) => bell,
            Err(error) => {
                error!("the refresh scheduler failed; refresh the registry manually: {error}");
                return;
            }
        };
        let stop = &self.shared.stop;
        while let Some(Some(())) = stop.run_until_cancelled(rings.recv()).await {
            self.hear().await;
        }
        if let Err(error) = bell.shutdown().await {
            error!("could not stop the refresh scheduler: {error}");
        }
    }

    /// Refreshes due sources at each signal, after a random delay.
    async fn hear(&self) {
        if !self.is_any_due().await {
            return;
        }
        let spread = LONGEST_SPREAD.mul_f64(fastrand::f64());
        let sleep = tokio::time::sleep(spread);
        self.shared.stop.run_until_cancelled(sleep).await;
        // Also reached during shutdown: each attempt then ends immediately.
        self.refresh_due(Trigger::Schedule).await;
    }

    /// Returns `true` if any source is due, or if the query fails: the refresh then reports the
    /// error.
    async fn is_any_due(&self) -> bool {
        for spec in self.sources() {
            let is_due = self.shared.is_due(&spec, Trigger::Schedule).await;
            if is_due.unwrap_or(true) {
                return true;
            }
        }
        false
    }
}

async fn start_bell(ring: mpsc::Sender<()>) -> Result<JobScheduler, JobSchedulerError> {
    let bell = JobScheduler::new().await?;
    let job = Job::new(EVERY_FIVE_MINUTES, move |_, _| {
        // A signal that is already pending makes this signal unnecessary.
        let _ = ring.try_send(());
    })?;
    bell.add(job).await?;
    bell.start().await?;
    Ok(bell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn schedule_signals_every_five_minutes_of_utc() {
        let mut bell = start_bell(mpsc::channel(1).0).await.unwrap();
        let until = bell.time_till_next_job().await.unwrap().unwrap();
        assert!(until <= Duration::from_mins(5), "{until:?}");
        let job = Job::new(EVERY_FIVE_MINUTES, |_, _| ()).unwrap();
        let id = bell.add(job).await.unwrap();
        let next = bell.next_tick_for_job(id).await.unwrap().unwrap();
        assert_eq!(next.timestamp() % 300, 0);
        bell.shutdown().await.unwrap();
    }
}
