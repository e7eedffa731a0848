//! Settings of the console.

use std::{fmt, net::IpAddr, sync::Arc};

use axum::http::Extensions;
use robot_detection_operations::{Operations, TimeZone};
use tokio_util::sync::CancellationToken;

/// Access control of the pages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Access {
    /// Visitors log in with a password, or send a bearer token.
    Login {
        /// Whether the session cookie is sent over HTTPS only.
        secure_cookies: bool,
    },
    /// The application protects the router with its own login.
    Open,
}

/// Function that returns a client's address from the extensions of its request.
#[derive(Clone)]
pub struct ClientAddress {
    find: Arc<Find>,
}

type Find = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

impl ClientAddress {
    /// Creates an address lookup from a function that returns the client's address.
    pub fn new(find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self {
            find: Arc::new(find),
        }
    }

    /// Returns the client's address, if known.
    pub fn find(&self, extensions: &Extensions) -> Option<IpAddr> {
        (self.find)(extensions)
    }
}

impl fmt::Debug for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAddress").finish_non_exhaustive()
    }
}

/// Configuration of the console: its operations and access rules.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Operations used by the pages.
    pub operations: Operations,
    /// Time zone in which pages show times.
    pub time_zone: TimeZone,
    /// Access control of the pages.
    pub access: Access,
    /// Function that returns the client's address at login.
    pub client_address: ClientAddress,
    /// Host names under which the console is reachable; if empty, any `Host` is allowed.
    ///
    /// Loopback names are always allowed. A name without a port allows any port.
    pub hosts: Vec<String>,
    /// Token that ends streams of live decisions, so that the streams do not delay a shutdown.
    pub stop: CancellationToken,
}
