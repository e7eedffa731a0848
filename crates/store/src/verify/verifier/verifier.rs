//! The verifier, a handle through which verdicts are requested.

use std::{collections::BTreeSet, fmt, net::IpAddr, pin::Pin, sync::Arc};

use arc_swap::ArcSwap;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::debug;

use crate::verify::{Proof, SignatureProver, SignedRequest, proof::stronger};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::{SigningHost, Verdict};
use robot_detection_layer::layer::{ClaimFinding, ClaimedRequest, VerdictFuture, Verdicts};
use robot_detection_layer::registry::Robot;

use super::{
    Methods, dns_verdicts::DnsVerdicts, lookup::ClaimLookup, proofs::Proofs, signed::SignedProofs,
    signers::Signers,
};

/// A future that resolves to a verdict; see [`Verifier::settled`].
pub type SettledVerdict = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// A verifier of claims, which provides verdicts from memory and runs proofs in the background.
///
/// Clones share all state. DNS verdicts on addresses are cached while they are valid, address lists
/// are in memory, and signatures are checked for each request.
///
/// # Example
///
/// ```
/// use robot_detection_layer::clock::Clock;
/// use robot_detection_store::verify::{Methods, Verifier};
/// use tokio_util::{sync::CancellationToken, task::TaskTracker};
///
/// let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
/// let verifier = Verifier::new(Methods::default(), Clock::system(), tasks, stop);
/// assert_eq!(verifier.pending(), 0);
/// ```
#[derive(Clone)]
pub struct Verifier {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) methods: ArcSwap<Methods>,
    pub(super) answers: DnsVerdicts,
    pub(super) proofs: Proofs,
    pub(super) signed: SignedProofs,
    pub(super) signers: Signers,
    pub(super) wanted: WantedRanges,
    pub(super) clock: Clock,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    pub(super) runtime: Option<Handle>,
}

/// The URLs of missing address lists; there cannot be more URLs than the registry contains.
#[derive(Debug, Default)]
pub(super) struct WantedRanges {
    urls: ArcSwap<BTreeSet<String>>,
    bell: Notify,
}

