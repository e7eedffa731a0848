//! Requests that are stored individually as evidence.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    mpsc,
};

use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_layer::layer::{ClaimProof, Noteworthy, Outcome, Visit, VisitSwitch};
use robot_detection_layer::policy::{Action, Breach, CountedViolation};
use robot_detection_store::store::{AddressRetention, BrokenRule, EVIDENCE_EVENTS, Evidence};

use super::{cell::Decision, cells::NO_VERDICT};

/// Maximum number of waiting notes per kind of event; the writer empties the queue every five
/// seconds.
const MAX_WAITING: usize = 512;

/// Maximum time to wait for the result of a verification; the longest verification takes a minute.
const PROOF_MS: i64 = 2 * 60 * 1_000;

/// Settings for the evidence that is stored.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceSettings {
    /// Number of days for which evidence is stored; the default is 30, and 0 disables evidence.
    pub days: u32,
    /// Part of each client address that is stored.
    pub addresses: AddressRetention,
}

/// A queue of requests that are on their way to the database.
#[derive(Debug)]
pub(super) struct EvidenceQueue {
    switch: VisitSwitch,
    keeps: bool,
    addresses: AddressRetention,
    sender: mpsc::Sender<Note>,
    receiver: Mutex<mpsc::Receiver<Note>>,
    /// Number of waiting notes for each event, in the order of [`EVIDENCE_EVENTS`].
    waiting: [AtomicUsize; EVIDENCE_EVENTS.len()],
    lost: AtomicU64,
}

/// A request that may be stored as evidence.
#[derive(Debug)]
pub(super) struct Note {
    evidence: Evidence,
    /// Verification of the robot's claim, if the verification was still running.
    proof: Option<ClaimProof>,
    /// Event under which the request is stored if the robot's claim is not disproved.
    otherwise: Option<&'static str>,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self {
            days: 30,
            addresses: AddressRetention::default(),
        }
    }
}

impl EvidenceQueue {
    /// Creates a queue; `keeps` specifies whether evidence is stored.
    pub(super) fn new(keeps: bool, addresses: AddressRetention) -> Self {
        let (sender, receiver) = mpsc::channel();
        let switch = VisitSwitch::default();
        switch.describe_noteworthy(keeps);
        Self {
            switch,
            keeps,
            addresses,
            sender,
            receiver: Mutex::new(receiver),
            waiting: Default::default(),
            lost: AtomicU64::new(0),
        }
    }

    /// Returns the switch that makes layers describe visits.
    pub(super) fn switch(&self) -> &VisitSwitch {
        &self.switch
    }

    /// Records a request with the description of the visit.
    #[cold]
    pub(super) fn record(&self, site: &str, outcome: &Outcome, visit: &Visit, status: u16) {
        let reason = outcome.noteworthy(visit.breach.is_some());
        if let Some(reason) = reason.filter(|_| self.keeps) {
            let evidence = self.evidence(site, outcome, visit, status);
            self.queue(reason, evidence, outcome, visit);
        }
    }

    /// Returns the notes added since the previous call, in order.
    pub(super) fn take(&self) -> Vec<Note> {
        // The receiver remains valid after a panic.
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: Vec<_> = receiver.try_iter().collect();
        for note in &taken {
            if let Some(waiting) = place(&note.evidence.event).and_then(|it| self.waiting.get(it)) {
                waiting.fetch_sub(1, Relaxed);
            }
        }
        self.switch.resume();
        taken
    }

    /// Counts requests that were dropped because the queue was full.
    pub(super) fn count_lost(&self, requests: u64) {
        self.lost.fetch_add(requests, Relaxed);
    }

