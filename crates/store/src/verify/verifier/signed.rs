//! Proofs of signed requests whose keys must be fetched first.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use http::{HeaderMap, Method};
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::verify::{SignatureProver, SignedRequest};
use robot_detection_layer::detect::Verdict;
use robot_detection_layer::layer::{ClaimProof, ClaimedRequest};
use robot_detection_layer::registry::Robot;

/// The maximum number of requests that are stored while their keys are being fetched.
const MAX_REQUESTS: usize = 64;

/// The maximum number of verdicts that are stored for waiting requests.
const MAX_TOLD: u64 = 4_096;

/// The time for which the verdict on a signed request is stored.
const TOLD_FOR: Duration = Duration::from_mins(1);

/// Proofs of signatures that are in progress or have just ended.
#[derive(Debug)]
pub(super) struct SignedProofs {
    told: Cache<u64, watch::Sender<Option<Verdict>>>,
    hasher: RandomState,
    places: Arc<Semaphore>,
}

/// A copy of a signed request, owned by the request's proof.
#[derive(Debug)]
pub(super) struct SignedJob {
    pub(super) robot: Arc<Robot>,
    pub(super) proof: ClaimProof,
    method: Method,
    scheme: Option<String>,
    authority: String,
    target: String,
    headers: HeaderMap,
    told: watch::Sender<Option<Verdict>>,
    _place: OwnedSemaphorePermit,
}

impl SignedProofs {
    pub(super) fn new() -> Self {
        Self {
            told: Cache::builder()
                .max_capacity(MAX_TOLD)
                .time_to_live(TOLD_FOR)
                .build(),
            // Random seed, so that attackers cannot create requests with equal keys.
            hasher: RandomState::new(),
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Returns the proof to run, unless there are already too many proofs.
    ///
    /// If the first proof of a nonce is still running, a second use of the nonce is a replay.
    pub(super) fn begin(
        &self,
        robot: &Arc<Robot>,
        request: &ClaimedRequest<'_>,
    ) -> Result<Option<SignedJob>, ReplayedNonce> {
        let key = self.key(request);
        let is_known = self.told.contains_key(&key);
        if is_known && SignatureProver::is_for_one_request(request.headers) {
            return Err(ReplayedNonce);
        }
        // Each proof stores a copy of its request's headers.
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Ok(None);
        };
        let told = watch::Sender::new(None);
        self.told.insert(key, told.clone());
        let signed = SignedRequest::from(request);
        Ok(Some(SignedJob {
            robot: Arc::clone(robot),
            proof: ClaimProof::default(),
            method: signed.method.clone(),
            scheme: signed.scheme.map(str::to_owned),
            authority: signed.authority.to_owned(),
            target: signed.target.to_owned(),
            headers: signed.headers.clone(),
            told,
            _place: place,
        }))
    }

    /// Returns the number of requests that are stored while their keys are being fetched.
    pub(super) fn pending(&self) -> u64 {
        let free = self.places.available_permits();
        MAX_REQUESTS.saturating_sub(free) as u64
    }

    /// Returns a channel that receives the verdict on a request's signature.
    pub(super) fn watch(
        &self,
        request: &ClaimedRequest<'_>,
    ) -> Option<watch::Receiver<Option<Verdict>>> {
        let told = self.told.get(&self.key(request))?;
        Some(told.subscribe())
    }

    /// Returns a key that distinguishes signed requests, since a signature may match one request
    /// but not another.
    fn key(&self, request: &ClaimedRequest<'_>) -> u64 {
        let SignedRequest {
            method,
            scheme,
            authority,
            target,
            headers,
        } = SignedRequest::from(request);
        let mut headers: Vec<_> = headers.iter().collect();
        // The sort is stable, so lines of the same name remain in order, which the signature
        // covers.
        headers.sort_by_key(|(name, _)| name.as_str());
        let target = (method, scheme, authority, target);
        self.hasher.hash_one((target, headers))
    }
}

/// The error for a nonce that was already used by another request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayedNonce;

impl SignedJob {
    pub(super) fn request(&self) -> SignedRequest<'_> {
        SignedRequest {
            method: &self.method,
            scheme: self.scheme.as_deref(),
            authority: &self.authority,
            target: &self.target,
            headers: &self.headers,
        }
    }

    /// Sends the verdict and its evidence to the tasks that wait for it.
    pub(super) fn announce(&self, verdict: Verdict, evidence: &str) {
        self.proof.set_verdict(verdict, evidence);
        self.told.send_replace(Some(verdict));
    }
}

/// Notifies the tasks that wait for a proof when the proof is dropped.
impl Drop for SignedJob {
    fn drop(&mut self) {
        self.told.send_if_modified(|told| {
            let is_open = told.is_none();
            told.get_or_insert(Verdict::Unverifiable);
            is_open
        });
    }
}
