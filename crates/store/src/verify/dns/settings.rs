//! Settings of the proofs by DNS.

use std::{net::SocketAddr, time::Duration};

use robot_detection_layer::clock::Clock;

/// Settings of the proofs by DNS, with their limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DnsSettings {
    /// Resolvers that are asked, by UDP and, when an answer is cut, by TCP; default none,
    /// which means those of the system (`/etc/resolv.conf`), read when first needed.
    pub servers: Vec<SocketAddr>,
    /// Time that one query may take; default 2 seconds.
    pub timeout: Duration,
    /// How often a query that failed or timed out is put, at least once; default 2.
    pub attempts: usize,
    /// Time that all queries of one proof may take together; default 5 seconds.
    pub proof_timeout: Duration,
    /// How many addresses are looked up at once, at least one; default 64.
    pub concurrency: usize,
    /// How many more proofs may wait for their turn; default 16,384.
    pub queue: usize,
    /// Time that a proof may wait for its turn; default 30 seconds.
    pub queue_timeout: Duration,
    /// How many addresses are remembered, fewer when their names are long; default 50,000.
    pub cache_entries: u64,
    /// Whether private, loopback, link-local and reserved addresses are looked up; default no.
    pub allow_private: bool,
    /// Clock that says what is still fresh; default the system's.
    pub clock: Clock,
}

impl Default for DnsSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            timeout: Duration::from_secs(2),
            attempts: 2,
            proof_timeout: Duration::from_secs(5),
            concurrency: 64,
            queue: 16_384,
            queue_timeout: Duration::from_secs(30),
            cache_entries: 50_000,
            allow_private: false,
            clock: Clock::system(),
        }
    }
}
