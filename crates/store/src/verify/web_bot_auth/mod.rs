//! Web Bot Auth: verification of robots that sign their requests.
//!
//! Implements draft-ietf-webbotauth-httpsig-protocol with HTTP Message Signatures (RFC 9421). A
//! robot sends `Signature`, `Signature-Input` and `Signature-Agent`; the latter names a URL and how
//! to find keys there: `directory`, at the well-known path of an origin, `jwks_uri`, a key set, or
//! `cimd`, a Client ID Metadata Document with the keys or their URL. Both the current dictionary
//! and the older string form are supported.
//!
//! # Confirmation and contradiction
//!
//! A signature confirms a robot if it has the tag `web-bot-auth`, `created`, `expires` and `keyid`,
//! covers `@authority` or `@target-uri` and its member of `Signature-Agent`, is valid now with a
//! lifetime within the limits, matches the request and the key with that thumbprint, and has no
//! nonce that was used before. The key must be published by an agent that the registry lists for
//! the robot
//! ([`Robot::signature_agents`](robot_detection_layer::registry::Robot::signature_agents)).
//!
//! A signature contradicts the claim if the request names one of the robot's own agents and the
//! sender caused the error: the signature does not match, has expired, is from the future, covers
//! too little, or cannot be parsed.
//!
//! A signature proves nothing if the agent is not one of the robot's, if its directory is
//! unavailable, lacks the key or has a key that is not valid now, and if a nonce is seen again,
//! which may be a retry. A signature without a nonce is valid for its lifetime and for every
//! request that it covers.
//!
//! # Unknown scheme
//!
//! The values of `@scheme`, `@target-uri` and a port may depend on the scheme. It is `https:` for a
//! TLS connection, or as reported by a trusted proxy ([`SignedRequest::scheme`]); a signature must
//! match that scheme. Other requests came without TLS, possibly from a proxy that terminates TLS
//! without reporting this: a signature with such a component is checked with `https:` and then with
//! `http:`, and the evidence contains the matching scheme.
//!
//! This does not allow forgery: each check requires the operator's signature over all covered
//! components, with one of two values in one place. The remaining attack uses a signature that the
//! robot made for the other scheme, of the same host, path and time. Its holder can also send it as
//! intended, since this listener receives both schemes. A nonce is stored with its key, whichever
//! scheme matches, so it is used up by the first request. A listener with TLS, or behind a trusted
//! proxy that reports the scheme, never tries the other scheme: a signature for `http:`, which
//! others on the network can read, is not valid for `https:` there.
//!
//! The cost is a second check of failing signatures that depend on the scheme.
//!
//! # Key directories
//!
//! To verify a listed robot, only agents that the registry lists for this robot (hosts of
//! directories or whole URLs) and key sets named in their documents are fetched, so clients cannot
//! cause arbitrary fetches; only over `https:`, without redirects or proxies, from public
//! addresses, at most 64 KiB and 32 keys. Directories are cached by `Cache-Control`, from one
//! minute to one day, and fetched again for an unknown key at most once a minute. While a directory
//! is unavailable, its keys remain in use for a day.
//!
//! For unlisted signers, the directory at the well-known path of a named host with the default port
//! is fetched too, so that the signer is known by its host ([`SignatureProver::signer_now`]). Such
//! directories and nonces are stored separately, with at most twenty fetches a minute. They never
//! verify a listed robot.
//!
//! A directory's own signatures, one per key, prove that its publisher has the private halves. The
//! draft requires them for keys passed on by others; here keys come from the directory itself, so
//! these signatures are mentioned in the evidence only. The test keys of RFC 9421, whose private
//! halves are public, are rejected.

mod agent;
mod base;
mod check;
mod component;
mod directories;
mod key;
mod possession;
mod prover;
mod refusal;
mod replay;
mod request;
mod signature;
mod signer;
mod signing_key;
mod unlisted_signers;

pub use prover::{ACCEPT_SIGNATURE, SignatureProver};
pub use refusal::SignatureSettings;
pub use request::SignedRequest;
pub use signer::Signer;
pub use signing_key::SigningKeyError;

#[cfg(test)]
mod tests;
