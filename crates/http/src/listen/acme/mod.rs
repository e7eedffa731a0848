//! Automatic ordering and renewal of certificates (ACME, RFC 8555).
//!
//! Each host has its own certificate. The host name is validated by TLS-ALPN-01 (RFC 8737) on the
//! listeners themselves. The certificate is stored on disk with the account, and renewed when a
//! third of its lifetime is left. Requests never wait for an order.

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
