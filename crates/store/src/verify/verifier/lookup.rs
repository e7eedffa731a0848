//! Looks up verdicts in memory, and starts missing proofs.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::{sync::watch, time};
use tracing::debug;

use crate::verify::{Finding, SignatureProver, SignedRequest, proof::stronger};
use robot_detection_layer::detect::Verdict;
use robot_detection_layer::layer::{ClaimFinding, ClaimProof, ClaimedRequest};
use robot_detection_layer::registry::Robot;

use super::{
    Methods, Verifier,
    dns_verdicts::{CacheLookup, DnsVerdict, DnsVerdictKey},
    proofs::{ProofJob, ProofStart},
    signed::{ReplayedNonce, SignedJob},
};

/// The timeout for a proof in the background; the individual methods have shorter timeouts.
const PROOF_TIME: Duration = Duration::from_mins(1);

/// The minimum and maximum time for which a DNS verdict is valid.
const VALID_FOR: (Duration, Duration) = (Duration::from_mins(1), Duration::from_hours(24));

/// A request to be verified, with the input for the lookup.
#[derive(Clone, Copy)]
pub(super) struct ClaimLookup<'l> {
    pub(super) methods: &'l Methods,
    pub(super) robot: &'l Arc<Robot>,
    pub(super) request: &'l ClaimedRequest<'l>,
    pub(super) now_ms: i64,
}

/// The verdict on the signature of a request.
#[derive(Debug)]
struct SignatureLookup {
    found: ClaimFinding,
    /// Whether the signature has been used before.
    is_replay: bool,
}

/// The action to take for an address without a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum UnknownAddress {
    /// Start a proof, and count the request as waiting for the proof.
    Prove,
    /// Start a proof, but do not count the request.
    ProveUncounted,
    /// Do not start a proof.
    Leave,
}

impl From<Verdict> for SignatureLookup {
    fn from(verdict: Verdict) -> Self {
        Self {
            found: verdict.into(),
            is_replay: false,
        }
    }
}

impl Verifier {
    /// Returns the verdict on a claim from memory, and starts any missing proof.
    pub(super) fn find(&self, lookup: ClaimLookup<'_>) -> ClaimFinding {
        let SignatureLookup {
            found: by_signature,
            is_replay,
        } = self.find_signature(&lookup);
        match by_signature.verdict {
            Verdict::Verified => by_signature,
            // Do not wait for a proof, since the proof for the first request does not apply to a
            // replay.
            Verdict::Unverifiable if is_replay => {
                match self.find_address(&lookup, UnknownAddress::ProveUncounted) {
                    by_address if by_address.verdict != Verdict::Pending => by_address,
                    _ => by_signature,
                }
            }
            // If the signature proves nothing, the address determines the verdict.
            Verdict::Unverifiable => self.find_address(&lookup, UnknownAddress::Prove),
            // A pending request is already counted because of its signature.
            Verdict::Spoofed | Verdict::Pending => {
                match self.find_address(&lookup, UnknownAddress::ProveUncounted) {
                    by_address if by_address.verdict == Verdict::Verified => by_address,
                    _ => by_signature,
                }
            }
        }
    }

    /// Returns the verdict on an address from memory.
    pub(super) fn find_address_from_memory(&self, lookup: &ClaimLookup<'_>) -> ClaimFinding {
        self.find_address(lookup, UnknownAddress::Leave)
    }

    /// Returns a channel that receives the verdict on the signature.
    pub(super) fn running_signature_proof(
        &self,
        lookup: &ClaimLookup<'_>,
    ) -> Option<watch::Receiver<Option<Verdict>>> {
        lookup.methods.signatures(lookup.robot)?;
        let is_signed = SignatureProver::is_signed(lookup.request.headers);
        is_signed.then(|| self.inner.signed.watch(lookup.request))?
    }

    /// Returns a channel that receives the verdict on the address.
    pub(super) fn running_address_proof(
        &self,
        lookup: &ClaimLookup<'_>,
    ) -> Option<watch::Receiver<Option<Verdict>>> {
        let address = lookup.methods.address(lookup.request.client)?;
        let key = DnsVerdictKey::new(address, lookup.robot);
        self.inner.proofs.watch(key)
    }

    fn find_signature(&self, lookup: &ClaimLookup<'_>) -> SignatureLookup {
        let Some(prover) = lookup.methods.signatures(lookup.robot) else {
            return Verdict::Unverifiable.into();
        };
        if !SignatureProver::is_signed(lookup.request.headers) {
            return Verdict::Unverifiable.into();
        }
        if let Some(finding) = prover.prove_now(&SignedRequest::from(lookup.request), lookup.robot)
        {
            log(lookup.robot, &finding);
            let verdict = finding.verdict();
            return SignatureLookup {
                is_replay: matches!(finding, Finding::Replayed(_)),
                found: with_evidence(verdict, || finding.into_evidence().text),
            };
        }
        match self.inner.signed.begin(lookup.robot, lookup.request) {
            Ok(Some(job)) => {
                let proof = job.proof.clone();
                if self.spawn(|verifier| verifier.prove_signed(job)) {
                    return SignatureLookup {
                        found: pending(proof),
                        is_replay: false,
                    };
                }
                Verdict::Unverifiable.into()
            }
            Ok(None) => Verdict::Unverifiable.into(),
            Err(ReplayedNonce) => SignatureLookup {
                is_replay: true,
                ..Verdict::Unverifiable.into()
            },
        }
    }

