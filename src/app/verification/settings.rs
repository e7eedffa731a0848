//! Settings for the verification of claims.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::Extensions;
use tokio::time;
use tracing::warn;

use super::Proving;
use crate::detect::SharedDetector;
use crate::fetch::shown_url;
use crate::verify::Method;

/// Settings for the verification of robots' claims.
///
/// By default, all methods and the system's DNS resolvers are used.
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
    /// Creates settings that enable all verification methods.
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

    /// Creates settings without any verification method; every claim is then unverifiable.
    pub fn off() -> Self {
        Self::new().methods([])
    }

    /// Sets the verification methods to use.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Sets the DNS resolvers to query; if empty, the system's resolvers are used.
    pub fn dns_servers(mut self, servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        self.dns_servers = servers.into_iter().collect();
        self
    }

    /// Sets the timeout for a DNS query; default 2 seconds.
    pub fn dns_timeout(mut self, timeout: Duration) -> Self {
        self.dns_timeout = timeout;
        self
    }

    /// Sets the interval between downloads of an address list; default 24 hours.
    pub fn ranges_interval(mut self, interval: Duration) -> Self {
        self.ranges_interval = interval;
        self
    }

    /// Sets whether private and local addresses are accepted; default `false`.
    ///
    /// The setting applies to clients and key directories, and is intended for tests and private
    /// networks.
    pub fn allow_private_addresses(mut self, allow: bool) -> Self {
        self.allow_private_addresses = allow;
        self
    }

    /// Sets whether key directories may be downloaded over `http:`; only for tests.
    pub fn allow_http_directories(mut self, allow: bool) -> Self {
        self.allow_http_directories = allow;
        self
    }

    /// Returns the DNS resolvers to query; if empty, the system's resolvers are used.
    #[must_use]
    pub fn resolvers(&self) -> &[SocketAddr] {
        &self.dns_servers
    }

    /// Returns `true` if the given verification method is enabled.
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

/// The interval between checks for due downloads; lists needed to verify a robot are downloaded
/// immediately.
const TICK: Duration = Duration::from_mins(5);

impl Proving {
    /// Loads the address lists from the database, then downloads due lists in an endless loop.
    ///
    /// A list is first downloaded when a robot that needs it sends a request, then refreshed
    /// regularly.
    pub(in crate::app) async fn keep_lists(self, detector: SharedDetector) {
        let mut is_loaded = false;
        loop {
            if self.settings().uses(Method::Ranges) {
                // Downloads wait until the database is read, because it may contain the lists
                // already.
                is_loaded = is_loaded || self.load_lists().await;
                let urls = self.kept_lists(&detector);
                if is_loaded && !urls.is_empty() {
                    self.refresher().refresh(&urls, false).await;
                }
            }
            tokio::select! {
                () = time::sleep(TICK) => {}
                () = self.verifier().ranges_wanted() => {}
            }
        }
    }

    /// Loads the address lists from the database; returns `true` if the database could be read.
    pub(in crate::app) async fn load_lists(&self) -> bool {
        match self.refresher().load().await {
            Ok(()) => true,
            Err(error) => {
                warn!(%error, "cannot load robots' address lists, so they verify no claims for now: {error}");
                false
            }
        }
    }

    /// Returns the URLs of robots' address lists that are stored or needed.
    fn kept_lists(&self, detector: &SharedDetector) -> Vec<String> {
        let wanted = self.verifier().wanted_ranges();
        let states = self.refresher().states();
        let known: BTreeSet<&str> = states.iter().map(|state| &*state.url).collect();
        let urls: BTreeSet<String> = (detector.load().robots().iter())
            .filter_map(|robot| robot.ranges_url.as_ref())
            // Lists of robots without requests are not downloaded; states contain URLs without
            // passwords.
            .filter(|url| wanted.contains(*url) || known.contains(&*shown_url(url)))
            .cloned()
            .collect();
        urls.into_iter().collect()
    }
}

/// Returns the client address that the server added to the request.
///
/// axum adds `ConnectInfo`; our own listener adds its data about the client.
pub(in crate::app) fn client(extensions: &Extensions) -> Option<IpAddr> {
    #[cfg(feature = "proxy")]
    if let Some(known) = extensions.get::<crate::listen::ClientAddr>() {
        return Some(known.client);
    }
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map(|ConnectInfo(peer)| peer.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_address_is_read_from_axum() {
        let mut extensions = Extensions::new();
        assert_eq!(client(&extensions), None);
        let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
        extensions.insert(ConnectInfo(peer));
        assert_eq!(client(&extensions), Some(peer.ip()));
    }
}