    /// Returns the number of requests that were dropped because the queue was full.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed) + self.switch.paused_count()
    }

    fn queue(&self, reason: Noteworthy, mut evidence: Evidence, outcome: &Outcome, visit: &Visit) {
        let event = event(reason);
        let Some(waiting) = place(event).and_then(|place| self.waiting.get(place)) else {
            return;
        };
        // Each event has its own limit, so that a flood of one event does not displace other
        // events.
        if waiting.fetch_add(1, Relaxed) >= MAX_WAITING {
            waiting.fetch_sub(1, Relaxed);
            self.switch.pause(reason);
            return self.count_lost(1);
        }
        event.clone_into(&mut evidence.event);
        let is_pending = outcome.verdict() == Some(Verdict::Pending);
        let note = Note {
            evidence,
            proof: visit.proof.clone().filter(|_| is_pending),
            otherwise: otherwise(outcome, visit),
        };
        // Sending cannot fail, because the receiver lives as long as the sender.
        let _ = self.sender.send(note);
    }

    fn evidence(&self, site: &str, outcome: &Outcome, visit: &Visit, status: u16) -> Evidence {
        let kind = outcome.kind().unwrap_or(Kind::Person);
        let is_listed = kind == Kind::Listed;
        let kept = |address| self.addresses.stored_form(address, is_listed);
        let is_whole = self.addresses.is_whole(is_listed);
        let proof = visit.proof.as_ref().map_or("", ClaimProof::evidence);
        Evidence {
            at_ms: visit.at_ms,
            event: outcome
                .noteworthy(visit.breach.is_some())
                .map_or(Action::Pass.as_str(), event)
                .to_owned(),
            site: site.to_owned(),
            kind: kind.as_str().to_owned(),
            robot: outcome.robot().unwrap_or_default().to_owned(),
            verdict: outcome
                .verdict()
                .map_or(NO_VERDICT, Verdict::as_str)
                .to_owned(),
            decision: Decision::from_outcome(outcome).word().to_owned(),
            cause: outcome.cause().to_owned(),
            status,
            method: visit.method.to_string(),
            host: visit.host.to_string(),
            path: match kind {
                // The path of a trap does not reveal what a visitor reads.
                Kind::Person | Kind::Shared if !outcome.is_trap() => pattern(&visit.path),
                _ => visit.path.to_string(),
            },
            address: visit.address.map(kept).unwrap_or_default(),
            user_agent: visit.user_agent.to_string(),
            referrer: visit.referrer.to_string(),
            // The proof contains the client's address.
            proof: if is_whole { proof } else { "" }.to_owned(),
            broken: visit.breach.as_ref().map(broken),
            suspect: outcome.reasons().to_string(),
        }
    }

    /// Returns the evidence from a note, if any. While the verification is running, returns the
    /// note itself as an error.
    pub(super) fn settle(&self, note: Note, now_ms: i64) -> Result<Option<Evidence>, Box<Note>> {
        let Some(proof) = &note.proof else {
            return Ok(Some(note.evidence));
        };
        let is_late = note.evidence.at_ms.saturating_add(PROOF_MS) < now_ms;
        match proof.verdict() {
            None if !is_late => Err(Box::new(note)),
            Some(Verdict::Spoofed) => {
                let mut evidence = note.evidence;
                Verdict::Spoofed.as_str().clone_into(&mut evidence.verdict);
                if self
                    .addresses
                    .is_whole(evidence.kind == Kind::Listed.as_str())
                {
                    proof.evidence().clone_into(&mut evidence.proof);
                }
                Ok(Some(evidence))
            }
            found => Ok(note.otherwise.map(|event| Evidence {
                event: event.to_owned(),
                verdict: found.unwrap_or_default().as_str().to_owned(),
                ..note.evidence
            })),
        }
    }
}

/// Returns the event under which a request with this reason is stored.
fn event(reason: Noteworthy) -> &'static str {
    match reason {
        Noteworthy::Violation => "violation",
        Noteworthy::Trap => "trap",
        Noteworthy::Suspect => "suspect",
        Noteworthy::Action(action) => action.as_str(),
        _ => "impostor",
    }
}

/// Returns the event under which a request is stored if the robot's claim is not disproved.
fn otherwise(outcome: &Outcome, visit: &Visit) -> Option<&'static str> {
    if outcome.is_trap() {
        return Some(event(Noteworthy::Trap));
    }
    Noteworthy::of(outcome.decision(), None, visit.breach.is_some()).map(event)
}

