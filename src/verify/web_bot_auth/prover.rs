//! The check of a request's signature.

use std::sync::Arc;

use http::HeaderMap;

use super::{
    SignatureSettings, SignedRequest,
    agent::{Agents, KeyUrl},
    base::{Base, signature_bases},
    directories::{Directories, Lookup},
    key::Key,
    possession::Possession,
    refusal::{Refusal, shown},
    replay::{Remembered, Used},
    signature::{MAX_SIGNATURES, Parameters, Signature, signatures},
    strangers::Strangers,
};
use crate::clock::Clock;
use crate::registry::Robot;
use crate::verify::{Evidence, Finding, Method};

/// Method that proves a robot by the signature of its request.
///
/// Clones share key directories and the memory of used signatures.
#[derive(Clone, Debug)]
pub struct SignatureProver {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: SignatureSettings,
    clock: Clock,
    directories: Directories,
    used: Used,
    strangers: Strangers,
}

/// Whose signature is looked for.
#[derive(Clone, Copy)]
enum Whom<'r> {
    /// That of a robot's agents.
    Robot(&'r Robot),
    /// Anybody's who has a directory.
    Anybody,
}

/// Where the check of one signature ends.
enum Stop {
    Refused(Refusal),
    /// Refused, by a key that the robot's own agent publishes.
    RefusedByOwnKey(Refusal),
    Fetch(KeyUrl, String),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A key, and the agent that publishes it.
struct Found {
    key: Key,
    agent: KeyUrl,
}

impl SignatureProver {
    /// Creates a prover that knows no key yet.
    #[must_use]
    pub fn new(settings: SignatureSettings, clock: Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                directories: Directories::new(settings.clone(), clock.clone()),
                used: Used::new(settings.max_remembered),
                strangers: Strangers::new(&settings, clock.clone()),
                settings,
                clock,
            }),
        }
    }

    /// Tells whether a request carries a signature; cheap, for every request.
    #[must_use]
    pub fn is_signed(headers: &HeaderMap) -> bool {
        headers.contains_key("signature-input")
    }

    /// Returns `true` if a signature of a request is for that request alone: it has a nonce.
    #[must_use]
    pub fn is_for_one_request(headers: &HeaderMap) -> bool {
        signatures(headers).is_ok_and(|signatures| signatures.iter().any(Signature::has_nonce))
    }

    /// Returns `true` if a signature of a request has a nonce that was used before.
    ///
    /// It is for requests that were not verified: of one that was, its own nonce is known.
    #[must_use]
    pub fn is_replay(&self, headers: &HeaderMap) -> bool {
        let now_s = self.inner.clock.now_ms().div_euclid(1_000);
        let is_known = |signature: &Signature| {
            let parameters = signature.parameters();
            parameters.is_ok_and(|Parameters { keyid, nonce, .. }| {
                nonce.is_some_and(|nonce| self.inner.used.knows(&keyid, &nonce, now_s))
            })
        };
        signatures(headers).is_ok_and(|signatures| signatures.iter().any(is_known))
    }

    /// Looks at a signature; fetches the key directory where it must.
    ///
    /// Each request is to be asked about once: a second time its nonce is one that was
    /// used before.
    pub async fn prove(&self, request: &SignedRequest<'_>, robot: &Robot) -> Finding {
        // One fetch for each signature and each agent that may have its key.
        for _ in 0..=MAX_SIGNATURES * KeyUrl::MOST {
            match self.look(request, robot) {
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

    /// Looks at a signature without any I/O; `None` where a directory must be fetched first.
    #[must_use]
    pub fn prove_now(&self, request: &SignedRequest<'_>, robot: &Robot) -> Option<Finding> {
        self.look(request, robot).ok()
    }

    /// Returns the host that has signed a request, whoever it is, or why nobody is known to
    /// have; without any I/O, `None` where its key directory must be fetched first.
    ///
    /// Each request is to be asked about once, as with [`prove`](Self::prove).
    #[must_use]
    pub fn signer_now(&self, request: &SignedRequest<'_>) -> Option<Result<String, String>> {
        match self.inner.signer(request) {
            Ok(host) => Some(Ok(host)),
            Err(Stop::Refused(refusal) | Stop::RefusedByOwnKey(refusal)) => {
                Some(Err(refusal.to_string()))
            }
            Err(Stop::Fetch(..)) => None,
        }
    }

    /// Returns the fetch of the key directory that a request asks for, where it is to be had now.
    ///
    /// It is not where it is under way, or where many were fetched in this minute.
    pub fn fetch_of_signer(
        &self,
        request: &SignedRequest<'_>,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let Err(Stop::Fetch(agent, keyid)) = self.inner.signer(request) else {
            return None;
        };
        let inner = Arc::clone(&self.inner);
        inner.strangers.begin(&agent).then(|| async move {
            let strangers = &inner.strangers;
            // What fails is remembered there.
            let _ = strangers.directories.fetch(&agent, &keyid).await;
            strangers.end(&agent);
        })
    }

    /// Puts the directory of somebody who is not listed into memory.
    #[cfg(test)]
    pub(crate) fn learn_stranger(&self, agent: &str, jwks: &str) {
        use super::{agent::Discovery, key};
        let origin = KeyUrl::parse(agent, Discovery::Directory, true).unwrap();
        let keys = key::keys(jwks.as_bytes()).unwrap();
        self.inner.strangers.directories.learn(origin, keys);
    }

    /// Puts a directory into memory.
    #[cfg(test)]
    pub(super) fn learn(&self, agent: &str, keys: Vec<Key>) {
        use super::agent::Discovery;
        let origin = KeyUrl::parse(agent, Discovery::Directory, true).unwrap();
        self.inner.directories.learn(origin, keys);
    }

    /// Looks at each signature; the error is the directory that must be fetched first.
    fn look(
        &self,
        request: &SignedRequest<'_>,
        robot: &Robot,
    ) -> Result<Finding, (KeyUrl, String)> {
        let allow_http = self.inner.settings.allow_http;
        let (agents, signatures) = match read(request) {
            Ok(read) => read,
            Err(refusal) => {
                let agents = Agents::read(request.headers);
                let is_own = agents.is_ok_and(|it| it.name_one_of(robot, allow_http));
                return Ok(refused(&refusal, is_own));
            }
        };
        let is_own = agents.name_one_of(robot, allow_http);
        let mut worst = None;
        for signature in &signatures {
            let whom = Whom::Robot(robot);
            let finding = match self.inner.check(request, whom, &agents, signature) {
                Ok((_, text)) => {
                    return Ok(Finding::Confirmed(Evidence::new(Method::WebBotAuth, text)));
                }
                Err(Stop::Fetch(origin, keyid)) => return Err((origin, keyid)),
                Err(Stop::Refused(refusal)) => refused(&refusal, is_own),
                Err(Stop::RefusedByOwnKey(refusal)) => refused(&refusal, true),
            };
            // A signature that was good once is the robot's, whatever else stands beside it.
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

impl Inner {
    /// Returns the host that has signed a request.
    fn signer(&self, request: &SignedRequest<'_>) -> Result<String, Stop> {
        let (agents, signatures) = read(request)?;
        let mut refused = None;
        for signature in &signatures {
            match self.check(request, Whom::Anybody, &agents, signature) {
                Ok((agent, _)) => {
                    let host = agent.host_of_anybody(self.settings.allow_http);
                    return host.map(str::to_owned).ok_or(Refusal::NoAgent.into());
                }
                Err(Stop::Fetch(agent, keyid)) => return Err(Stop::Fetch(agent, keyid)),
                Err(stop) => refused = refused.or(Some(stop)),
            }
        }
        Err(refused.unwrap_or(Refusal::OtherTag.into()))
    }

    /// Checks one signature; the agent and a text say whose it is.
    fn check(
        &self,
        request: &SignedRequest<'_>,
        whom: Whom<'_>,
        agents: &Agents,
        signature: &Signature,
    ) -> Result<(KeyUrl, String), Stop> {
        let parameters = signature.parameters()?;
        if !signature.covers("@authority") && !signature.covers("@target-uri") {
            return Err(Refusal::AuthorityNotCovered.into());
        }
        let candidates = self.candidates(whom, agents, signature)?;
        let now_s = self.clock.now_ms().div_euclid(1_000);
        self.check_times(&parameters, now_s)?;
        let bases = signature_bases(request, &signature.input)?;
        let (directories, used) = match whom {
            Whom::Robot(_) => (&self.directories, &self.used),
            Whom::Anybody => (&self.strangers.directories, &self.strangers.used),
        };
        let found = find(directories, candidates, &parameters.keyid)?;
        let fitting = self.fitting(&found, &parameters, signature, &bases, now_s);
        let supposed = fitting
            .and_then(|fitting| {
                self.use_up(used, &found.key, &parameters, now_s)
                    .map(|()| fitting)
            })
            .map_err(Stop::RefusedByOwnKey)?;
        let Found { key, agent } = found;
        let keyid = shown(&key.keyid);
        let directory = match key.possession {
            Possession::Untold => "",
            Possession::Proven => ", with which its directory is signed too",
            Possession::Failed => ", whose directory has a signature with it that does not hold",
        };
        let signed = format!("signed with the key {keyid} of {agent}{directory}");
        let text = match supposed {
            Some(scheme) => {
                format!("{signed}, for a URL with {scheme}:, which nothing else tells here")
            }
            None => signed,
        };
        Ok((agent, text))
    }

    /// Returns the agents whose keys a signature may be with.
    fn candidates(
        &self,
        whom: Whom<'_>,
        agents: &Agents,
        signature: &Signature,
    ) -> Result<Vec<KeyUrl>, Refusal> {
        let allow_http = self.settings.allow_http;
        match (whom, agents.covered_by(signature, allow_http)?) {
            (Whom::Robot(robot), Some(agent)) if agent.is_of(robot) => Ok(vec![agent]),
            (Whom::Anybody, Some(agent)) if agent.host_of_anybody(allow_http).is_some() => {
                Ok(vec![agent])
            }
            (_, Some(agent)) => Err(Refusal::UnknownAgent(shown(agent.as_str()))),
            (Whom::Robot(robot), None) => Ok(KeyUrl::all_of(robot, allow_http)),
            (Whom::Anybody, None) => Err(Refusal::NoAgent),
        }
    }

    fn check_times(&self, parameters: &Parameters, now_s: i64) -> Result<(), Refusal> {
        let skew_s = seconds(self.settings.clock_skew);
        let max_s = seconds(self.settings.max_lifetime);
        let &Parameters {
            created_s,
            expires_s,
            ..
        } = parameters;
        let lifetime_s = expires_s.saturating_sub(created_s);
        if lifetime_s <= 0 {
            return Err(Refusal::NoLifetime);
        }
        if lifetime_s > max_s {
            return Err(Refusal::LongLifetime(lifetime_s, max_s));
        }
        let ahead_s = created_s.saturating_sub(now_s);
        if ahead_s > skew_s {
            return Err(Refusal::NotYetValid(ahead_s));
        }
        let ago_s = now_s.saturating_sub(expires_s);
        if ago_s > skew_s {
            return Err(Refusal::Expired(ago_s));
        }
        Ok(())
    }

    /// Tells for which scheme a signature fits, where that had to be supposed.
    fn fitting(
        &self,
        found: &Found,
        parameters: &Parameters,
        signature: &Signature,
        bases: &[Base],
        now_s: i64,
    ) -> Result<Option<&'static str>, Refusal> {
        let key = &found.key;
        let agent = found.agent.to_string();
        let keyid = shown(&key.keyid);
        if key.is_test_key() {
            return Err(Refusal::TestKey { agent, keyid });
        }
        if !key.is_valid(now_s, seconds(self.settings.clock_skew)) {
            return Err(Refusal::KeyNotValid { agent, keyid });
        }
        if let Some(alg) = &parameters.alg
            && alg != key.algorithm()
        {
            let (alg, key) = (shown(alg), key.algorithm());
            return Err(Refusal::OtherAlgorithm { alg, key });
        }
        let fitting = bases
            .iter()
            .find(|base| key.verifies(&base.bytes, &signature.bytes));
        let Some(fitting) = fitting else {
            let either = match bases {
                [_] => "",
                _ => ", neither with https: nor with http:",
            };
            return Err(Refusal::WrongSignature {
                agent,
                keyid,
                either,
            });
        };
        Ok(fitting.supposed)
    }

    /// Remembers a nonce, which is good for one request.
    ///
    /// A signature without one holds for its lifetime, and for all that it covers
    /// (draft-ietf-webbotauth-httpsig-protocol §5.2: the components bind it to an authority).
    fn use_up(
        &self,
        used: &Used,
        key: &Key,
        parameters: &Parameters,
        now_s: i64,
    ) -> Result<(), Refusal> {
        let Some(nonce) = &parameters.nonce else {
            return Ok(());
        };
        let skew_s = seconds(self.settings.clock_skew);
        let until_s = parameters.expires_s.saturating_add(skew_s);
        match used.remember(&key.keyid, nonce, until_s, now_s) {
            Remembered::New => Ok(()),
            Remembered::Known => Err(Refusal::Replayed),
            Remembered::NoRoom => Err(Refusal::MemoryFull),
        }
    }
}

/// Finds the key in the directory of one of the agents.
fn find(directories: &Directories, agents: Vec<KeyUrl>, keyid: &str) -> Result<Found, Stop> {
    let mut refusal = Refusal::NoAgent;
    for agent in agents {
        match directories.find(&agent, keyid) {
            Lookup::Known(key) => return Ok(Found { key, agent }),
            Lookup::Ask => return Err(Stop::Fetch(agent, keyid.to_owned())),
            Lookup::Unknown => {
                refusal = Refusal::UnknownKey {
                    agent: agent.to_string(),
                    keyid: shown(keyid),
                };
            }
            Lookup::Unavailable(reason) => {
                refusal = Refusal::NoDirectory {
                    agent: agent.to_string(),
                    reason,
                };
            }
        }
    }
    Err(refusal.into())
}

fn read(request: &SignedRequest<'_>) -> Result<(Agents, Vec<Signature>), Refusal> {
    let agents = Agents::read(request.headers)?;
    Ok((agents, signatures(request.headers)?))
}

fn refused(refusal: &Refusal, names_own_agent: bool) -> Finding {
    if *refusal == Refusal::Replayed {
        return Finding::Replayed(Evidence::new(Method::WebBotAuth, refusal.to_string()));
    }
    if names_own_agent && refusal.is_of_sender() {
        let text = refusal.to_string();
        return Finding::Contradicted(Evidence::new(Method::WebBotAuth, text));
    }
    nothing(refusal)
}

fn nothing(refusal: &Refusal) -> Finding {
    Finding::Nothing(Evidence::new(Method::WebBotAuth, refusal.to_string()))
}

fn seconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
