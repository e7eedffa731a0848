//! The DNS prover: cache, limits, and the sequence of queries.

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

/// Time for which a proof holds that needed no DNS query.
const SETTLED: Duration = Duration::from_hours(1);
/// Time after which a proof that found no free slot may be tried again.
const RETRY: Duration = Duration::from_secs(30);
/// Time for which a self-test counts in which the resolver knew a name.
const TESTED_MS: i64 = 3_600_000;
/// Time after which a self-test is repeated in which the resolver knew none.
const TESTED_AGAIN_MS: i64 = 60_000;
/// Bytes of names for which an address takes one place in the cache.
const BYTES_A_PLACE: usize = 128;

/// Prover of claims by reverse DNS that is confirmed forward.
///
/// Clones share the resolver, the cache and the limits. Dropping a proof under way
/// is safe: another of the same address goes on.
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

/// Finding of DNS about one claim, and how long it holds.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DnsProof {
    /// Finding.
    pub finding: Finding,
    /// Time for which it may be relied on, from the TTLs of the records.
    pub valid_for: Duration,
    /// `true` if it is that the address has no name, as a resolver without reverse zones says of all.
    pub is_nameless: bool,
}

#[derive(Debug)]
struct Inner {
    resolver: Resolver,
    cache: Cache<IpAddr, Arc<AddressRecords>>,
    lookups: Lookups,
    /// For each proof that looks or waits.
    places: Semaphore,
    /// For each proof that looks.
    turns: Semaphore,
    settings: DnsSettings,
    /// Time until which the resolver is known to answer with the names of addresses.
    useful_until_ms: AtomicI64,
    /// Time until which it is known not to.
    useless_until_ms: AtomicI64,
    /// For the self-test that is under way.
    self_test: Mutex<()>,
}

/// Right to look up an address.
struct LookupTurn<'a> {
    host: MutexGuard<'a, AddressRecords>,
    _permit: SemaphorePermit<'a>,
}

impl DnsProver {
    /// Creates a prover; it asks nothing yet, and reads the system's settings when it does.
    pub fn new(settings: DnsSettings) -> Self {
        // Halves, since a semaphore panics when made with more, and one gets the sum of both.
        let turns = settings.concurrency.clamp(1, Semaphore::MAX_PERMITS / 2);
        let queue = settings.queue.min(Semaphore::MAX_PERMITS / 2);
        let cache = Cache::builder()
            .max_capacity(settings.cache_entries)
            .weigher(|_, host: &Arc<AddressRecords>| places(host))
            // No record is relied on for longer: see `MAX_TTL`.
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

    /// Returns about how many addresses are remembered.
    pub fn cached(&self) -> u64 {
        self.inner.cache.run_pending_tasks();
        self.inner.cache.entry_count()
    }

    /// Returns `true` if the resolver failed the last self-test, so that it contradicts no robot.
    pub fn is_doubted(&self) -> bool {
        let until_ms = |at: &AtomicI64| at.load(Ordering::Relaxed);
        until_ms(&self.inner.useless_until_ms) > until_ms(&self.inner.useful_until_ms)
    }

    /// Returns the proof, if it follows from what is remembered; asks nothing.
    pub fn prove_now(&self, address: IpAddr, suffixes: &[String]) -> Option<DnsProof> {
        let claim = self.inner.claim(address, suffixes);
        claim.map_or_else(Some, |claim| self.inner.remembered(&claim))
    }

    /// Proves that an address is of the operator whose hosts' names end in a suffix.
    ///
    /// A suffix is a domain, `googlebot.com`; names end in it at a label boundary,
    /// whatever the case, and the suffix itself counts as well. An IPv4 address in
    /// IPv6 is an IPv4 address. Takes at most [`DnsSettings::queue_timeout`] and
    /// [`DnsSettings::proof_timeout`].
    pub async fn prove(&self, address: IpAddr, suffixes: &[String]) -> DnsProof {
        let claim = match self.inner.claim(address, suffixes) {
            Ok(claim) => claim,
            Err(settled) => return settled,
        };
        match self.inner.remembered(&claim) {
            Some(proof) => proof,
            // On the heap, so that a proof from memory costs its caller little.
            None => Box::pin(self.inner.look(&claim)).await,
        }
    }
}

/// Returns `true` if the whole Internet agrees on the name of such an address.
///
/// Nobody has those of documentation; they are looked up all the same, as examples
/// need them and the answer can only be that there is no name.
fn has_one_name(kind: AddressKind) -> bool {
    matches!(kind, AddressKind::Public | AddressKind::Documentation)
}

impl Inner {
    /// Creates a claim that DNS can prove or contradict.
    fn claim(&self, address: IpAddr, suffixes: &[String]) -> Result<Claim, DnsProof> {
        let address = address.to_canonical();
        let suffixes = Suffixes::new(suffixes);
        if suffixes.is_empty() {
            let text = "The operator publishes no names of its hosts.".to_owned();
            return Err(nothing(text, SETTLED));
        }
        let kind = AddressKind::of(address);
        if !has_one_name(kind) && !self.settings.allow_private {
            let text = format!("{address} is {kind}, of which DNS says nothing.");
            return Err(nothing(text, SETTLED));
        }
        Ok(Claim { address, suffixes })
    }

