//! Settings of the console.

use std::{fmt, net::IpAddr, sync::Arc};

use axum::http::Extensions;
use robot_detection_operations::{Operations, TimeZone};
use tokio_util::sync::CancellationToken;

/// Who may see the pages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Access {
    /// Password and session, or bearer token.
    Login {
        /// Sends the session's cookie over https only.
        secure_cookies: bool,
    },
    /// The application has put the router behind a login of its own.
    Open,
}

/// Function that finds the address of a client among the extensions of its request.
#[derive(Clone)]
pub struct ClientAddress {
    find: Arc<Find>,
}

type Find = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

impl ClientAddress {
    /// Creates it from a function that finds the address.
    pub fn new(find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self {
            find: Arc::new(find),
        }
    }

    /// Returns the address, where it is known.
    pub fn find(&self, extensions: &Extensions) -> Option<IpAddr> {
        (self.find)(extensions)
    }
}

impl fmt::Debug for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAddress").finish_non_exhaustive()
    }
}

/// The console: its operations, and its access rules.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Operations behind the pages.
    pub operations: Operations,
    /// Zone in which pages show times.
    pub time_zone: TimeZone,
    /// Who may see the pages.
    pub access: Access,
    /// Finds the client address of a login.
    pub client_address: ClientAddress,
    /// Names under which the site is reached; empty allows any Host.
    ///
    /// Loopback names are always allowed. A name without a port allows all
    /// ports.
    pub hosts: Vec<String>,
    /// Ends streams of live decisions, for which a shutdown does not wait.
    pub stop: CancellationToken,
}
