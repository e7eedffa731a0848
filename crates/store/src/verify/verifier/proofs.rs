//! Running and waiting proofs for addresses; each proof runs only once, within limits.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::watch;

use robot_detection_layer::detect::Verdict;
use robot_detection_layer::layer::ClaimProof;
use robot_detection_layer::registry::Robot;

use super::dns_verdicts::DnsVerdictKey;

/// The maximum number of waiting proofs. Once this number is reached, further claims are not
/// verified for now.
const MAX_WAITING: usize = 20_000;

/// The maximum number of concurrent proofs for addresses.
// Equal to the default number of concurrent address lookups: more would wait there.
const MAX_WORKERS: usize = 64;

/// Running and waiting proofs for addresses.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<ProofJob>,
    under_way: HashMap<DnsVerdictKey, RunningProof>,
    workers: usize,
}

/// A proof for an address, ready to run.
#[derive(Debug)]
pub(super) struct ProofJob {
    pub(super) robot: Arc<Robot>,
    pub(super) address: IpAddr,
}

/// A proof for which requests are waiting, or for which requests have already passed without a
/// verdict.
#[derive(Debug)]
struct RunningProof {
    told: watch::Sender<Option<Verdict>>,
    proof: ClaimProof,
    /// The number of requests that arrived before the verdict.
    requests: u64,
}

/// The result of requesting a proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ProofStart {
    /// The proof is waiting or running.
    Yes(ClaimProof),
    /// The proof is waiting, and the caller must start a worker.
    NeedsWorker(ClaimProof),
    /// Too many proofs are already waiting.
    No,
}

/// A worker that runs proofs; the worker is counted until it is dropped.
#[derive(Debug)]
pub(super) struct Worker<'p> {
    proofs: &'p Proofs,
    is_counted: bool,
}

/// A guard of a running proof; dropping the guard removes the proof.
#[derive(Debug)]
pub(super) struct ProofGuard<'p> {
    proofs: &'p Proofs,
    key: DnsVerdictKey,
    is_told: bool,
}

impl Proofs {
    /// Queues a proof for a number of pending requests, unless it is already waiting or running.
    pub(super) fn begin(&self, robot: &Arc<Robot>, address: IpAddr, requests: u64) -> ProofStart {
        let key = DnsVerdictKey::new(address, robot);
        let mut state = self.state.lock();
        let State {
            waiting,
            under_way,
            workers,
        } = &mut *state;
        if let Some(known) = under_way.get_mut(&key) {
            known.requests += requests;
            return ProofStart::Yes(known.proof.clone());
        }
        if waiting.len() >= MAX_WAITING {
            return ProofStart::No;
        }
        let proof = ClaimProof::default();
        let running = RunningProof {
            told: watch::Sender::new(None),
            proof: proof.clone(),
            requests,
        };
        under_way.insert(key, running);
        waiting.push_back(ProofJob {
            robot: Arc::clone(robot),
            address,
        });
        if *workers < MAX_WORKERS {
            *workers += 1;
            return ProofStart::NeedsWorker(proof);
        }
        ProofStart::Yes(proof)
    }

    /// Returns a channel that receives the verdict, if the proof is waiting or running.
    pub(super) fn watch(&self, key: DnsVerdictKey) -> Option<watch::Receiver<Option<Verdict>>> {
        let state = self.state.lock();
        state
            .under_way
            .get(&key)
            .map(|under_way| under_way.told.subscribe())
    }

    /// Returns the worker that [`ProofStart::NeedsWorker`] requires.
    pub(super) fn worker(&self) -> Worker<'_> {
        Worker {
            proofs: self,
            is_counted: true,
        }
    }

    /// Returns the number of requests whose proofs are waiting or running.
    pub(super) fn pending(&self) -> u64 {
        let state = self.state.lock();
        let under_way = state.under_way.values();
        under_way.map(|under_way| under_way.requests).sum()
    }

    /// Removes all proofs. Tasks that wait for them are notified that there is no verdict.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        state.waiting.clear();
        state.under_way.clear();
    }

    /// Returns the number of waiting proofs and of workers.
    #[cfg(test)]
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.waiting.len(), state.workers)
    }
}