fn place(event: &str) -> Option<usize> {
    EVIDENCE_EVENTS.iter().position(|known| *known == event)
}

/// Returns the pattern that is stored instead of a human visitor's path, to protect privacy.
fn pattern(path: &str) -> String {
    let below = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    match below {
        Some((directory, _)) if !directory.is_empty() => format!("/{directory}/*"),
        _ => "/*".to_owned(),
    }
}

fn broken(counted: &CountedViolation) -> BrokenRule {
    let ms =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    match &counted.breach {
        Breach::Disallowed {
            line,
            rule,
            group_line,
            ..
        } => BrokenRule::Rule {
            line: *line as u64,
            rule: rule.clone(),
            group_line: *group_line as u64,
            group: counted.group.clone(),
        },
        Breach::TooSoon { delay, gap, .. } => BrokenRule::Delay {
            delay_ms: ms(*delay),
            gap_ms: ms(*gap),
        },
        refused => BrokenRule::Rule {
            line: 0,
            rule: refused.to_string(),
            group_line: 0,
            group: String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_person_is_reduced_to_its_directory() {
        for (path, told) in [
            ("/", "/*"),
            ("/a-token-that-is-secret", "/*"),
            ("/orders/4711/edit", "/orders/*"),
            ("//x/y", "/*"),
            ("*", "/*"),
        ] {
            assert_eq!(pattern(path), told, "{path}");
        }
    }

    fn note(event: &str, proof: Option<ClaimProof>) -> Note {
        Note {
            evidence: Evidence {
                event: event.to_owned(),
                kind: "listed".to_owned(),
                verdict: "pending".to_owned(),
                ..Evidence::default()
            },
            proof,
            otherwise: None,
        }
    }

    #[test]
    fn pending_request_is_stored_once_its_claim_is_disproved() {
        let notes = EvidenceQueue::new(true, AddressRetention::default());
        let settle = |proof: &ClaimProof, now_ms| {
            notes.settle(note("impostor", Some(proof.clone())), now_ms)
        };
        let proof = ClaimProof::default();
        assert!(
            settle(&proof, 1_000).is_err(),
            "settled before the verification ended"
        );
        assert_eq!(
            settle(&proof, PROOF_MS + 1).unwrap(),
            None,
            "stored without a disproved claim"
        );
        proof.set_verdict(Verdict::Spoofed, "it is elsewhere");
        let kept = settle(&proof, 1_000).unwrap().unwrap();
        assert_eq!(
            (&*kept.verdict, &*kept.proof),
            ("spoofed", "it is elsewhere")
        );
        let proof = ClaimProof::with_verdict(Verdict::Verified, "");
        assert_eq!(settle(&proof, 1_000).unwrap(), None);
        let slowed = Note {
            otherwise: Some("slow"),
            ..note("impostor", Some(proof))
        };
        let kept = notes.settle(slowed, 1_000).unwrap().unwrap();
        assert_eq!((&*kept.verdict, &*kept.event), ("verified", "slow"));
    }

    #[test]
    fn dropped_notes_are_counted_and_do_not_displace_other_events() {
        let notes = EvidenceQueue::new(true, AddressRetention::default());
        let outcome = Outcome::default();
        let request = http::Request::get("/").body(()).unwrap();
        let visit = Visit::of(&request, None, 0);
        let [refused, slowed] = [Action::Refuse, Action::Slow].map(Noteworthy::Action);
        for _ in 0..MAX_WAITING + 3 {
            notes.queue(refused, Evidence::default(), &outcome, &visit);
        }
        notes.queue(slowed, Evidence::default(), &outcome, &visit);
        assert_eq!(notes.lost(), 3);
        assert_eq!(notes.take().len(), MAX_WAITING + 1);
        notes.queue(refused, Evidence::default(), &outcome, &visit);
        assert_eq!((notes.take().len(), notes.lost()), (1, 3));
    }
}
