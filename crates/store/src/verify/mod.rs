//! Verification of robots by published address ranges, reverse DNS, and Web Bot Auth.
//!
//! A User-Agent is only a claim. Each [`Method`] checks the claim against data published by the
//! robot's operator and returns a [`Finding`]; all findings are combined into a [`Proof`] with its
//! verdict and human-readable evidence.
//!
//! [`Verifier`] combines the methods for a server: it returns verdicts immediately from memory,
//! queries DNS in the background, and caches the results.
//!
//! [`DnsProver`] queries the names of an address, and checks whether the names that belong to the
//! operator resolve back to the address.

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
pub use web_bot_auth::{ACCEPT_SIGNATURE, SignatureProver, SignatureSettings, SignedRequest};
