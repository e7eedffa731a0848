//! How long and how much a source takes.

use std::time::Duration;

/// Limits of one request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceLimits {
    /// Longest time for a connection; 120 seconds by default (`connect-timeout`).
    pub connect_timeout: Duration,
    /// Longest time without a byte, or with less than 1 KiB a second; 30 seconds by default.
    pub idle_timeout: Duration,
    /// Longest time for all of an answer; 5 minutes by default.
    pub timeout: Duration,
    /// Largest body, in bytes after decompression; 10 MiB by default (`max-filesize-kb`).
    pub max_body_bytes: u64,
}

impl SourceLimits {
    /// Returns the largest body as a length in memory.
    pub(super) fn max_length(&self) -> usize {
        usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX)
    }
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_mins(5),
            max_body_bytes: 10 * 1024 * 1024,
        }
    }
}