    fn remembered(&self, claim: &Claim) -> Option<DnsProof> {
        let host = self.cache.get(&claim.address)?;
        self.proof(&host, claim)
    }

    /// Returns the proof that follows from records, if the resolver is known to be good or bad enough.
    fn proof(&self, host: &AddressRecords, claim: &Claim) -> Option<DnsProof> {
        let now_ms = self.settings.clock.now_ms();
        match host.step(claim, now_ms) {
            Step::Done(proof) => self.judged(proof, claim, now_ms),
            Step::AskNames | Step::AskBack(..) => None,
        }
    }

    /// Returns what a proof is worth; `None`: the resolver has to be tested.
    ///
    /// A resolver without reverse zones, or with a wildcard in them, would contradict every robot.
    fn judged(&self, proof: DnsProof, claim: &Claim, now_ms: i64) -> Option<DnsProof> {
        let is_until = |at: &AtomicI64| at.load(Ordering::Relaxed) > now_ms;
        if !matches!(proof.finding, Finding::Contradicted(_)) || is_until(&self.useful_until_ms) {
            return Some(proof);
        }
        is_until(&self.useless_until_ms).then(|| {
            let address = claim.address;
            let text = format!(
                "What DNS says of {address} proves nothing: the resolver does not know the names of well-known addresses."
            );
            nothing(text, RETRY)
        })
    }

    /// Tests whether the resolver answers with the names of addresses, unless that is known.
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

    /// Looks the address up, or waits for another task that does.
    async fn look(&self, claim: &Claim) -> DnsProof {
        // Who finds no place is told so at once: a flood of claims must not pile up.
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

    /// Waits for the turn to look, or for a proof from what another saw meanwhile.
    async fn turn<'a>(
        &'a self,
        slot: &'a LookupSlot,
        claim: &Claim,
    ) -> Result<LookupTurn<'a>, DnsProof> {
        // The address first, then the turn: those who wait for the same address keep none from
        // others.
        let host = slot.turn().await;
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

    /// Queries DNS for what is not cached until there is a proof.
    async fn ask(&self, host: &mut AddressRecords, claim: &Claim) -> DnsProof {
        // One instant for all queries: an answer does not run out while the next one is asked for.
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
                    let back = self.resolver.leads_back(&name, claim.address);
                    host.learn_back(place, by(deadline, now_ms, claim, back).await);
                }
            }
        }
    }
}

/// Waits for an answer, but no longer than a proof may take.
async fn by<T>(
    deadline: Instant,
    now_ms: i64,
    claim: &Claim,
    answer: impl Future<Output = TimedAnswer<T>>,
) -> CachedAnswer<T> {
    let TimedAnswer { answer, ttl } = timeout_at(deadline, answer)
        .await
        .unwrap_or_else(|_| failed(claim.address, "DNS did not answer in time"));
    let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    CachedAnswer {
        answer,
        until_ms: now_ms.saturating_add(ttl_ms),
    }
}

fn too_many(claim: &Claim) -> DnsProof {
    let address = claim.address;
    let text = format!("There are too many proofs under way to look up the name of {address}.");
    nothing(text, RETRY)
}

fn nothing(text: String, valid_for: Duration) -> DnsProof {
    DnsProof {
        finding: Finding::Nothing(evidence(text)),
        valid_for,
        is_nameless: false,
    }
}

/// Returns how many places of the cache a host takes: one, and more if its names are long.
fn places(host: &AddressRecords) -> u32 {
    u32::try_from(1 + host.names_bytes() / BYTES_A_PLACE).unwrap_or(u32::MAX)
}
