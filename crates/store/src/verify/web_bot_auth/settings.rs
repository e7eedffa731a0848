//! Limits of the check.

use std::time::Duration;

/// Limits of a [`SignatureProver`](super::SignatureProver).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignatureSettings {
    /// Longest time from `created` to `expires`; 24 hours by default.
    pub max_lifetime: Duration,
    /// Largest difference between the signer's clock and ours; 30 seconds by default.
    pub clock_skew: Duration,
    /// Nonces that are remembered, so that none is used twice; 262,144 by default.
    ///
    /// Each takes about 32 bytes until its signature expires. While that many are
    /// remembered, no further signature with a nonce confirms anybody.
    pub max_remembered: usize,
    /// Key directories that are kept; 256 by default.
    pub max_directories: usize,
    /// Key directories that are fetched at once; 4 by default.
    pub max_fetches: usize,
    /// Longest time for fetching a key directory; 5 seconds by default.
    pub fetch_timeout: Duration,
    /// Whether key directories may be fetched over `http:`; never by default.
    ///
    /// For tests: whoever is between could exchange the keys.
    pub allow_http: bool,
    /// Whether key directories may have private addresses; never by default.
    ///
    /// For tests, and for robots of one's own network.
    pub allow_private_networks: bool,
}

impl Default for SignatureSettings {
    fn default() -> Self {
        Self {
            max_lifetime: Duration::from_hours(24),
            clock_skew: Duration::from_secs(30),
            max_remembered: 1 << 18,
            max_directories: 256,
            max_fetches: 4,
            fetch_timeout: Duration::from_secs(5),
            allow_http: false,
            allow_private_networks: false,
        }
    }
}
