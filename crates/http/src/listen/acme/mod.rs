//! Certificates that are ordered and renewed automatically (ACME, RFC 8555).
//!
//! Each host has a certificate of its own, validated by TLS-ALPN-01 (RFC 8737) on the
//! listeners themselves, kept on disk with the account, and renewed when a third of its
//! lifetime is left. Requests never wait for it.

mod cache;
mod challenge;
mod client;
mod host;
mod order;
mod scheduler;
mod settings;

pub(super) use challenge::{PROTOCOL, is_challenge};
pub use scheduler::Acme;
pub use settings::{AcmeError, AcmeSettings};
