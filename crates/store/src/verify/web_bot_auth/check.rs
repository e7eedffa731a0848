//! Checks a signature, step by step.

use super::{
    SignatureSettings, SignedRequest,
    agent::{Agents, KeyUrl},
    base::{Base, signature_bases},
    directories::{Directories, Lookup},
    key::Key,
    possession::Possession,
    refusal::{Refusal, shown},
    replay::{NonceStatus, UsedNonces},
    signature::{Parameters, Signature, signatures},
    unlisted_signers::UnlistedSigners,
};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::registry::Robot;

/// The state shared by the clones of a signature prover.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) settings: SignatureSettings,
    pub(super) clock: Clock,
    pub(super) directories: Directories,
    pub(super) used: UsedNonces,
    pub(super) unlisted_signers: UnlistedSigners,
}

/// The signers that are accepted.
#[derive(Clone, Copy)]
pub(super) enum SignerScope<'r> {
    /// The agents of a robot.
    Robot(&'r Robot),
    /// Any host that has a key directory.
    Anybody,
}

/// The reason why checking a signature ends early.
pub(super) enum CheckStop {
    Refused(Refusal),
    /// The signature was refused, although its key is published by the robot's own agent.
    RefusedByOwnKey(Refusal),
    Fetch(KeyUrl, String),
}

impl From<Refusal> for CheckStop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A key, and the agent that publishes the key.
struct PublishedKey {
    key: Key,
    agent: KeyUrl,
}

impl Inner {
    /// Returns the host that has signed a request.
    pub(super) fn signer(&self, request: &SignedRequest<'_>) -> Result<String, CheckStop> {
        let (agents, signatures) = read(request)?;
        let mut refused = None;
        for signature in &signatures {
            match self.check(request, SignerScope::Anybody, &agents, signature) {
                Ok((agent, _)) => {
                    let host = agent.host_of_anybody(self.settings.allow_http);
                    return host.map(str::to_owned).ok_or(Refusal::NoAgent.into());
                }
                Err(CheckStop::Fetch(agent, keyid)) => return Err(CheckStop::Fetch(agent, keyid)),
                Err(stop) => refused = refused.or(Some(stop)),
            }
        }
        Err(refused.unwrap_or(Refusal::OtherTag.into()))
    }

    /// Checks a single signature. Returns the agent and a text that describes the signer.
    pub(super) fn check(
        &self,
        request: &SignedRequest<'_>,
        whom: SignerScope<'_>,
        agents: &Agents,
        signature: &Signature,
    ) -> Result<(KeyUrl, String), CheckStop> {
        let parameters = signature.parameters()?;
        // Without the host, a signature for one site could be used at another.
        if !signature.covers("@authority") && !signature.covers("@target-uri") {
            return Err(Refusal::AuthorityNotCovered.into());
        }
        let candidates = self.candidates(whom, agents, signature)?;
        let now_s = self.clock.now_ms().div_euclid(1_000);
        self.check_times(&parameters, now_s)?;
        let bases = signature_bases(request, &signature.input)?;
        let (directories, used) = match whom {
            SignerScope::Robot(_) => (&self.directories, &self.used),
            SignerScope::Anybody => (
                &self.unlisted_signers.directories,
                &self.unlisted_signers.used,
            ),
        };
        // Cheap checks come first, to avoid fetches and signature verifications.
        let found = find(directories, candidates, &parameters.keyid)?;
        let fitting = self.fitting(&found, &parameters, signature, &bases, now_s);
        // Only a valid signature uses up its nonce: otherwise anyone could use up a robot's nonces.
        let supposed = fitting
            .and_then(|fitting| {
                self.use_up(used, &found.key, &parameters, now_s)
                    .map(|()| fitting)
            })
            .map_err(CheckStop::RefusedByOwnKey)?;
        let PublishedKey { key, agent } = found;
        let keyid = shown(&key.keyid);
        let directory = match key.possession {
            Possession::NotSigned => "",
            Possession::Proven => ", which also signs its directory",
            Possession::Failed => ", whose signature of the directory is invalid",
        };
        let signed = format!("signed with the key {keyid} of {agent}{directory}");
        let text = match supposed {
            Some(scheme) => {
                format!("{signed}, assuming a URL with {scheme}:")
            }
            None => signed,
        };
        Ok((agent, text))
    }

    /// Returns the agents that may have published the signature's key.
    fn candidates(
        &self,
        whom: SignerScope<'_>,
        agents: &Agents,
        signature: &Signature,
    ) -> Result<Vec<KeyUrl>, Refusal> {
        let allow_http = self.settings.allow_http;
        match (whom, agents.covered_by(signature, allow_http)?) {
            (SignerScope::Robot(robot), Some(agent)) if agent.belongs_to(robot) => Ok(vec![agent]),
            (SignerScope::Anybody, Some(agent)) if agent.host_of_anybody(allow_http).is_some() => {
                Ok(vec![agent])
            }
            (_, Some(agent)) => Err(Refusal::UnknownAgent(shown(agent.as_str()))),
            (SignerScope::Robot(robot), None) => Ok(KeyUrl::for_robot(robot, allow_http)),
            (SignerScope::Anybody, None) => Err(Refusal::NoAgent),
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
        // The clocks of signer and verifier differ, so the clock skew is tolerated at both ends of
        // the lifetime.
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

    /// Verifies a signature. Returns the scheme if the scheme had to be assumed.
    fn fitting(
        &self,
        found: &PublishedKey,
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
        // RFC 9421 §3.2: `alg` must match the algorithm of the key.
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

    /// Stores a nonce, which is valid for only one request.
    ///
    /// A signature without a nonce is valid throughout its lifetime for all requests that it covers
    /// (draft-ietf-webbotauth-httpsig-protocol §5.2: the components bind it to an authority).
    fn use_up(
        &self,
        used: &UsedNonces,
        key: &Key,
        parameters: &Parameters,
        now_s: i64,
    ) -> Result<(), Refusal> {
        let Some(nonce) = &parameters.nonce else {
            return Ok(());
        };
        let skew_s = seconds(self.settings.clock_skew);
        // The signature is accepted until the skew has passed, so the nonce must be stored until
        // then.
        let until_s = parameters.expires_s.saturating_add(skew_s);
        match used.remember(&key.keyid, nonce, until_s, now_s) {
            NonceStatus::New => Ok(()),
            NonceStatus::Known => Err(Refusal::Replayed),
            NonceStatus::NoRoom => Err(Refusal::MemoryFull),
        }
    }
}

/// Finds the key in the directory of one of the agents.
fn find(
    directories: &Directories,
    agents: Vec<KeyUrl>,
    keyid: &str,
) -> Result<PublishedKey, CheckStop> {
    let mut refusal = Refusal::NoAgent;
    for agent in agents {
        match directories.find(&agent, keyid) {
            Lookup::Known(key) => return Ok(PublishedKey { key, agent }),
            Lookup::NotFetched => return Err(CheckStop::Fetch(agent, keyid.to_owned())),
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

/// Parses the signature-related fields of a request.
pub(super) fn read(request: &SignedRequest<'_>) -> Result<(Agents, Vec<Signature>), Refusal> {
    let agents = Agents::read(request.headers)?;
    Ok((agents, signatures(request.headers)?))
}

fn seconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
