//! Reasons why a signature proves nothing, or the opposite.

use std::time::Duration;

use thiserror::Error;

/// Reason for which a signature does not confirm a robot; its text is evidence.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum Refusal {
    #[error("{0} is over {max} bytes", max = super::base::MAX_FIELD_BYTES)]
    TooLong(&'static str),
    #[error("{0} cannot be read")]
    Malformed(&'static str),
    #[error("no signature has the tag \"web-bot-auth\"")]
    OtherTag,
    #[error("more than {max} signatures", max = super::signature::MAX_SIGNATURES)]
    TooManySignatures,
    #[error("Signature-Input has the label {0}, and Signature has not")]
    NoSignature(String),
    #[error("the signature has no {0}")]
    NoParameter(&'static str),
    #[error("the signature's {0} is of a wrong kind")]
    BadParameter(&'static str),
    #[error("the signature covers neither @authority nor @target-uri")]
    AuthorityNotCovered,
    #[error("the signature does not cover Signature-Agent")]
    AgentNotCovered,
    #[error("the signature covers {0}, which is not known or cannot stand in a request")]
    UnknownComponent(String),
    #[error("the signature covers {0} twice")]
    RepeatedComponent(String),
    #[error("the signature covers {0}, which the request does not have, or not once")]
    MissingComponent(String),
    #[error("the signature covers more than can be looked at")]
    TooMuchCovered,
    #[error("Signature-Agent {0} is not the https origin of a key directory")]
    NoOrigin(String),
    #[error("Signature-Agent {0} is not an https URL of keys")]
    NoUrl(String),
    #[error("Signature-Agent has the type {0}, which is not supported")]
    OtherType(String),
    #[error("signed by {0}, an agent that the registry does not know for this robot")]
    UnknownAgent(String),
    #[error("signed without Signature-Agent, and the registry knows none for this robot")]
    NoAgent,
    #[error("the signature is from the future: created {0} s ahead of this clock")]
    NotYetValid(i64),
    #[error("the signature expired {0} s ago")]
    Expired(i64),
    #[error("the signature expires before it was created")]
    NoLifetime,
    #[error("the signature is for {0} s, and at most {1} s are accepted")]
    LongLifetime(i64, i64),
    #[error("{agent} has no key {keyid}")]
    UnknownKey { agent: String, keyid: String },
    #[error("the key {keyid} of {agent} is one of RFC 9421's test keys, which everybody has")]
    TestKey { agent: String, keyid: String },
    #[error("the key {keyid} of {agent} is not valid now: its nbf or exp says so")]
    KeyNotValid { agent: String, keyid: String },
    #[error("the signature's alg is {alg}, and the key's is {key}")]
    OtherAlgorithm { alg: String, key: &'static str },
    #[error("the signature does not fit the request and the key {keyid} of {agent}{either}")]
    WrongSignature {
        agent: String,
        keyid: String,
        either: &'static str,
    },
    #[error("the signature's nonce was used before")]
    Replayed,
    #[error("too many signatures are remembered to tell whether this one's nonce is new")]
    MemoryFull,
    #[error("the key directory of {agent} could not be had: {reason}")]
    NoDirectory { agent: String, reason: String },
    #[error("too many key directories are being fetched")]
    TooManyFetches,
}

impl Refusal {
    /// Returns `true` if a true robot that names its own agent would never be refused so.
    ///
    /// A fault of the operator's directory, of the registry or of ours says
    /// nothing about the sender. Nor does a nonce that is seen again: a robot that
    /// tries again after a broken connection sends it twice.
    pub(super) fn is_of_sender(&self) -> bool {
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

/// Returns text from outside as evidence shows it: quoted, escaped and cut.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

/// Limits of a [`SignatureProver`](super::SignatureProver).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignatureSettings {
    /// Longest time from `created` to `expires`; 24 hours by default.
    pub max_lifetime: Duration,
    /// Largest difference between the signer's clock and ours; 30 seconds by default.
    pub clock_skew: Duration,
    /// Nonces that are remembered, so that none is used twice; 262,144 by default.
    ///
    /// Each takes about 32 bytes until its signature expires. While that many are
    /// remembered, no further signature with a nonce confirms anybody.
    pub max_remembered: usize,
    /// Key directories that are kept; 256 by default.
    pub max_directories: usize,
    /// Key directories that are fetched at once; 4 by default.
    pub max_fetches: usize,
    /// Longest time for fetching a key directory; 5 seconds by default.
    pub fetch_timeout: Duration,
    /// Whether key directories may be fetched over `http:`; never by default.
    ///
    /// For tests: whoever is between could exchange the keys.
    pub allow_http: bool,
    /// Whether key directories may have private addresses; never by default.
    ///
    /// For tests, and for robots of one's own network.
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
