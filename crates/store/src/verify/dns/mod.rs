//! Reverse DNS confirmed forward: an address has a name, and the name has the address.
//!
//! Anyone may give his address any name, so that a name proves nothing until the
//! owner of the name agrees. [`DnsProver`] asks for the names of an address (PTR),
//! takes those that end in one of the operator's suffixes at a label boundary, and
//! asks for the addresses (A or AAAA) of exactly those names:
//!
//! | DNS says | finding |
//! | --- | --- |
//! | one of the names below a suffix has the address | confirmed |
//! | no name is below a suffix, or the address has no name at all | contradicted |
//! | names are below a suffix, but none has the address | contradicted |
//! | a resolver failed, refused, timed out or answered nonsense | nothing |
//! | the names below a suffix are in a zone where customers choose names | nothing |
//! | more names than are looked at, none of which confirms | nothing |
//!
//! A contradiction counts only if the resolver has answered, within the last hour, with the name of a
//! well-known address: one without reverse zones, or with a wildcard in them, would contradict all.
//! A failure never contradicts. Who runs the reverse zone of his address can make it
//! fail whenever he likes; he remains unproved, which is what he is.
//!
//! What is learnt about an address is remembered for as long as the records say, at
//! least a minute, at most a day (an hour for "no such name"; failures for 30 to 60
//! seconds). Proofs of one address that run at once share its queries.

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
