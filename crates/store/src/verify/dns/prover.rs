//! DNS prover: cache, limits, and the sequence of queries.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use moka::sync::Cache;
use tokio::{
    sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit},
    time::{Instant, timeout, timeout_at},
};

use super::{
    DnsSettings,
    check::knows_names,
    host::{AddressRecords, CachedAnswer, Claim, Step, evidence},
    lookups::{LookupSlot, Lookups},
    resolver::{MAX_TIMEOUT, Resolver, TimedAnswer, failed},
    suffixes::Suffixes,
};
use crate::fetch::AddressKind;
use crate::verify::Finding;

/// The time for which a proof that did not require any DNS query is valid.
const SETTLED: Duration = Duration::from_hours(1);
/// The time after which a proof that did not obtain a slot may be retried.
const RETRY: Duration = Duration::from_secs(30);
/// The time for which a successful self-test of the resolver is valid.
const TESTED_MS: i64 = 3_600_000;
/// The time after which a failed resolver self-test is repeated.
const TESTED_AGAIN_MS: i64 = 60_000;
/// The number of bytes in names that take up one unit of cache capacity.
const BYTES_A_PLACE: usize = 128;

/// A prover of claims by forward-confirmed reverse DNS.
///
/// Clones share the resolver, the cache and the limits. It is safe to drop a running proof; any
/// other proof for the same address continues.
///
/// # Example
///
/// ```no_run
/// # async fn prove() {
/// use robot_detection_store::verify::{DnsProver, DnsSettings, Finding};
///
/// let prover = DnsProver::new(DnsSettings::default());
/// let suffixes = ["googlebot.com".to_owned(), "google.com".to_owned()];
/// let proof = prover.prove([66, 249, 66, 1].into(), &suffixes).await;
/// assert!(matches!(proof.finding, Finding::Confirmed(_)));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DnsProver {
    inner: Arc<Inner>,
}

/// A finding from DNS about a claim, with the time for which the finding is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DnsProof {
    /// The finding about the claim.
    pub finding: Finding,
    /// The time for which the proof is valid, derived from the TTLs of the records.
    pub valid_for: Duration,
    /// Whether the address has no name. Resolvers without reverse zones report this for every
    /// address.
    pub is_nameless: bool,
}

#[derive(Debug)]
struct Inner {
    resolver: Resolver,
    cache: Cache<IpAddr, Arc<AddressRecords>>,
    lookups: Lookups,
    /// Slots for proofs that are looking up an address or waiting to do so.
    places: Semaphore,
    /// Slots for proofs that are looking up an address.
    turns: Semaphore,
    settings: DnsSettings,
    /// The time until which the resolver is known to return the names of addresses.
    useful_until_ms: AtomicI64,
    /// The time until which the resolver is known not to return the names of addresses.
    useless_until_ms: AtomicI64,
    /// The lock that is held during a self-test of the resolver.
    self_test: Mutex<()>,
}

/// The right to look up an address.
struct LookupTurn<'a> {
    host: MutexGuard<'a, AddressRecords>,
    _permit: SemaphorePermit<'a>,
}

impl DnsProver {
    /// Creates a DNS prover. The system's resolver configuration is read at the first query.
    pub fn new(settings: DnsSettings) -> Self {
        // Halved, since a semaphore panics beyond this limit, and one of them gets the sum of both.
        let turns = settings.concurrency.clamp(1, Semaphore::MAX_PERMITS / 2);
        let queue = settings.queue.min(Semaphore::MAX_PERMITS / 2);
        let cache = Cache::builder()
            .max_capacity(settings.cache_entries)
            .weigher(|_, host: &Arc<AddressRecords>| places(host))
            // No record is valid for longer than this, see `MAX_TTL`.
            .time_to_live(Duration::from_hours(24))
            .build();
        Self {
            inner: Arc::new(Inner {
                resolver: Resolver::new(settings.clone()),
                cache,
                lookups: Lookups::default(),
                places: Semaphore::new(turns + queue),
                turns: Semaphore::new(turns),
                settings,
                useful_until_ms: AtomicI64::new(i64::MIN),
                useless_until_ms: AtomicI64::new(i64::MIN),
                self_test: Mutex::default(),
            }),
        }
    }

    /// Returns the approximate number of cached addresses.
    pub fn cached(&self) -> u64 {
        self.inner.cache.run_pending_tasks();
        self.inner.cache.entry_count()
    }

