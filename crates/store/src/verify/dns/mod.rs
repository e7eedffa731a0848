//! Forward-confirmed reverse DNS: an address has a name, and the name has the address.
//!
//! The owner of an address can give it any name, so a name proves nothing until the owner of the
//! name confirms it. [`DnsProver`] queries the names of an address (PTR), selects those that end in
//! one of the operator's suffixes at a label boundary, and queries the addresses (A or AAAA) of
//! these names:
//!
//! | DNS response | finding |
//! | --- | --- |
//! | a name with a suffix has the address | confirmed |
//! | no name has a suffix, or the address has no name at all | contradicted |
//! | names have a suffix, but none of these has the address | contradicted |
//! | a resolver failed, refused, timed out or returned an invalid response | nothing |
//! | the names with a suffix are in a zone where customers choose names | nothing |
//! | there are more names than are checked, and no checked name confirms | nothing |
//!
//! A contradiction is considered only if the resolver has returned the name of a well-known address
//! within the last hour, because a resolver without reverse zones, or with wildcards in them, would
//! contradict every claim. A failed lookup never contradicts a claim: the owner of a reverse zone
//! can make lookups fail at any time, but this leaves the claim unproved.
//!
//! Records are cached for their TTL, limited to between a minute and a day (an hour for "no such
//! name"). Failures are cached for 30 to 60 seconds. Concurrent proofs for an address share
//! queries.

mod check;
mod host;
mod lookups;
mod prover;
mod quoted;
mod resolver;
mod suffixes;

pub use check::{NoResolver, ResolverCheck, check_resolvers};
pub use prover::{DnsProof, DnsProver};
pub use suffixes::DnsSettings;
