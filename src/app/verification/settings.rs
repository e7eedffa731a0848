//! How claims are proven.

use std::{net::SocketAddr, time::Duration};

use crate::verify::Method;

/// Settings of how robots' claims are proven.
///
/// By default all methods are used, with the resolvers of the system.
///
/// # Example
///
/// ```
/// use std::time::Duration;
///
/// use robot_detection::{
///     app::{RobotDetection, Verification},
///     verify::Method,
/// };
///
/// let verification = Verification::new()
///     .methods([Method::ReverseDns])
///     .dns_servers(["[::1]:53".parse()?])
///     .dns_timeout(Duration::from_secs(1));
/// let builder = RobotDetection::builder().verification(verification);
/// # let _ = builder;
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct Verification {
    pub(in crate::app) methods: Vec<Method>,
    pub(super) dns_servers: Vec<SocketAddr>,
    pub(super) dns_timeout: Duration,
    pub(super) ranges_interval: Duration,
    pub(super) allow_private_addresses: bool,
    pub(super) allow_http_directories: bool,
}

impl Verification {
    /// Creates settings with all methods.
    pub fn new() -> Self {
        Self {
            methods: Method::ALL.to_vec(),
            dns_servers: Vec::new(),
            dns_timeout: Duration::from_secs(2),
            ranges_interval: Duration::from_hours(24),
            allow_private_addresses: false,
            allow_http_directories: false,
        }
    }

    /// Creates settings by which nothing is proven: every claim is unverifiable.
    pub fn off() -> Self {
        Self::new().methods([])
    }

    /// Sets the methods that are used.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Sets the resolvers that are asked; none: those of the system.
    pub fn dns_servers(mut self, servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        self.dns_servers = servers.into_iter().collect();
        self
    }

    /// Sets the time that one query to a resolver may take; default 2 seconds.
    pub fn dns_timeout(mut self, timeout: Duration) -> Self {
        self.dns_timeout = timeout;
        self
    }

    /// Sets the time between two downloads of a list of addresses; default 24 hours.
    pub fn ranges_interval(mut self, interval: Duration) -> Self {
        self.ranges_interval = interval;
        self
    }

    /// Sets whether addresses are looked at that are not public; default `false`.
    ///
    /// Of clients and of key directories; for tests, and networks of one's own.
    pub fn allow_private_addresses(mut self, allow: bool) -> Self {
        self.allow_private_addresses = allow;
        self
    }

    /// Sets whether key directories may be fetched over `http:`; for tests alone.
    pub fn allow_http_directories(mut self, allow: bool) -> Self {
        self.allow_http_directories = allow;
        self
    }

    /// Returns the resolvers that are asked; none: those of the system.
    #[must_use]
    pub fn resolvers(&self) -> &[SocketAddr] {
        &self.dns_servers
    }

    /// Returns `true` if a method is used.
    #[must_use]
    pub fn uses(&self, method: Method) -> bool {
        self.methods.contains(&method)
    }
}

impl Default for Verification {
    fn default() -> Self {
        Self::new()
    }
}