    /// Returns `true` if the resolver failed its last self-test and therefore cannot contradict
    /// claims.
    pub fn is_unreliable(&self) -> bool {
        let until_ms = |at: &AtomicI64| at.load(Ordering::Relaxed);
        until_ms(&self.inner.useless_until_ms) > until_ms(&self.inner.useful_until_ms)
    }

    /// Returns the proof that follows from cached records, if any, without querying DNS.
    pub fn prove_now(&self, address: IpAddr, suffixes: &[String]) -> Option<DnsProof> {
        let claim = self.inner.claim(address, suffixes);
        claim.map_or_else(Some, |claim| self.inner.remembered(&claim))
    }

    /// Proves whether an address belongs to the operator whose host names end in one of the
    /// suffixes.
    ///
    /// A suffix is a domain such as `googlebot.com`. Names must end in the suffix at a label
    /// boundary, ignoring case; a name equal to the suffix also matches. An IPv4 address embedded
    /// in IPv6 is treated as IPv4. A proof takes at most [`DnsSettings::queue_timeout`] plus
    /// [`DnsSettings::proof_timeout`].
    pub async fn prove(&self, address: IpAddr, suffixes: &[String]) -> DnsProof {
        let claim = match self.inner.claim(address, suffixes) {
            Ok(claim) => claim,
            Err(settled) => return settled,
        };
        match self.inner.remembered(&claim) {
            Some(proof) => proof,
            // Boxed, so that a proof from the cache is cheap for the caller.
            None => Box::pin(self.inner.look(&claim)).await,
        }
    }
}

/// Returns `true` if addresses of this kind have globally unique host names.
///
/// Documentation addresses are also looked up, although they have no owner: they are used in
/// examples, and the only possible response is that there is no name.
fn has_one_name(kind: AddressKind) -> bool {
    matches!(kind, AddressKind::Public | AddressKind::Documentation)
}

impl Inner {
    /// Creates a claim that DNS can prove or contradict.
    fn claim(&self, address: IpAddr, suffixes: &[String]) -> Result<Claim, DnsProof> {
        let address = address.to_canonical();
        let suffixes = Suffixes::new(suffixes);
        if suffixes.is_empty() {
            let text = "The operator publishes no host names.".to_owned();
            return Err(nothing(text, SETTLED));
        }
        let kind = AddressKind::from_address(address);
        if !has_one_name(kind) && !self.settings.allow_private {
            let text = format!("{address} is {kind}, which has no names in public DNS.");
            return Err(nothing(text, SETTLED));
        }
        Ok(Claim { address, suffixes })
    }

    fn remembered(&self, claim: &Claim) -> Option<DnsProof> {
        let host = self.cache.get(&claim.address)?;
        self.proof(&host, claim)
    }

    /// Returns the proof that follows from the records, or `None` if the resolver must be tested
    /// first.
    fn proof(&self, host: &AddressRecords, claim: &Claim) -> Option<DnsProof> {
        let now_ms = self.settings.clock.now_ms();
        match host.step(claim, now_ms) {
            Step::Done(proof) => self.judged(proof, claim, now_ms),
            Step::AskNames | Step::AskBack(..) => None,
        }
    }

    /// Returns the proof, taking the resolver's quality into account; `None` if the resolver must
    /// be tested first.
    ///
    /// A resolver without reverse zones, or with wildcards in them, would contradict every claim.
    fn judged(&self, proof: DnsProof, claim: &Claim, now_ms: i64) -> Option<DnsProof> {
        let is_until = |at: &AtomicI64| at.load(Ordering::Relaxed) > now_ms;
        if !matches!(proof.finding, Finding::Contradicted(_)) || is_until(&self.useful_until_ms) {
            return Some(proof);
        }
        is_until(&self.useless_until_ms).then(|| {
            let address = claim.address;
            let text = format!(
                "DNS proves nothing about {address}: the resolver does not find the names of well-known addresses."
            );
            nothing(text, RETRY)
        })
    }

