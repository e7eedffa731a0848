//! Every five minutes: is a source due?
//!
//! The cron job only rings; the refresh runs in the loop that hears it. So
//! runs never overlap, and the end of the program waits for them. Of the
//! scheduler only cron-type jobs in UTC are used: the repeated ones die after
//! a pause of the whole process, and local time jumps twice a year.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tracing::error;

use super::{Trigger, refresher::Refresher};

/// Second, minute, hour, day, month, weekday.
const EVERY_FIVE_MINUTES: &str = "0 */5 * * * *";
/// Longest wait after a ring, so that not all programs in the world come at once.
const LONGEST_SPREAD: Duration = Duration::from_mins(4);

impl Refresher {
    /// Refreshes what is due, now and at each ring, until the program ends.
    pub(super) async fn keep_schedule(&self) {
        self.refresh_due(Trigger::Start).await;
        // One place: rings that come during a refresh are one ring.
        let (ring, mut rings) = mpsc::channel(1);
        let mut bell = match start_bell(ring).await {
            Ok(bell) => bell,
            Err(error) => {
                error!("the registry will not refresh itself, only by hand: {error}");
                return;
            }
        };
        let stop = &self.shared.stop;
        while let Some(Some(())) = stop.run_until_cancelled(rings.recv()).await {
            self.hear().await;
        }
        if let Err(error) = bell.shutdown().await {
            error!("the schedule did not end in order: {error}");
        }
    }

    /// Refreshes what is due, some time after the ring.
    async fn hear(&self) {
        if !self.is_any_due().await {
            return;
        }
        let spread = LONGEST_SPREAD.mul_f64(fastrand::f64());
        let sleep = tokio::time::sleep(spread);
        self.shared.stop.run_until_cancelled(sleep).await;
        // A program that is ending comes here too: each attempt then gives up at once.
        self.refresh_due(Trigger::Schedule).await;
    }

    /// Returns `true` if a source is due, or if that is unknown: the refresh then reports the fault.
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
        // A ring that is not heard yet stands for this one too.
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
    async fn the_bell_rings_at_whole_five_minutes_of_utc() {
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
