//! Integration with the service manager (systemd): inherited sockets and state notifications.

use std::{
    io::{self, ErrorKind},
    sync::{LazyLock, Mutex, PoisonError},
};

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tracing::debug;

use super::socket::BoundSocket;

/// The sockets inherited at startup; they are global, because the environment is read only once.
static INHERITED: LazyLock<Mutex<InheritedSockets>> =
    LazyLock::new(|| Mutex::new(InheritedSockets::new()));

/// A state of this process that is reported to the service manager.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ServiceState {
    /// The process is ready to serve requests.
    Ready,
    /// The process is reloading its configuration; [`Ready`](Self::Ready) follows.
    Reloading,
    /// The process is shutting down and finishing the requests in flight.
    Stopping,
}

/// The inherited sockets with their names, and whether each socket has been taken.
struct InheritedSockets {
    sockets: ListenFd,
    names: Vec<String>,
    taken: Vec<bool>,
}

impl InheritedSockets {
    fn new() -> Self {
        // The names are read first, because taking the sockets removes the environment variables.
        let names = sd_notify::listen_fds_with_names()
            .map(|sockets| sockets.map(|(_, name)| name).collect())
            .unwrap_or_default();
        let sockets = ListenFd::from_env();
        Self {
            taken: vec![false; sockets.len()],
            sockets,
            names,
        }
    }

    fn take(&mut self, name: Option<&str>) -> io::Result<BoundSocket> {
        let names = &self.names;
        let fits = |index: usize| name.is_none() || names.get(index).map(String::as_str) == name;
        let free = self
            .taken
            .iter_mut()
            .enumerate()
            .find(|(index, taken)| !**taken && fits(*index));
        let Some((index, taken)) = free else {
            return Err(missing(name, self.names.as_slice()));
        };
        *taken = true;
        // A socket that is not a TCP socket stays in the set for the second attempt.
        if let Ok(Some(listener)) = self.sockets.take_tcp_listener(index) {
            return Ok(BoundSocket::inherited_tcp(listener));
        }
        match self.sockets.take_unix_listener(index)? {
            Some(listener) => Ok(BoundSocket::inherited_unix(listener)),
            None => Err(missing(name, self.names.as_slice())),
        }
    }
}

/// Takes over the sockets that the service manager has passed in the environment (`LISTEN_FDS`).
///
/// This function must be called before threads are started, because it removes environment
/// variables. If it is not called, binding a [`ListenAddr::Systemd`](super::ListenAddr) takes over
/// the sockets.
pub fn inherit_sockets() {
    LazyLock::force(&INHERITED);
}

/// Notifies the service manager (`NOTIFY_SOCKET`) of the state of this process.
///
/// The function does nothing if there is no service manager.
pub fn notify_service_manager(state: ServiceState) {
    let told = match state {
        ServiceState::Ready => sd_notify::notify(&[NotifyState::Ready]),
        ServiceState::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
        ServiceState::Reloading => NotifyState::monotonic_usec_now()
            .and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])),
    };
    if let Err(error) = told {
        debug!(%error, "could not notify the service manager: {state:?}");
    }
}

pub(super) fn take(name: Option<&str>) -> io::Result<BoundSocket> {
    INHERITED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take(name)
}

fn missing(name: Option<&str>, names: &[String]) -> io::Error {
    let wanted = name.map_or_else(String::new, |name| format!(" named {name:?}"));
    let given = if names.is_empty() {
        "no sockets were passed; start this program with a .socket unit".to_owned()
    } else {
        format!("passed sockets: {}", names.join(", "))
    };
    io::Error::new(
        ErrorKind::NotFound,
        format!("the service manager passed no unused socket{wanted}: {given}"),
    )
}
