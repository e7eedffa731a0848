//! Verifies a request by its signature.

use std::sync::Arc;

use http::HeaderMap;

use super::{
    SignatureSettings, SignedRequest,
    agent::{Agents, KeyUrl},
    check::{CheckStop, Inner, SignerScope, read},
    directories::Directories,
    refusal::Refusal,
    replay::UsedNonces,
    signature::{MAX_SIGNATURES, Parameters, Signature, signatures},
    unlisted_signers::UnlistedSigners,
};
use crate::verify::{Evidence, Finding, Method};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::registry::Robot;

/// The value of the `Accept-Signature` header in a refusal (RFC 9421 §5.1).
///
/// The value requests a signature that [`SignatureProver`] accepts and that is valid for a single
/// request. The draft recommends sending this header with status 403.
pub const ACCEPT_SIGNATURE: &str = "sig1=(\"@authority\" \"@method\" \"@path\" \"@query\" \
     \"signature-agent\";key=\"sig1\");created;expires;keyid;nonce;tag=\"web-bot-auth\"";

/// A prover that verifies a robot by the signature of its request.
///
/// Clones share key directories and used nonces.
#[derive(Clone, Debug)]
pub struct SignatureProver {
    inner: Arc<Inner>,
}

impl SignatureProver {
    /// Creates a prover that does not have any keys yet.
    pub fn new(settings: SignatureSettings, clock: Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                directories: Directories::new(settings.clone(), clock.clone()),
                used: UsedNonces::new(settings.max_remembered),
                unlisted_signers: UnlistedSigners::new(&settings, clock.clone()),
                settings,
                clock,
            }),
        }
    }

    /// Returns `true` if a request has a signature. This is fast enough to be called for every
    /// request.
    pub fn is_signed(headers: &HeaderMap) -> bool {
        headers.contains_key("signature-input")
    }

    /// Returns `true` if a request's signature has a nonce, which makes the signature valid for
    /// this request only.
    pub fn is_for_one_request(headers: &HeaderMap) -> bool {
        signatures(headers).is_ok_and(|signatures| signatures.iter().any(Signature::has_nonce))
    }

    /// Returns `true` if any signature of a request has a nonce that was used before.
    ///
    /// Call this function only for requests that were not verified, since a verified request has
    /// used up its own nonce.
    pub fn is_replay(&self, headers: &HeaderMap) -> bool {
        let now_s = self.inner.clock.now_ms().div_euclid(1_000);
        let is_known = |signature: &Signature| {
            let parameters = signature.parameters();
            parameters.is_ok_and(|Parameters { keyid, nonce, .. }| {
                nonce.is_some_and(|nonce| self.inner.used.contains(&keyid, &nonce, now_s))
            })
        };
        signatures(headers).is_ok_and(|signatures| signatures.iter().any(is_known))
    }

    /// Checks a signature, and fetches the key directory if necessary.
    ///
    /// Call this function only once per request, since the nonce counts as used the second time.
    pub async fn prove(&self, request: &SignedRequest<'_>, robot: &Robot) -> Finding {
        // One fetch for each signature and each agent that may have its key.
        for _ in 0..=MAX_SIGNATURES * KeyUrl::MOST {
            match self.check_signatures(request, robot) {
                Ok(finding) => return finding,
                Err((origin, keyid)) => {
                    let fetched = self.inner.directories.fetch(&origin, &keyid).await;
                    if let Err(refusal) = fetched {
                        return nothing(&refusal);
                    }
                }
            }
        }
        nothing(&Refusal::TooManyFetches)
    }

    /// Checks a signature without any I/O. Returns `None` if a directory must first be fetched.
    pub fn prove_now(&self, request: &SignedRequest<'_>, robot: &Robot) -> Option<Finding> {
        self.check_signatures(request, robot).ok()
    }

    /// Returns the host that signed a request, or the reason why the signer is unknown, without any
    /// I/O. Returns `None` if a key directory must first be fetched.
    ///
    /// Call this function only once per request, as with [`prove`](Self::prove).
    pub fn signer_now(&self, request: &SignedRequest<'_>) -> Option<Result<String, String>> {
        match self.inner.signer(request) {
            Ok(host) => Some(Ok(host)),
            Err(CheckStop::Refused(refusal) | CheckStop::RefusedByOwnKey(refusal)) => {
                Some(Err(refusal.to_string()))
            }
            Err(CheckStop::Fetch(..)) => None,
        }
    }

    /// Returns a future that fetches the key directory for a request, if a fetch is currently
    /// allowed.
    ///
    /// Returns `None` if the directory is already being fetched, or if the limit per minute is
    /// reached.
    pub fn signer_fetch(
        &self,
        request: &SignedRequest<'_>,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let Err(CheckStop::Fetch(agent, keyid)) = self.inner.signer(request) else {
            return None;
        };
        if !self.inner.unlisted_signers.begin(&agent) {
            return None;
        }
        let inner = Arc::clone(&self.inner);
        let fetching = FetchGuard { inner, agent };
        Some(async move {
            let FetchGuard { inner, agent } = &fetching;
            // A failure is stored in the directory's state.
            let _ = inner
                .unlisted_signers
                .directories
                .fetch(agent, &keyid)
                .await;
        })
    }

    /// Stores the directory of an unlisted signer in memory.
    #[cfg(test)]
    pub(crate) fn learn_unlisted(&self, agent: &str, jwks: &str) {
        use super::{agent::Discovery, key};
        let origin = KeyUrl::parse(agent, Discovery::Directory, true).unwrap();
        let keys = key::keys(jwks.as_bytes()).unwrap();
        self.inner.unlisted_signers.directories.learn(origin, keys);
    }

    /// Stores the keys of a directory in memory.
    #[cfg(test)]
    pub(super) fn learn(&self, agent: &str, keys: Vec<super::key::Key>) {
        use super::agent::Discovery;
        let origin = KeyUrl::parse(agent, Discovery::Directory, true).unwrap();
        self.inner.directories.learn(origin, keys);
    }

    /// Checks each signature of a request. The error is the directory that must first be fetched.
    fn check_signatures(
        &self,
        request: &SignedRequest<'_>,
        robot: &Robot,
    ) -> Result<Finding, (KeyUrl, String)> {
        let allow_http = self.inner.settings.allow_http;
        let (agents, signatures) = match read(request) {
            Ok(read) => read,
            Err(refusal) => {
                let agents = Agents::read(request.headers);
                let is_own = agents.is_ok_and(|it| it.names_robot(robot, allow_http));
                return Ok(refused(&refusal, is_own));
            }
        };
        let is_own = agents.names_robot(robot, allow_http);
        let mut worst = None;
        for signature in &signatures {
            let whom = SignerScope::Robot(robot);
            let finding = match self.inner.check(request, whom, &agents, signature) {
                Ok((_, text)) => {
                    return Ok(Finding::Confirmed(Evidence::new(Method::WebBotAuth, text)));
                }
                Err(CheckStop::Fetch(origin, keyid)) => return Err((origin, keyid)),
                Err(CheckStop::Refused(refusal)) => refused(&refusal, is_own),
                Err(CheckStop::RefusedByOwnKey(refusal)) => refused(&refusal, true),
            };
            // A signature that was once valid is the robot's, whatever other signatures there are.
            let is_kept = matches!(
                (&worst, &finding),
                (Some(Finding::Replayed(_)), _)
                    | (Some(Finding::Contradicted(_)), Finding::Nothing(_))
            );
            if !is_kept {
                worst = Some(finding);
            }
        }
        Ok(worst.unwrap_or_else(|| nothing(&Refusal::OtherTag)))
    }
}

/// A guard for fetching an unlisted signer's directory; dropping the guard ends the fetch.
struct FetchGuard {
    inner: Arc<Inner>,
    agent: KeyUrl,
}

impl Drop for FetchGuard {
    fn drop(&mut self) {
        self.inner.unlisted_signers.end(&self.agent);
    }
}

fn refused(refusal: &Refusal, names_own_agent: bool) -> Finding {
    if *refusal == Refusal::Replayed {
        return Finding::Replayed(Evidence::new(Method::WebBotAuth, refusal.to_string()));
    }
    if names_own_agent && refusal.is_caused_by_sender() {
        let text = refusal.to_string();
        return Finding::Contradicted(Evidence::new(Method::WebBotAuth, text));
    }
    nothing(refusal)
}

fn nothing(refusal: &Refusal) -> Finding {
    Finding::Nothing(Evidence::new(Method::WebBotAuth, refusal.to_string()))
}
