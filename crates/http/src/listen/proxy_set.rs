use std::{fmt, net::IpAddr, sync::Arc};

/// A set of proxy addresses that may change while a listener is running.
///
/// # Example
///
/// ```
/// use std::{net::IpAddr, sync::Arc};
///
/// use robot_detection_http::listen::{ProxySet, TrustedProxies};
///
/// let is_ours = |address: IpAddr| address.is_loopback();
/// let proxies = TrustedProxies::default().with_proxies(ProxySet::new("this machine", Arc::new(is_ours)));
/// assert!(proxies.contains("127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone)]
pub struct ProxySet {
    name: Arc<str>,
    contains: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

impl ProxySet {
    /// Creates a set of proxy addresses that is identified by its name.
    pub fn new(
        name: impl Into<Arc<str>>,
        contains: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    ) -> Self {
        Self {
            name: name.into(),
            contains,
        }
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        (self.contains)(address)
    }
}

/// Two sets are equal if they have the same name, regardless of the addresses they currently
/// contain.
impl PartialEq for ProxySet {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ProxySet {}

impl fmt::Debug for ProxySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProxySet").field(&self.name).finish()
    }
}
