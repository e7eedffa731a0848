//! URLs are taken from the database while visits go on.

use std::sync::Arc;

use robot_detection_store::store::{ClaimedUrl, RunCommand};

use super::run_loop::{LOW, RunLoop, TaskResult};

/// URLs of one host that are taken at once.
const MAX_CLAIM: usize = 256;

impl RunLoop {
    /// Looks for URLs to take while there is room for them.
    pub(super) fn fill(&mut self) {
        let max = self.visitor.settings().conf.max_working;
        // Filled up once half is gone, so that a claim is worth its transaction.
        let is_full = self.hosts.queued() > max / 2;
        if self.is_taking || is_full || !self.may_have_more || !self.goes_on() {
            return;
        }
        // Others may have found hosts that are not known here: one look a tick is for them.
        if !self.is_look_due && !self.hosts.is_any_below(LOW) {
            return;
        }
        // What is found from now on is more.
        (self.is_look_due, self.may_have_more, self.is_taking) = (false, false, true);
        let (visitor, run_id) = (Arc::clone(&self.visitor), self.run.run_id);
        self.work.spawn(async move {
            let settings = visitor.settings();
            let hosts = settings.frontier().waiting_hosts(&settings.site, run_id);
            Ok(TaskResult::WaitingHosts(hosts.await?))
        });
    }

    /// Claims URLs of hosts that have some, of each as many as there is room for.
    pub(super) fn take(&mut self, hosts: Vec<String>) {
        let max = self.visitor.settings().conf.max_working;
        // Hosts share the room: a large one must not keep the others out of memory.
        let share = (max / hosts.len().max(1)).clamp(1, MAX_CLAIM);
        let mut room = max.saturating_sub(self.hosts.queued());
        let mut wanted = Vec::new();
        for host in hosts {
            let count = share.saturating_sub(self.hosts.queued_of(&host)).min(room);
            room -= count;
            if let Some(count) = u32::try_from(count).ok().filter(|count| *count > 0) {
                wanted.push((host, count));
            }
        }
        if wanted.is_empty() || !self.goes_on() {
            // What a pause or a stop keeps from being claimed is still there.
            self.may_have_more |= !self.goes_on();
            self.taken(Vec::new());
            return;
        }
        let (visitor, run_id) = (Arc::clone(&self.visitor), self.run.run_id);
        self.work_beside(async move {
            let settings = visitor.settings();
            let (site, holder) = (&settings.site, &settings.instance);
            let claimed = settings
                .frontier()
                .claim_urls(site, run_id, holder, &wanted);
            Ok(TaskResult::Claimed(claimed.await?))
        });
    }

    /// Queues what was taken.
    pub(super) fn taken(&mut self, claimed: Vec<ClaimedUrl>) {
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
