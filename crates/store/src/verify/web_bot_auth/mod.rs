//! Web Bot Auth: robots that sign their requests.
//!
//! After draft-ietf-webbotauth-httpsig-protocol, with HTTP Message Signatures
//! (RFC 9421). A robot sends `Signature`, `Signature-Input` and `Signature-Agent`;
//! the last names a URL, and how its keys are had there: `directory`, at the
//! well-known path of an origin, `jwks_uri`, a key set, or `cimd`, a Client ID
//! Metadata Document with the keys or their URL. Both forms of it are read, the
//! current dictionary and the older string.
//!
//! # What confirms, and what contradicts
//!
//! A signature confirms a robot when it has the tag `web-bot-auth`, `created`,
//! `expires` and `keyid`, covers `@authority` or `@target-uri` and its member of
//! `Signature-Agent`, is of this time and no older than the limits, fits the
//! request and the key with that thumbprint, and has no nonce that was used before. The key
//! is one that an agent publishes which the registry knows for the robot
//! ([`Robot::signature_agents`](robot_detection_layer::registry::Robot::signature_agents)).
//!
//! It contradicts the claim when the request names one of the robot's own agents
//! and the signature is wrong in a way that is the sender's doing: it does not
//! fit, expired, is from the future, covers too little, or cannot be read.
//!
//! It says nothing when the agent is not one of the robot's, when its directory
//! could not be had, or has no such key, or one out of its own time, and when a
//! nonce comes a second time: that may be a robot that tries again. A signature
//! without a nonce holds for its lifetime, and for every request that it covers.
//!
//! # Where nobody knows the scheme
//!
//! What a signature says of `@scheme`, of `@target-uri` and of a port may depend on
//! the scheme. A request that came by TLS came by `https:`, and a trusted proxy's
//! word counts ([`SignedRequest::scheme`]); there a signature has to fit that
//! scheme. All others came without TLS, maybe by somebody who ended it and does not
//! say so: a signature that covers such a thing is tried with `https:` and then with
//! `http:`, and the evidence tells with which it fits.
//!
//! That opens no way to forge a signature. Each try asks for the operator's own
//! signature over all that is covered, with one of two words in one place; who
//! cannot sign gains nothing by a second word to miss. What is left is to take a
//! signature that the robot made for the other scheme, of the same host, path and
//! time. Who holds such a one can send it as it was meant: this listener is where
//! both of them arrive, and he chooses by which way. With a nonce he can do it once:
//! it is remembered with its key, whichever scheme fits, and used up with the first. A
//! listener with TLS, and one behind a trusted proxy that tells, never try the other
//! word: there a signature for `http:`, which anybody on the way could read, is not
//! good for `https:`.
//!
//! The price is a second check of a signature that fails, and covers what depends on
//! the scheme.
//!
//! # Key directories
//!
//! To prove a robot of the registry only those of agents which it knows for the robot in
//! question, hosts of directories or whole URLs, and the key sets that their documents name
//! are fetched, so nobody makes us fetch at will; over `https:` alone, without redirects
//! or proxies, from public addresses, at most 64 KiB and 32 keys. They are kept as long as `Cache-Control` says, from one minute to one day, and
//! asked again for a key that they do not have at most once a minute. While a
//! directory cannot be had its keys are used on for a day.
//!
//! Of whom the registry knows nothing the directory of an origin is fetched too, at the
//! well-known path of a host with a name and the usual port, so that who signs is known
//! by that host ([`SignatureProver::signer_now`]). Such directories and nonces are kept
//! apart, and twenty are fetched in a minute at most. That proves nobody to be a robot of
//! the registry.
//!
//! A directory's own signatures, with each of its keys, prove that who publishes a
//! key has its private half. The draft needs them for keys that somebody else passes
//! on, and ours come from the directory itself: they are told with the evidence, and
//! decide nothing. The test keys of RFC 9421, whose private halves are printed there, are refused.

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
