//! Reasons why a signature proves nothing or contradicts a claim.

use std::time::Duration;

use thiserror::Error;

/// The reason why a signature does not confirm a robot. The text is used as evidence.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum Refusal {
    #[error("{0} is over {max} bytes", max = super::base::MAX_FIELD_BYTES)]
    TooLong(&'static str),
    #[error("{0} cannot be parsed")]
    Malformed(&'static str),
    #[error("no signature has the tag \"web-bot-auth\"")]
    OtherTag,
    #[error("the request has more than {max} signatures", max = super::signature::MAX_SIGNATURES)]
    TooManySignatures,
    #[error("Signature-Input has the label {0}, but Signature does not")]
    NoSignature(String),
    #[error("the signature has no {0}")]
    NoParameter(&'static str),
    #[error("the signature's {0} has the wrong type")]
    BadParameter(&'static str),
    #[error("the signature covers neither @authority nor @target-uri")]
    AuthorityNotCovered,
    #[error("the signature does not cover Signature-Agent")]
    AgentNotCovered,
    #[error("the signature covers {0}, which is unknown or not allowed in a request")]
    UnknownComponent(String),
    #[error("the signature covers {0} twice")]
    RepeatedComponent(String),
    #[error("the signature covers {0}, which does not occur exactly once in the request")]
    MissingComponent(String),
    #[error("the signature covers too many components or bytes")]
    TooMuchCovered,
    #[error("Signature-Agent {0} is not the https origin of a key directory")]
    NoOrigin(String),
    #[error("Signature-Agent {0} is not an https URL of keys")]
    NoUrl(String),
    #[error("Signature-Agent has the type {0}, which is not supported")]
    OtherType(String),
    #[error("signed by {0}, which the registry does not list as an agent of this robot")]
    UnknownAgent(String),
    #[error("signed without Signature-Agent, and the registry lists no agent for this robot")]
    NoAgent,
    #[error("the signature is from the future: created {0} s ahead of this clock")]
    NotYetValid(i64),
    #[error("the signature expired {0} s ago")]
    Expired(i64),
    #[error("the signature expires before it was created")]
    NoLifetime,
    #[error("the signature is valid for {0} s, but at most {1} s are accepted")]
    LongLifetime(i64, i64),
    #[error("{agent} has no key {keyid}")]
    UnknownKey { agent: String, keyid: String },
    #[error("the key {keyid} of {agent} is a test key from RFC 9421, whose private half is public")]
    TestKey { agent: String, keyid: String },
    #[error("the key {keyid} of {agent} is not currently valid according to its nbf or exp")]
    KeyNotValid { agent: String, keyid: String },
    #[error("the signature's alg is {alg}, but the key's is {key}")]
    OtherAlgorithm { alg: String, key: &'static str },
    #[error("the signature does not match the request and the key {keyid} of {agent}{either}")]
    WrongSignature {
        agent: String,
        keyid: String,
        either: &'static str,
    },
    #[error("the signature's nonce was used before")]
    Replayed,
    #[error("too many nonces are stored to check whether the signature's nonce is new")]
    MemoryFull,
    #[error("could not fetch the key directory of {agent}: {reason}")]
    NoDirectory { agent: String, reason: String },
    #[error("too many key directories are being fetched")]
    TooManyFetches,
}

impl Refusal {
    /// Returns `true` if the sender caused the error, so that the genuine robot would not be
    /// refused.
    ///
    /// Errors in the operator's directory, the registry or our program are not caused by the
    /// sender. Neither is a repeated nonce, since a robot that retries after a broken connection
    /// sends the same nonce twice.
    pub(super) fn is_caused_by_sender(&self) -> bool {
        match self {
            Self::NoOrigin(_)
            | Self::OtherType(_)
            | Self::UnknownAgent(_)
            | Self::NoAgent
            | Self::UnknownKey { .. }
            | Self::TestKey { .. }
            | Self::KeyNotValid { .. }
            | Self::Replayed
            | Self::NoUrl(_)
            | Self::MemoryFull
            | Self::NoDirectory { .. }
            | Self::TooManyFetches => false,
            Self::TooLong(_)
            | Self::Malformed(_)
            | Self::OtherTag
            | Self::TooManySignatures
            | Self::NoSignature(_)
            | Self::NoParameter(_)
            | Self::BadParameter(_)
            | Self::AuthorityNotCovered
            | Self::AgentNotCovered
            | Self::UnknownComponent(_)
            | Self::RepeatedComponent(_)
            | Self::MissingComponent(_)
            | Self::TooMuchCovered
            | Self::NotYetValid(_)
            | Self::Expired(_)
            | Self::NoLifetime
            | Self::LongLifetime(..)
            | Self::OtherAlgorithm { .. }
            | Self::WrongSignature { .. } => true,
        }
    }
}

/// Returns external text for use in evidence: quoted, escaped and truncated.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

/// The limits of a [`SignatureProver`](super::SignatureProver).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignatureSettings {
    /// The maximum time between `created` and `expires`; 24 hours by default.
    pub max_lifetime: Duration,
    /// The maximum difference between the signer's clock and ours; 30 seconds by default.
    pub clock_skew: Duration,
    /// The maximum number of stored nonces, which prevent signatures from being reused; 262,144 by
    /// default.
    ///
    /// Each nonce takes up about 32 bytes until its signature expires. While the maximum number of
    /// nonces is stored, further signatures with a nonce do not confirm any robot.
    pub max_remembered: usize,
    /// The maximum number of cached key directories; 256 by default.
    pub max_directories: usize,
    /// The maximum number of concurrent fetches of key directories; 4 by default.
    pub max_fetches: usize,
    /// The timeout for fetching a key directory; 5 seconds by default.
    pub fetch_timeout: Duration,
    /// Whether key directories may be fetched over `http:`; `false` by default.
    ///
    /// This is for tests only, since an attacker on the network could replace the keys.
    pub allow_http: bool,
    /// Whether key directories may have private addresses; `false` by default.
    ///
    /// This is for tests, and for robots in your own network.
    pub allow_private_networks: bool,
}

impl Default for SignatureSettings {
    fn default() -> Self {
        Self {
            max_lifetime: Duration::from_hours(24),
            clock_skew: Duration::from_secs(30),
            max_remembered: 1 << 18,
            max_directories: 256,
            max_fetches: 4,
            fetch_timeout: Duration::from_secs(5),
            allow_http: false,
            allow_private_networks: false,
        }
    }
}
