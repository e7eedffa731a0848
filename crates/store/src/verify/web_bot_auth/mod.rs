//! Web Bot Auth: verifies robots that sign their requests.
//!
//! Implements draft-ietf-webbotauth-httpsig-protocol with HTTP Message Signatures (RFC 9421). A
//! robot sends `Signature`, `Signature-Input` and `Signature-Agent`; the latter specifies a URL and
//! how to find keys there: `directory` (at the well-known path of an origin), `jwks_uri` (a key
//! set), or `cimd` (a Client ID Metadata Document that contains the keys or their URL). Both the
//! current dictionary and the older string form are supported.
//!
//! # Confirmation and contradiction
//!
//! A signature confirms a robot if it has the tag `web-bot-auth`, `created`, `expires` and `keyid`,
//! covers `@authority` or `@target-uri` and its member of `Signature-Agent`, is currently valid
//! with a lifetime within the limits, matches the request and the key with this thumbprint, and
//! does not have a nonce that was used before. The key must be published by an agent that the
//! registry lists for the robot
//! ([`Robot::signature_agents`](robot_detection_layer::registry::Robot::signature_agents)).
//!
//! A signature contradicts the claim if the request specifies one of the robot's own agents and the
//! sender caused the error: the signature does not match, has expired, is from the future, covers
//! too little, or cannot be parsed.
//!
//! A signature proves nothing if the agent is not one of the robot's, if its directory is
//! unavailable, lacks the key or contains a key that is not currently valid, or if a nonce is seen
//! again, as this may be a retry. A signature without a nonce is valid throughout its lifetime for
//! every request that it covers.
//!
//! # Unknown scheme
//!
//! The values of `@scheme`, `@target-uri` and a port may depend on the scheme. The scheme is
//! `https:` for a TLS connection, or as reported by a trusted proxy ([`SignedRequest::scheme`]),
//! and a signature must match it. Any other request arrived without TLS, possibly from a proxy that
//! terminates TLS without reporting this. A signature with such a component is then checked with
//! `https:` and with `http:`, and the evidence contains the matching scheme.
//!
//! This does not allow forgery: each check requires the operator's signature over all covered
//! components, with one of two values in one place. The remaining attack uses a signature that the
//! robot made for the other scheme, with the same host, path and time. The attacker could also send
//! the signature as intended, since this listener receives both schemes. A nonce is stored with its
//! key, whichever scheme matches, so it is used up by the first request. A listener with TLS, or
//! behind a trusted proxy that reports the scheme, never tries the other scheme: a signature for
//! `http:`, which others on the network can read, is not valid for `https:` there.
//!
//! The cost is a second check for signatures that depend on the scheme and fail the first check.
//!
//! # Key directories
//!
//! To verify a listed robot, only agents that the registry lists for this robot (hosts of
//! directories or whole URLs) and key sets specified in their documents are fetched, so clients
//! cannot cause arbitrary fetches. Fetches use only `https:`, without redirects or proxies, from
//! public addresses, and are limited to 64 KiB and 32 keys. Directories are cached according to
//! `Cache-Control`, from one minute to one day, and fetched again for an unknown key at most once a
//! minute. While a directory is unavailable, its keys remain in use for a day.
//!
//! For unlisted signers, the directory at the well-known path of the specified host with the
//! default port is also fetched, so that the signer can be identified by its host
//! ([`SignatureProver::signer_now`]). Such directories and nonces are stored separately, with at
//! most twenty fetches a minute. They never verify a listed robot.
//!
//! A directory's own signatures, one per key, prove that its publisher has the private halves. The
//! draft requires such signatures for keys passed on by others. Here, keys come from the directory
//! itself, so the signatures are only mentioned in the evidence. The test keys of RFC 9421, whose
//! private halves are public, are rejected.

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
mod unlisted_signers;

pub use prover::{ACCEPT_SIGNATURE, SignatureProver};
pub use refusal::SignatureSettings;
pub use request::SignedRequest;

#[cfg(test)]
mod tests;