impl Verifier {
    /// Creates a verifier whose proofs run on the current runtime until `stop` is cancelled.
    ///
    /// Without a runtime, verdicts come only from memory.
    pub fn new(
        methods: Methods,
        clock: Clock,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                methods: ArcSwap::from_pointee(methods),
                answers: DnsVerdicts::new(),
                proofs: Proofs::default(),
                signed: SignedProofs::new(),
                signers: Signers::default(),
                wanted: WantedRanges::default(),
                clock,
                tasks,
                stop,
                runtime: Handle::try_current().ok(),
            }),
        }
    }

    /// Replaces the methods, and drops the verdicts obtained with the previous methods.
    pub fn replace(&self, methods: Methods) {
        self.inner.methods.store(Arc::new(methods));
        self.inner.answers.clear();
    }

    /// Returns the verdict on a claim immediately. This may start a proof in the background.
    ///
    /// For a known address, this takes no lock and allocates nothing, except for evidence of a
    /// spoofed request. The first request from an address that requires DNS queries is pending, and
    /// so is a signed request whose key must be fetched; if too many requests are waiting, further
    /// ones are unverifiable. Call this function only once per request: a nonce seen a second time
    /// proves nothing.
    pub fn verdict_now(&self, request: &ClaimedRequest<'_>) -> Verdict {
        self.finding_now(request).verdict
    }

    /// Returns the verdict on a claim, with the evidence if the claim is spoofed, or with a handle
    /// to the evidence if the verdict is pending.
    pub fn finding_now(&self, request: &ClaimedRequest<'_>) -> ClaimFinding {
        match request.claim.robot() {
            Some(robot) if Methods::has_methods(robot) => self.find(ClaimLookup {
                methods: &self.inner.methods.load(),
                robot,
                request,
                now_ms: self.inner.clock.now_ms(),
            }),
            _ => Verdict::Unverifiable.into(),
        }
    }

    /// Waits for the verdict on a request for which [`verdict_now`](Self::verdict_now) returned
    /// pending.
    ///
    /// The future completes when the proof ends, within a minute. Use a shorter timeout if a client
    /// is waiting.
    pub fn settled(&self, request: &ClaimedRequest<'_>) -> SettledVerdict {
        let Some(robot) = request.claim.robot() else {
            return Box::pin(async { Verdict::Unverifiable });
        };
        let methods = self.inner.methods.load();
        let lookup = ClaimLookup {
            methods: &methods,
            robot,
            request,
            now_ms: self.inner.clock.now_ms(),
        };
        // Subscribe before querying memory, so that a proof that ends in between is not missed.
        let by_signature = self.running_signature_proof(&lookup);
        let by_address = self.running_address_proof(&lookup);
        let known = match by_address {
            Some(_) => Verdict::Unverifiable,
            // No proof is running, or the proof has just ended.
            None => self.find_address_from_memory(&lookup).verdict,
        };
        Box::pin(async move {
            let mut verdict = known;
            for told in [by_signature, by_address].into_iter().flatten() {
                if verdict != Verdict::Verified {
                    verdict = stronger(verdict, wait(told).await);
                }
            }
            verdict
        })
    }

    /// Returns the verified signer of a request from an unlisted robot, if known.
    ///
    /// The signer is looked up in memory: the first request from a host returns `None` and starts
    /// to fetch the host's keys. At most 200 names are stored; further signers are
    /// [`SigningHost::OTHER`].
    pub fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        let methods = self.inner.methods.load();
        let prover = methods.web_bot_auth.as_ref()?;
        let signed = SignedRequest::from(request);
        match prover.signer_now(&signed) {
            Some(Ok(host)) => self.inner.signers.name(&host),
            Some(Err(reason)) => {
                debug!("the signature of a request does not identify a signer: {reason}");
                None
            }
            None => {
                if let Some(fetch) = prover.signer_fetch(&signed) {
                    self.spawn(|_| fetch);
                }
                None
            }
        }
    }

    /// Verifies a claim by all methods, and returns the finding of each.
    ///
    /// This queries DNS if necessary, and does not cache the verdict.
    pub async fn prove(
        &self,
        robot: &Robot,
        client: Option<IpAddr>,
        signed: Option<&SignedRequest<'_>>,
    ) -> Proof {
        let methods = self.inner.methods.load_full();
        methods.prove(robot, client, signed).await
    }

    /// Returns `true` if an unverified request has a signature that has been used before.
    pub fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        let methods = self.inner.methods.load();
        let robot = request.claim.robot();
        let prover = robot.and_then(|robot| methods.signatures(robot));
        prover.is_some_and(|prover| {
            SignatureProver::is_signed(request.headers) && prover.is_replay(request.headers)
        })
    }

    /// Returns the verification methods in use.
    pub fn methods(&self) -> Arc<Methods> {
        self.inner.methods.load_full()
    }

    /// Returns the number of requests that do not have a verdict yet.
    pub fn pending(&self) -> u64 {
        self.inner.proofs.pending() + self.inner.signed.pending()
    }

    /// Returns the URLs of missing lists that requests needed.
    pub fn wanted_ranges(&self) -> Arc<BTreeSet<String>> {
        self.inner.wanted.all()
    }

    /// Waits until another list is needed.
    pub async fn ranges_wanted(&self) {
        self.inner.wanted.changed().await;
    }
}

impl WantedRanges {
    /// Records that a list is needed. This allocates only the first time.
    pub(super) fn want(&self, url: &str) {
        if self.urls.load().contains(url) {
            return;
        }
        self.urls.rcu(|urls| {
            let mut urls = BTreeSet::clone(urls);
            urls.insert(url.to_owned());
            urls
        });
        self.bell.notify_one();
    }

    /// Returns all URLs of missing lists, in order.
    pub(super) fn all(&self) -> Arc<BTreeSet<String>> {
        self.urls.load_full()
    }

    /// Waits until the URL of another missing list has been added.
    pub(super) async fn changed(&self) {
        self.bell.notified().await;
    }
}

impl Verdicts for Verifier {
    fn verdict(&self, request: &ClaimedRequest<'_>) -> Verdict {
        self.verdict_now(request)
    }

    fn finding(&self, request: &ClaimedRequest<'_>) -> ClaimFinding {
        self.finding_now(request)
    }

    fn settled(&self, request: &ClaimedRequest<'_>) -> Option<VerdictFuture> {
        Some(Self::settled(self, request))
    }

    fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        Self::signer(self, request)
    }

    fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        Self::is_replay(self, request)
    }
}

/// Waits for a verdict. If the proof is cancelled, the claim is unverifiable.
async fn wait(mut told: watch::Receiver<Option<Verdict>>) -> Verdict {
    let told = told.wait_for(Option::is_some).await;
    told.ok().and_then(|verdict| *verdict).unwrap_or_default()
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("methods", &self.inner.methods.load())
            .finish_non_exhaustive()
    }
}
