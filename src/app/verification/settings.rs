//! How claims are proven.

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

/// Time between two looks at what is due; what a robot asks for is looked at once.
const TICK: Duration = Duration::from_mins(5);

impl Proving {
    /// Loads the lists that the database has, and downloads those that are due, for ever.
    ///
    /// A list is downloaded once a robot came that it could prove, and from then on.
    pub(in crate::app) async fn keep_lists(self, detector: SharedDetector) {
        let mut is_loaded = false;
        loop {
            if self.settings().uses(Method::Ranges) {
                // Nothing is downloaded before: a list that the database has would be fetched once
                // more.
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

    /// Applies what the database keeps; returns whether it could be read.
    pub(in crate::app) async fn load_lists(&self) -> bool {
        match self.refresher().load().await {
            Ok(()) => true,
            Err(error) => {
                warn!(%error, "the lists of robots' addresses cannot be loaded, so that they prove nothing for now: {error}");
                false
            }
        }
    }

    /// Returns the URLs of lists that robots name, and that are here or wanted.
    fn kept_lists(&self, detector: &SharedDetector) -> Vec<String> {
        let wanted = self.verifier().wanted_ranges();
        let states = self.refresher().states();
        let known: BTreeSet<&str> = states.iter().map(|state| &*state.url).collect();
        let urls: BTreeSet<String> = (detector.load().robots().iter())
            .filter_map(|robot| robot.ranges_url.as_ref())
            // Lists of robots that never come are not asked for; states have URLs without their
            // passwords.
            .filter(|url| wanted.contains(*url) || known.contains(&*shown_url(url)))
            .cloned()
            .collect();
        urls.into_iter().collect()
    }
}

/// Finds the address of a client in what the server has put into its request.
///
/// axum puts `ConnectInfo` there, a listener of ours what it knows of the client.
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
    fn axum_tells_the_address_of_the_client() {
        let mut extensions = Extensions::new();
        assert_eq!(client(&extensions), None);
        let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
        extensions.insert(ConnectInfo(peer));
        assert_eq!(client(&extensions), Some(peer.ip()));
    }
}
