//! Proofs of who a robot is: published address ranges, reverse DNS, Web Bot Auth.
//!
//! A User-Agent is a claim. Each [`Method`] looks for what the robot's operator
//! publishes about it and returns a [`Finding`]; together they make a [`Proof`] with
//! its verdict, and the evidence for people to read.
//!
//! [`Verifier`] puts them together for a server: it answers at once from memory, asks
//! the DNS in the background, and remembers what it was told.
//!
//! [`DnsProver`] asks for the names of an address, and whether exactly those of them
//! that are the operator's have the address.

mod dns;
mod proof;
mod ranges;
mod verifier;
mod web_bot_auth;

pub use dns::{DnsProof, DnsProver, DnsSettings, NoResolver, ResolverCheck, check_resolvers};
pub use proof::{Evidence, Finding, Method, Proof};
pub use ranges::{
    PublishedRanges, RangeList, RangeSet, Ranges, RangesError, RangesOutcome, RangesRefresher,
    RangesReport, RangesState,
};
pub use robot_detection_layer::layer::ClaimedRequest;
pub use verifier::{Methods, SettledVerdict, Verifier};
pub use web_bot_auth::{
    ACCEPT_SIGNATURE, SignatureProver, SignatureSettings, SignedRequest, Signer, SigningKeyError,
};