    fn find_address(&self, lookup: &ClaimLookup<'_>, unknown: UnknownAddress) -> ClaimFinding {
        if !lookup.methods.has_address_methods(lookup.robot) {
            return Verdict::Unverifiable.into();
        }
        let Some(address) = lookup.methods.address(lookup.request.client) else {
            return Verdict::Unverifiable.into();
        };
        let by_ranges = self.find_in_ranges(lookup.methods, lookup.robot, address);
        if by_ranges == Verdict::Verified || lookup.methods.dns(lookup.robot).is_none() {
            return Self::found(lookup, address, by_ranges, None);
        }
        let key = DnsVerdictKey::new(address, lookup.robot);
        match self.inner.answers.get(key, lookup.now_ms) {
            CacheLookup::Fresh(answer) => Self::found(lookup, address, by_ranges, Some(&answer)),
            CacheLookup::Stale(answer) => {
                if unknown != UnknownAddress::Leave {
                    self.begin(lookup, address, false);
                }
                Self::found(lookup, address, by_ranges, Some(&answer))
            }
            CacheLookup::Nothing if unknown == UnknownAddress::Leave => {
                Verdict::Unverifiable.into()
            }
            CacheLookup::Nothing => {
                let proof = self.begin(lookup, address, unknown == UnknownAddress::Prove);
                proof.map_or_else(|| Verdict::Unverifiable.into(), pending)
            }
        }
    }

    /// Looks up the address in the robot's address list. A missing list is recorded as wanted.
    fn find_in_ranges(&self, methods: &Methods, robot: &Robot, address: IpAddr) -> Verdict {
        let Some((ranges, url)) = methods.ranges(robot) else {
            return Verdict::Unverifiable;
        };
        match ranges.contains(url, address) {
            Some(true) => Verdict::Verified,
            Some(false) if robot.has_partial_proofs => Verdict::Unverifiable,
            Some(false) => Verdict::Spoofed,
            None => {
                self.inner.wanted.want(url);
                Verdict::Unverifiable
            }
        }
    }

    /// Combines the verdicts from the address list and DNS, with evidence if the claim is spoofed.
    fn found(
        lookup: &ClaimLookup<'_>,
        address: IpAddr,
        by_ranges: Verdict,
        answer: Option<&DnsVerdict>,
    ) -> ClaimFinding {
        let by_dns = answer.map_or(Verdict::Unverifiable, |answer| {
            by_dns(lookup.methods, lookup.robot, by_ranges, answer)
        });
        let verdict = stronger(by_ranges, by_dns);
        with_evidence(verdict, || {
            let evidence = answer.map_or("", |answer| &*answer.evidence);
            evidence_of(lookup.methods, lookup.robot, address, evidence)
        })
    }

    /// Starts a proof for an address. Returns a handle to its result.
    fn begin(
        &self,
        lookup: &ClaimLookup<'_>,
        address: IpAddr,
        is_pending: bool,
    ) -> Option<ClaimProof> {
        if self.inner.stop.is_cancelled() || self.inner.runtime.is_none() {
            return None;
        }
        let requests = u64::from(is_pending);
        match self.inner.proofs.begin(lookup.robot, address, requests) {
            ProofStart::Yes(proof) => Some(proof),
            ProofStart::NeedsWorker(proof) => self.spawn(Self::work).then_some(proof),
            ProofStart::No => None,
        }
    }

