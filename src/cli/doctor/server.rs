//! Checks the listeners, upstreams, files and access log that `serve` uses.

use std::fs::OpenOptions;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use super::{
    super::health,
    check::{Check, Subject},
    database::missing_file,
};
use crate::app::OPERATION;
use crate::clock::Clock;
use crate::config::Loaded;
use crate::fetch::bundled_authorities;
use crate::listen::{CertificateState, ListenAddr, OpenFileLimit, Validity};

/// Checks that each upstream accepts connections.
pub(super) async fn upstreams(subject: &Subject<'_>) -> Vec<Check> {
    let Some(server) = subject.server else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for (site, url, result) in server.check_upstreams().await {
        let name = match site {
            Some(site) => format!("upstream of {site}"),
            None => "upstream".to_owned(),
        };
        let result = result.map(|()| format!("{url} accepts connections"));
        checks.push(Check::new(name, result.map_err(|error| error.to_string())));
    }
    if checks.is_empty() {
        let none = "no upstream is configured: set server.upstream, or run serve --upstream; without a configuration file, the demonstration site is served";
        checks.push(Check::new("upstream", Ok(none.to_owned())));
    }
    checks
}

/// Binds each listen address; an address that a running server with this configuration uses is
/// valid.
///
/// The result includes the warnings from the running server.
pub(super) async fn listeners(subject: &Subject<'_>) -> Vec<Check> {
    let Some(server) = subject.server else {
        return Vec::new();
    };
    let running = RunningServer::find(subject.loaded).await;
    let mut checks = Vec::new();
    for (name, addr, bound) in server.try_listeners().await {
        let result = match bound {
            Ok(_) => Ok(format!("{addr} is free")),
            Err(_) if running.as_ref().is_some_and(|it| it.listens_at(addr)) => {
                Ok(format!("robot-detection already serves on {addr}"))
            }
            // The socket is in the configuration, so no other program is expected to use it.
            Err(_) if is_served(addr) => Ok(format!("{addr} is already served")),
            Err(error) if name == OPERATION => {
                checks.push(Check::warning(name, error.to_string()));
                continue;
            }
            Err(error) => Err(error.to_string()),
        };
        checks.push(Check::new(name, result));
    }
    for (name, member) in [("visitors", "warnings"), ("suspects", "suspects")] {
        let texts = running.iter().flat_map(|it| it.texts(member));
        checks.extend(texts.map(|text| Check::warning(name, text.to_owned())));
    }
    checks
}

/// Reports the certificate authorities that the program trusts.
pub(super) fn authorities() -> Vec<Check> {
    let text = if bundled_authorities().is_empty() {
        "HTTPS servers are verified with the system's certificate authorities"
    } else {
        "the system has no certificate authorities; HTTPS servers are verified with Mozilla's, which \
         the program contains"
    };
    vec![Check::new("authorities", Ok(text.to_owned()))]
}

/// Checks how many clients the limit on open files allows, after `serve` has raised the limit.
pub(super) fn open_files(subject: &Subject<'_>) -> Vec<Check> {
    const NAME: &str = "open files";
    let (Some(server), Some(limit)) = (subject.server, OpenFileLimit::current()) else {
        return Vec::new();
    };
    let room = server.client_capacity(limit.raised());
    vec![if room.is_enough() {
        Check::new(NAME, Ok(room.to_string()))
    } else {
        Check::warning(NAME, room.to_string())
    }]
}

/// Opens the access log if it exists; `serve` creates a missing file as its own user.
pub(super) fn access_log(subject: &Subject<'_>) -> Vec<Check> {
    let path = &*subject.settings.access_log.path;
    let result = match path {
        "" => return Vec::new(),
        "-" => Ok("standard output".to_owned()),
        _ if Path::new(path).exists() => OpenOptions::new()
            .append(true)
            .open(path)
            .map(|_| format!("{path} is writable"))
            .map_err(|error| {
                format!("cannot write {path}: {error}; make the file writable for the user that runs `serve`")
            }),
        _ => missing_file(Path::new(path)),
    };
    vec![Check::new("access log", result)]
}

/// Returns `true` if a process, assumed to be this program, accepts connections on a Unix socket.
fn is_served(addr: &ListenAddr) -> bool {
    matches!(addr, ListenAddr::Unix(path) if UnixStream::connect(path).is_ok())
}

/// A readiness report from a running server with this configuration.
pub(super) struct RunningServer(Value);

impl RunningServer {
    /// Queries the health check endpoints of a server with this configuration.
    pub(super) async fn find(loaded: &Loaded) -> Option<Self> {
        let url = health::own_url(loaded).ok()?;
        let answer = health::request_readiness(&url).await.ok()?;
        let told = serde_json::from_slice::<Value>(&answer.bytes).ok()?;
        Some(Self(told))
    }

    /// Returns `true` if the running server listens on an address.
    pub(super) fn listens_at(&self, addr: &ListenAddr) -> bool {
        self.texts("listeners").any(|text| text == addr.to_string())
    }

    /// Returns the strings in one member of the readiness report.
    fn texts(&self, member: &str) -> impl Iterator<Item = &str> {
        let texts = self.0.get(member).and_then(Value::as_array);
        texts.into_iter().flatten().filter_map(Value::as_str)
    }
}

const DAY: u64 = 86_400;
/// The number of days before expiry at which a certificate causes a warning.
///
/// `listen` renews its certificates earlier than this; certificates valid for less than 42 days are
/// renewed in the last third of their lifetime.
const WARNING_DAYS: u64 = 14;

pub(super) fn certificates(subject: &Subject<'_>) -> Vec<Check> {
    let now = u64::try_from(Clock::system().now_ms() / 1_000).unwrap_or_default();
    let states = subject
        .server
        .iter()
        .flat_map(|server| server.certificates());
    states.map(|state| certificate(&state, now)).collect()
}

fn certificate(state: &CertificateState, now: u64) -> Check {
    const NAME: &str = "certificate";
    // A certificate may contain an IP address instead of a name, or no name of a supported kind.
    let names = match &*state.names.join(", ") {
        "" => state.file.display().to_string(),
        names => names.to_owned(),
    };
    let renew = if state.is_ordered {
        "see the log of `serve` for the reason why the certificate was not renewed"
    } else {
        "renew the certificate"
    };
    let Some(Validity {
        not_before,
        not_after,
    }) = state.validity
    else {
        let text = format!("{names}: not issued yet; `serve` requests the certificate");
        return Check::new(NAME, Ok(text));
    };
    let days = not_after.abs_diff(now) / DAY;
    if not_after < now {
        let text = format!("{names}: expired {days} days ago; {renew}");
        return Check::new(NAME, Err(text));
    }
    if not_before > now {
        let text = format!("{names}: not valid yet; check this machine's clock");
        return Check::new(NAME, Err(text));
    }
    let third = (not_after - not_before) / 3;
    if not_after - now < third.min(WARNING_DAYS * DAY) {
        return Check::warning(NAME, format!("{names}: expires in {days} days; {renew}"));
    }
    Check::new(NAME, Ok(format!("{names}: valid for {days} days")))
}
