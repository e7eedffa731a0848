//! Claims URLs from the database during a run.

use std::sync::Arc;

use robot_detection_store::store::{ClaimedUrl, RunCommand};

use super::run_loop::{LOW, RunLoop, TaskResult};

/// Maximum number of URLs claimed at once from one host.
const MAX_CLAIM: usize = 256;

impl RunLoop {
    /// Looks for URLs to claim if there is room in the queue.
    pub(super) fn claim_if_room(&mut self) {
        let max = self.visitor.settings().conf.max_working;
        // The queue is refilled when it is half empty, so that each claim is worth a transaction.
        let is_full = self.hosts.queued() > max / 2;
        if self.is_taking || is_full || !self.may_have_more || !self.goes_on() {
            return;
        }
        // Other instances may have found new hosts, so each tick allows one search.
        if !self.is_look_due && !self.hosts.has_host_below(LOW) {
            return;
        }
        // URLs that are found from now on set the flag again.
        (self.is_look_due, self.may_have_more, self.is_taking) = (false, false, true);
        let (visitor, run_id) = (Arc::clone(&self.visitor), self.run.run_id);
        self.work.spawn(async move {
            let settings = visitor.settings();
            let hosts = settings.frontier().waiting_hosts(&settings.site, run_id);
            Ok(TaskResult::WaitingHosts(hosts.await?))
        });
    }

    /// Claims as many URLs as there is room for from hosts with waiting URLs.
    pub(super) fn claim_urls(&mut self, hosts: Vec<String>) {
        let max = self.visitor.settings().conf.max_working;
        // Hosts share the available room, so that a large host cannot crowd out the others.
        let share = (max / hosts.len().max(1)).clamp(1, MAX_CLAIM);
        let mut room = max.saturating_sub(self.hosts.queued());
        let mut wanted = Vec::new();
        for host in hosts {
            let count = share.saturating_sub(self.hosts.queued_for(&host)).min(room);
            room -= count;
            if let Some(count) = u32::try_from(count).ok().filter(|count| *count > 0) {
                wanted.push((host, count));
            }
        }
        if wanted.is_empty() || !self.goes_on() {
            // URLs that were not claimed because of a pause or stop are still waiting.
            self.may_have_more |= !self.goes_on();
            self.queue_claimed(Vec::new());
            return;
        }
        let (visitor, run_id) = (Arc::clone(&self.visitor), self.run.run_id);
        self.spawn_database_work(async move {
            let settings = visitor.settings();
            let (site, holder) = (&settings.site, &settings.instance);
            let claimed = settings
                .frontier()
                .claim_urls(site, run_id, holder, &wanted);
            Ok(TaskResult::Claimed(claimed.await?))
        });
    }

    /// Adds the claimed URLs to the queue.
    pub(super) fn queue_claimed(&mut self, claimed: Vec<ClaimedUrl>) {
        self.is_taking = false;
        self.may_have_more |= !claimed.is_empty();
        for claimed in claimed {
            self.hosts.push(claimed);
        }
    }

    fn goes_on(&self) -> bool {
        self.wanted == RunCommand::Run && !self.is_over
    }
}