    /// Runs a task on the verifier's runtime until it ends or the program shuts down.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl FnOnce(Self) -> F,
    ) -> bool {
        let inner = &self.inner;
        let Some(runtime) = inner
            .runtime
            .as_ref()
            .filter(|_| !inner.stop.is_cancelled())
        else {
            return false;
        };
        let (task, verifier) = (task(self.clone()), self.clone());
        let run = async move {
            let inner = &verifier.inner;
            // The pending proofs will no longer be completed, so the tasks that wait for them are
            // notified.
            if inner.stop.run_until_cancelled(task).await.is_none() {
                inner.proofs.abandon();
            }
        };
        inner.tasks.spawn_on(run, runtime);
        true
    }

    /// Runs proofs for addresses until no more proofs are waiting.
    async fn work(self) {
        let mut worker = self.inner.proofs.worker();
        while let Some((job, making)) = worker.next() {
            let methods = self.inner.methods.load_full();
            let answer = self.ask_dns(&methods, &job).await;
            let ProofJob { robot, address } = job;
            // Checked again, as the list may have arrived during the DNS queries.
            let by_ranges = self.find_in_ranges(&methods, &robot, address);
            let verdict = stronger(by_ranges, by_dns(&methods, &robot, by_ranges, &answer));
            // Stored before it is announced, so that a concurrent request finds either the verdict
            // or the running proof.
            self.remember(&methods, address, &answer);
            let evidence = if verdict == Verdict::Spoofed {
                evidence_of(&methods, &robot, address, &answer.evidence)
            } else {
                String::new()
            };
            making.announce(verdict, &evidence);
        }
    }

    /// Stores a verdict, unless the methods have been replaced in the meantime.
    fn remember(&self, methods: &Arc<Methods>, address: IpAddr, answer: &Arc<DnsVerdict>) {
        let answers = &self.inner.answers;
        answers.put(address, Arc::clone(answer));
        // Checked after storing, as `replace` clears after replacing: either it clears this verdict
        // too, or the new methods are visible here.
        if !Arc::ptr_eq(methods, &self.inner.methods.load()) {
            answers.remove(address, answer);
        }
    }

    async fn ask_dns(&self, methods: &Methods, job: &ProofJob) -> Arc<DnsVerdict> {
        let (shortest, longest) = VALID_FOR;
        let mut answer = (Verdict::Unverifiable, String::new(), shortest, false);
        if let Some((prover, suffixes)) = methods.dns(&job.robot) {
            let proof = time::timeout(PROOF_TIME, prover.prove(job.address, suffixes)).await;
            if let Ok(proof) = proof {
                let valid_for = proof.valid_for.clamp(shortest, longest);
                let (verdict, is_nameless) = (proof.finding.verdict(), proof.is_nameless);
                let evidence = proof.finding.into_evidence().text;
                answer = (verdict, evidence, valid_for, is_nameless);
            }
        }
        let (verdict, evidence, valid_for, is_nameless) = answer;
        let valid_for_ms = i64::try_from(valid_for.as_millis()).unwrap_or_default();
        let until_ms = self.inner.clock.now_ms().saturating_add(valid_for_ms);
        let robot = Arc::clone(&job.robot);
        let answer = DnsVerdict::new(robot, verdict, evidence, until_ms);
        Arc::new(answer.nameless(is_nameless))
    }

    /// Checks a signature whose key must first be fetched.
    async fn prove_signed(self, job: SignedJob) {
        let methods = self.inner.methods.load_full();
        let Some(prover) = methods.signatures(&job.robot) else {
            return;
        };
        let request = job.request();
        let finding = prover.prove(&request, &job.robot);
        // Dropping the job notifies the waiting tasks that there is no verdict.
        let Ok(finding) = time::timeout(PROOF_TIME, finding).await else {
            return;
        };
        log(&job.robot, &finding);
        job.announce(finding.verdict(), &finding.evidence().text);
    }
}

/// Returns a verdict, with evidence if it contradicts the claim.
fn with_evidence(verdict: Verdict, evidence: impl FnOnce() -> String) -> ClaimFinding {
    let proof = match verdict {
        Verdict::Spoofed => Some(ClaimProof::with_verdict(verdict, &evidence())),
        _ => None,
    };
    ClaimFinding { verdict, proof }
}

/// Returns a pending finding with a handle to its future result.
fn pending(proof: ClaimProof) -> ClaimFinding {
    ClaimFinding {
        verdict: Verdict::Pending,
        proof: Some(proof),
    }
}

/// Returns the DNS verdict. A missing name does not contradict the claim while the address list is
/// unavailable.
///
/// A resolver without reverse zones reports a missing name for every address.
fn by_dns(methods: &Methods, robot: &Robot, by_ranges: Verdict, answer: &DnsVerdict) -> Verdict {
    let lacks_list = by_ranges == Verdict::Unverifiable && methods.ranges(robot).is_some();
    let is_partial = robot.has_partial_proofs && answer.verdict == Verdict::Spoofed;
    if is_partial || lacks_list && answer.is_nameless {
        return Verdict::Unverifiable;
    }
    answer.verdict
}

/// Logs the finding about a signature, to help debug a verdict.
fn log(robot: &Robot, finding: &Finding) {
    let (robot, verdict) = (&*robot.id, finding.verdict());
    let text = &finding.evidence().text;
    debug!(robot, %verdict, "checked the signature of a request by {robot:?}: the claim is \
                             {verdict}: {text}");
}

/// Returns the evidence from the address list and DNS that contradicts a claim.
fn evidence_of(methods: &Methods, robot: &Robot, address: IpAddr, by_dns: &str) -> String {
    let by_ranges = methods.ranges(robot);
    let by_ranges = by_ranges.map(|(ranges, url)| ranges.find(url, address));
    match by_ranges {
        Some(finding) if by_dns.is_empty() => finding.into_evidence().text,
        Some(finding) => format!("{} {by_dns}", finding.into_evidence().text),
        None => by_dns.to_owned(),
    }
}
