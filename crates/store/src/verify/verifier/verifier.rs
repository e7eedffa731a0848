//! The verifier: the handle that verdicts are asked from.

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
use robot_detection_layer::layer::{ClaimFinding, ClaimedRequest, Settling, Verdicts};
use robot_detection_layer::registry::Robot;

use super::{
    Methods, dns_verdicts::DnsVerdicts, lookup::ClaimLookup, proofs::Proofs, signed::SignedProofs,
    signers::Signers,
};

/// Verdict to come; see [`Verifier::settled`].
pub type SettledVerdict = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// Prover of claims: verdicts from memory, proofs in the background.
///
/// Clones share everything. What the DNS says of an address is remembered for as long
/// as it is valid; lists of addresses are at hand, and a signature is looked at in each
/// request anew.
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

/// URLs of lists that are worth having; there are at most as many as the registry names.
#[derive(Debug, Default)]
pub(super) struct WantedRanges {
    urls: ArcSwap<BTreeSet<String>>,
    bell: Notify,
}

impl Verifier {
    /// Creates a verifier whose proofs run on the runtime it is created on, until `stop`.
    ///
    /// Without a runtime it answers from memory alone.
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

    /// Replaces the methods, and drops the verdicts of the old ones.
    pub fn replace(&self, methods: Methods) {
        self.inner.methods.store(Arc::new(methods));
        self.inner.answers.clear();
    }

    /// Returns what is known of a claim at once; a proof may begin in the background.
    ///
    /// Of an address that is known it takes no lock and allocates nothing, unless the
    /// request is spoofed and noted. The first request of an address that the DNS has
    /// to be asked about is pending, and so is a signed one whose key is not at hand;
    /// where too many wait, they are unverifiable. Ask once for each request: a
    /// nonce that is seen a second time is no proof.
    pub fn verdict_now(&self, request: &ClaimedRequest<'_>) -> Verdict {
        self.finding_now(request).verdict
    }

    /// Returns the same, with its evidence where it is spoofed, and where to read it once it is no longer pending.
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

    /// Waits for the verdict on a request that [`verdict_now`](Self::verdict_now) called pending.
    ///
    /// It ends with the proof, within a minute; wait less, if a client waits.
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
        // Subscribed to before memory is asked: a proof that ends in between is found in one of the
        // two.
        let by_signature = self.running_signature_proof(&lookup);
        let by_address = self.running_address_proof(&lookup);
        let known = match by_address {
            Some(_) => Verdict::Unverifiable,
            // It is not under way, or has ended just now.
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

    /// Returns who has signed a request of a robot that no registry lists, once that is proven.
    ///
    /// It answers from memory: the first request of a host has its keys fetched, and names
    /// nobody. At most 200 names are kept; then it is [`SigningHost::OTHER`].
    pub fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        let methods = self.inner.methods.load();
        let prover = methods.web_bot_auth.as_ref()?;
        let signed = SignedRequest::from(request);
        match prover.signer_now(&signed) {
            Some(Ok(host)) => self.inner.signers.name(&host),
            Some(Err(reason)) => {
                debug!("the signature of a request proves nobody: {reason}");
                None
            }
            None => {
                if let Some(fetch) = prover.fetch_of_signer(&signed) {
                    self.spawn(|_| fetch);
                }
                None
            }
        }
    }

    /// Proves a claim by all methods, and returns the finding of each.
    ///
    /// It asks the DNS if need be, and remembers nothing.
    pub async fn prove(
        &self,
        robot: &Robot,
        client: Option<IpAddr>,
        signed: Option<&SignedRequest<'_>>,
    ) -> Proof {
        let methods = self.inner.methods.load_full();
        methods.prove(robot, client, signed).await
    }

    /// Returns `true` if a request that is not verified has a signature that was used before.
    pub fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        let methods = self.inner.methods.load();
        let robot = request.claim.robot();
        let prover = robot.and_then(|robot| methods.signatures(robot));
        prover.is_some_and(|prover| {
            SignatureProver::is_signed(request.headers) && prover.is_replay(request.headers)
        })
    }

    /// Returns the methods in force.
    pub fn methods(&self) -> Arc<Methods> {
        self.inner.methods.load_full()
    }

    /// Returns how many requests came that have no verdict yet.
    pub fn pending(&self) -> u64 {
        self.inner.proofs.pending() + self.inner.signed.pending()
    }

    /// Returns the URLs of lists that a request would have needed, and were not at hand.
    pub fn wanted_ranges(&self) -> Arc<BTreeSet<String>> {
        self.inner.wanted.all()
    }

    /// Waits until another list is wanted.
    pub async fn ranges_wanted(&self) {
        self.inner.wanted.changed().await;
    }
}

impl WantedRanges {
    /// Notes that a list would have been needed; allocates only the first time.
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

    /// Returns them in order.
    pub(super) fn all(&self) -> Arc<BTreeSet<String>> {
        self.urls.load_full()
    }

    /// Waits until there is a new one.
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

    fn settled(&self, request: &ClaimedRequest<'_>) -> Option<Settling> {
        Some(Self::settled(self, request))
    }

    fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        Self::signer(self, request)
    }

    fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        Self::is_replay(self, request)
    }
}

/// Waits for a verdict; if the proof was given up, the claim is unverifiable.
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
