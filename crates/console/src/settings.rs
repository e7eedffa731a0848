//! Settings of the console.

use std::{fmt, net::IpAddr, sync::Arc};

use axum::http::Extensions;
use robot_detection_operations::{Operations, TimeZone};
use tokio_util::sync::CancellationToken;

/// The way in which access to the pages is controlled.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Access {
    /// Visitors log in with a password, or send a bearer token.
    Login {
        /// Whether the session cookie is sent over HTTPS only.
        secure_cookies: bool,
    },
    /// The embedding application protects the router with its own login.
    Open,
}

/// A function that returns a client's address from the extensions of a request.
#[derive(Clone)]
pub struct ClientAddress {
    find: Arc<Find>,
}

type Find = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

impl ClientAddress {
    /// Creates a `ClientAddress` from a function that returns a client's address.
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

/// The configuration of the console: its operations and its access rules.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Operations that the pages perform.
    pub operations: Operations,
    /// Time zone in which pages show times.
    pub time_zone: TimeZone,
    /// Way in which access to the pages is controlled.
    pub access: Access,
    /// Function that returns the client's address, which is needed at login.
    pub client_address: ClientAddress,
    /// Host names under which the console can be reached; if empty, any `Host` is allowed.
    ///
    /// Loopback names are always allowed. A name without a port allows any port.
    pub hosts: Vec<String>,
    /// Token that ends the streams of live decisions at shutdown, so that the streams do not delay
    /// it.
    pub stop: CancellationToken,
}
