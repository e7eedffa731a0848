//! Handles the commands for a run, and sends the heartbeat of an instance.

use tokio::sync::watch;

use robot_detection_store::store::RunCommand;

use super::{RobotState, SiteRobotError, has_ended, run_loop::RunLoop};

impl RunLoop {
    /// Executes a command from the handle, and passes the command on to the other instances.
    pub(super) async fn handle_command(
        &mut self,
        changed: Result<(), watch::error::RecvError>,
        orders: &watch::Receiver<RunCommand>,
    ) -> Result<(), SiteRobotError> {
        if changed.is_ok() {
            let wanted = *orders.borrow();
            self.apply_command(wanted);
            let settings = self.visitor.settings();
            settings
                .frontier()
                .set_run_command(&settings.site, wanted)
                .await?;
        }
        Ok(())
    }

    fn apply_command(&mut self, wanted: RunCommand) {
        self.wanted = wanted;
        self.update_progress(|progress| {
            progress.state = match wanted {
                RunCommand::Run => RobotState::Running,
                RunCommand::Pause => RobotState::Paused,
                RunCommand::Stop => RobotState::Stopping,
            };
        });
    }

    /// Renews the lease of this instance, and reads commands from other instances.
    pub(super) async fn heartbeat(&mut self) -> Result<(), SiteRobotError> {
        let settings = self.visitor.settings();
        let (frontier, site, run_id) = (settings.frontier(), &settings.site, self.run.run_id);
        let now_ms = settings.clock.now_ms();
        frontier
            .heartbeat(site, run_id, &settings.instance, now_ms)
            .await?;
        // A process that was killed has not released anything, and its lease has not yet expired.
        for other in frontier
            .other_holders(site, run_id, &settings.instance)
            .await?
        {
            if has_ended(&other) {
                frontier.release_urls(site, run_id, &other).await?;
            }
        }
        if settings.logs_at(5) {
            let progress = self.visitor.shared.progress.borrow();
            let (fetched, waiting) = (progress.counts.fetched, progress.waiting);
            tracing::info!(fetched, waiting, "the site robot is visiting {site}");
        }
        let open = frontier.open_run(site).await?;
        (self.may_have_more, self.is_look_due) = (true, true);
        match open.filter(|open| open.run_id == self.run.run_id) {
            Some(open) if open.wanted != self.wanted => self.apply_command(open.wanted),
            Some(_) => self.update_progress(|_| {}),
            // Another instance has ended the run, or the run has been abandoned.
            None => self.is_over = true,
        }
        Ok(())
    }

    /// Returns `true` if no instance has any URLs left to visit.
    pub(super) async fn is_done(&self) -> Result<bool, SiteRobotError> {
        let settings = self.visitor.settings();
        let open = settings
            .frontier()
            .open_urls(&settings.site, self.run.run_id)
            .await?;
        Ok(!open.has_waiting && !open.has_taken && open.next_due_ms.is_none())
    }
}