    /// Tests whether the resolver returns the names of addresses, unless this is already known.
    async fn test_resolver(&self, now_ms: i64) {
        let _one_at_a_time = self.self_test.lock().await;
        let (useful, useless) = (&self.useful_until_ms, &self.useless_until_ms);
        if useful.load(Ordering::Relaxed) > now_ms || useless.load(Ordering::Relaxed) > now_ms {
            return;
        }
        if knows_names(&self.resolver).await {
            useful.store(now_ms + TESTED_MS, Ordering::Relaxed);
        } else {
            useless.store(now_ms + TESTED_AGAIN_MS, Ordering::Relaxed);
        }
    }

    /// Looks up the address, or waits for another task that is doing so.
    async fn look(&self, claim: &Claim) -> DnsProof {
        // If there is no free slot, the proof fails immediately, so that a flood of claims does not
        // pile up.
        let Ok(_place) = self.places.try_acquire() else {
            return too_many(claim);
        };
        let known = || self.cache.get(&claim.address).as_deref().cloned();
        let slot = self
            .lookups
            .join(claim.address, || known().unwrap_or_default());
        let waiting = self.turn(&slot, claim);
        match timeout(self.settings.queue_timeout, waiting).await {
            Ok(Ok(mut turn)) => {
                let proof = self.ask(&mut turn.host, claim).await;
                self.cache
                    .insert(claim.address, Arc::new(turn.host.clone()));
                proof
            }
            Ok(Err(proof)) => proof,
            Err(_) => too_many(claim),
        }
    }

    /// Waits for the right to look up the address, or for a proof that results from another task's
    /// lookup.
    async fn turn<'a>(
        &'a self,
        slot: &'a LookupSlot,
        claim: &Claim,
    ) -> Result<LookupTurn<'a>, DnsProof> {
        // The address is locked before the slot, so that waiting for the same address occupies no
        // slot.
        let host = slot.lock().await;
        if let Some(proof) = self.proof(&host, claim) {
            return Err(proof);
        }
        match self.turns.acquire().await {
            Ok(permit) => Ok(LookupTurn {
                host,
                _permit: permit,
            }),
            Err(_) => Err(too_many(claim)),
        }
    }

    /// Queries uncached records until there is a proof.
    async fn ask(&self, host: &mut AddressRecords, claim: &Claim) -> DnsProof {
        // The same time is used for all queries, so that a response does not expire during the next
        // query.
        let now_ms = self.settings.clock.now_ms();
        let deadline = Instant::now() + self.settings.proof_timeout.min(MAX_TIMEOUT);
        loop {
            match host.step(claim, now_ms) {
                Step::Done(proof) => {
                    if let Some(proof) = self.judged(proof, claim, now_ms) {
                        return proof;
                    }
                    let tested = timeout_at(deadline, self.test_resolver(now_ms)).await;
                    if tested.is_err() {
                        let until_ms = now_ms + TESTED_AGAIN_MS;
                        self.useless_until_ms.store(until_ms, Ordering::Relaxed);
                    }
                }
                Step::AskNames => {
                    let names = self.resolver.names(claim.address);
                    host.learn_names(by(deadline, now_ms, claim, names).await);
                }
                Step::AskBack(place, name) => {
                    let back = self.resolver.resolves_back(&name, claim.address);
                    host.store_resolution(place, by(deadline, now_ms, claim, back).await);
                }
            }
        }
    }
}

/// Waits for a response, but not beyond the deadline of the proof.
async fn by<T>(
    deadline: Instant,
    now_ms: i64,
    claim: &Claim,
    answer: impl Future<Output = TimedAnswer<T>>,
) -> CachedAnswer<T> {
    let TimedAnswer { answer, ttl } = timeout_at(deadline, answer)
        .await
        .unwrap_or_else(|_| failed(claim.address, "DNS did not respond in time"));
    let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    CachedAnswer {
        answer,
        until_ms: now_ms.saturating_add(ttl_ms),
    }
}

fn too_many(claim: &Claim) -> DnsProof {
    let address = claim.address;
    let text = format!("Cannot look up the name of {address}: too many lookups in progress.");
    nothing(text, RETRY)
}

fn nothing(text: String, valid_for: Duration) -> DnsProof {
    DnsProof {
        finding: Finding::Nothing(evidence(text)),
        valid_for,
        is_nameless: false,
    }
}

/// Returns the cache capacity that a host takes up: one unit, or more if its names are long.
fn places(host: &AddressRecords) -> u32 {
    u32::try_from(1 + host.names_bytes() / BYTES_A_PLACE).unwrap_or(u32::MAX)
}