impl<'p> Worker<'p> {
    /// Returns the next proof to run, or `None` to end the worker.
    pub(super) fn next(&mut self) -> Option<(ProofJob, ProofGuard<'p>)> {
        let mut state = self.proofs.state.lock();
        let Some(job) = state.waiting.pop_front() else {
            // Under the same lock, so that later proofs request a new worker.
            state.workers = state.workers.saturating_sub(1);
            self.is_counted = false;
            return None;
        };
        let key = DnsVerdictKey::new(job.address, &job.robot);
        let making = ProofGuard {
            proofs: self.proofs,
            key,
            is_told: false,
        };
        Some((job, making))
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            let mut state = self.proofs.state.lock();
            state.workers = state.workers.saturating_sub(1);
        }
    }
}

impl ProofGuard<'_> {
    /// Sends the verdict to waiting tasks, and the evidence for requests that have already passed.
    pub(super) fn announce(mut self, verdict: Verdict, evidence: &str) {
        self.is_told = true;
        if let Some(under_way) = self.proofs.state.lock().under_way.remove(&self.key) {
            under_way.proof.set_verdict(verdict, evidence);
            under_way.told.send_replace(Some(verdict));
        }
    }
}

impl Drop for ProofGuard<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.proofs.state.lock().under_way.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::registry::Source;

    fn robot() -> Arc<Robot> {
        Arc::new(Robot::new("examplebot", Source::bundled()))
    }

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(number).into()
    }

    fn begin(proofs: &Proofs, robot: &Arc<Robot>, number: u32) -> &'static str {
        match proofs.begin(robot, address(number), 1) {
            ProofStart::Yes(_) => "yes",
            ProofStart::NeedsWorker(_) => "needs worker",
            ProofStart::No => "no",
        }
    }

    #[test]
    fn same_proof_runs_once() {
        let (proofs, robot) = (Proofs::default(), robot());
        assert_eq!(begin(&proofs, &robot, 1), "needs worker");
        assert_eq!(begin(&proofs, &robot, 1), "yes");
        let mut worker = proofs.worker();
        let (job, making) = worker.next().unwrap();
        assert_eq!(job.address, address(1));
        assert_eq!(begin(&proofs, &robot, 1), "yes");
        let told = proofs
            .watch(DnsVerdictKey::new(address(1), &robot))
            .unwrap();
        making.announce(Verdict::Spoofed, "the address is elsewhere");
        assert_eq!(*told.borrow(), Some(Verdict::Spoofed));
        assert!(
            proofs
                .watch(DnsVerdictKey::new(address(1), &robot))
                .is_none()
        );
        assert!(worker.next().is_none());
        assert_eq!(proofs.load(), (0, 0));
    }

    #[test]
    fn workers_and_waiting_proofs_are_limited() {
        let (proofs, robot) = (Proofs::default(), robot());
        let mut begun = HashMap::new();
        for number in 0..u32::try_from(MAX_WAITING).unwrap() + 5 {
            *begun.entry(begin(&proofs, &robot, number)).or_insert(0) += 1;
        }
        assert_eq!(begun["needs worker"], MAX_WORKERS);
        assert_eq!(begun["no"], 5);
        assert_eq!(proofs.load(), (MAX_WAITING, MAX_WORKERS));
        proofs.abandon();
        assert_eq!(proofs.load().0, 0);
    }

    #[test]
    fn failed_worker_releases_its_slot_and_its_proof() {
        let (proofs, robot) = (Proofs::default(), robot());
        begin(&proofs, &robot, 1);
        let mut told = proofs
            .watch(DnsVerdictKey::new(address(1), &robot))
            .unwrap();
        let mut worker = proofs.worker();
        drop(worker.next());
        drop(worker);
        assert_eq!(proofs.load(), (0, 0));
        assert!(told.has_changed().is_err(), "channel still has a sender");
        assert_eq!(*told.borrow_and_update(), None);
        assert_eq!(begin(&proofs, &robot, 1), "needs worker");
    }
}
