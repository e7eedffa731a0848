//! Checks what `serve` opens and reaches: listeners, upstreams, files, the access log.

use std::{collections::BTreeSet, fs::OpenOptions, os::unix::net::UnixStream, path::Path};

use serde_json::Value;

use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher};
use crate::listen::{ListenAddr, OpenFileLimit};

use super::{check::Check, database::missing_file, run::Subject};

/// Connects to each upstream.
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
        let none = "none is named: set server.upstream, or start with serve --upstream; without a configuration file the demonstration is served";
        checks.push(Check::warning("upstream", none.to_owned()));
    }
    checks
}

/// Binds each address; one in use passes where this program itself serves there.
///
/// Such a server is asked for its warnings.
pub(super) async fn listeners(subject: &Subject<'_>) -> Vec<Check> {
    let Some(server) = subject.server else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    let (mut warnings, mut not_judged) = (BTreeSet::new(), BTreeSet::new());
    for (name, addr, bound) in server.try_listeners().await {
        let result = match bound {
            // Only the service manager can pass the socket, and only to `serve`.
            _ if matches!(addr, ListenAddr::Systemd(_)) => {
                Ok("the service manager gives the socket at the start".to_owned())
            }
            Ok(_) => Ok(format!("{addr} is free")),
            // Who asks beside a running server wants to know of it, not that its port is in use.
            Err(_) if is_served(addr) => Ok(format!("{addr} is served already")),
            Err(error) => match readiness(addr).await {
                Some(told) => {
                    warnings.extend(texts(&told, "warnings"));
                    not_judged.extend(texts(&told, "suspects"));
                    Ok(format!("robot-detection serves on {addr} already"))
                }
                None => Err(error.to_string()),
            },
        };
        checks.push(Check::new(name, result));
    }
    let warnings = warnings.into_iter();
    checks.extend(warnings.map(|warning| Check::warning("visitors", warning)));
    let not_judged = not_judged.into_iter();
    checks.extend(not_judged.map(|text| Check::warning("suspects", text)));
    checks
}

/// Checks for how many clients the limit of open files is enough, once `serve` has raised it.
pub(super) fn open_files(subject: &Subject<'_>) -> Vec<Check> {
    const NAME: &str = "open files";
    let (Some(server), Some(limit)) = (subject.server, OpenFileLimit::current()) else {
        return Vec::new();
    };
    let room = server.client_room(limit.raised());
    vec![if room.is_enough() {
        Check::new(NAME, Ok(room.to_string()))
    } else {
        Check::warning(NAME, room.to_string())
    }]
}

/// Opens the access log if it exists; `serve` makes it, so that it belongs to its user.
pub(super) fn access_log(subject: &Subject<'_>) -> Vec<Check> {
    let path = &*subject.settings.access_log.path;
    let result = match path {
        "" => return Vec::new(),
        "-" => Ok("standard output".to_owned()),
        _ if Path::new(path).exists() => OpenOptions::new()
            .append(true)
            .open(path)
            .map(|_| format!("{path} can be written"))
            .map_err(|error| {
                format!("cannot write {path}: {error}: let the user of `serve` write it")
            }),
        _ => missing_file(Path::new(path)),
    };
    vec![Check::new("access log", result)]
}

/// Returns `true` if somebody answers at a Unix socket, which is to be this program.
fn is_served(addr: &ListenAddr) -> bool {
    matches!(addr, ListenAddr::Unix(path) if UnixStream::connect(path).is_ok())
}

/// Returns the readiness report of this program's server at an address, if one serves there.
pub(super) async fn readiness(addr: &ListenAddr) -> Option<Value> {
    let ListenAddr::Tcp(addr) = addr else {
        return None;
    };
    // By a name of this machine: to any other the server does not tell its state.
    let url = format!("http://localhost:{}/readyz", addr.port());
    let fetcher = Fetcher::new(FetchLimits::default()).ok()?;
    let ready = fetcher
        .fetch(&url, &Conditions::default(), &|_, _| {})
        .await;
    let Ok(FetchResponse::Body { bytes, .. }) = ready else {
        return None;
    };
    let told = serde_json::from_slice::<Value>(&bytes).ok()?;
    told.get("ready").is_some().then_some(told)
}

/// Returns the texts of one member of the report.
fn texts(told: &Value, name: &str) -> impl Iterator<Item = String> {
    let texts = told.get(name).and_then(Value::as_array);
    let texts = texts.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned)
}
