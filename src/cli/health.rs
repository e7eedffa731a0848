//! `health`: checks whether the server with this configuration is ready.

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use clap::Args;
use serde_json::json;

use crate::assembly::local_address;
use crate::config::Loaded;
use crate::fetch::{AnyStatusRequest, AnyStatusResponse, Conditions, FetchLimits, Fetcher};
use crate::listen::ListenAddr;

use super::{
    Cli, context,
    output::{self, WrongUsage},
};

/// The timeout for the request; container engines allow thirty seconds for a health check.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes read from the response.
const MAX_BYTES: u64 = 64 * 1024;

/// Arguments of the `health` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "If no URL is given, requests /readyz at admin.listen, or at operation.listen if admin.listen is not set.

Exit code: 0 the server is ready, 1 it is not or does not respond

Example: robot-detection health"
)]
pub(super) struct HealthArgs {
    /// URL to request instead of the server's configured URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(cli: &Cli, args: &HealthArgs) -> anyhow::Result<ExitCode> {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => own_url(&context::load(cli)?)?,
    };
    let answer = status(&url).await;
    let is_ready = matches!(answer, Ok(200..=299));
    let said = match &answer {
        Ok(status) => format!("returned status {status}"),
        Err(error) => output::clean(error),
    };
    if args.json {
        output::json(&json!({
            "ready": is_ready,
            "url": url,
            "status": answer.as_ref().ok(),
            "error": answer.as_ref().err(),
        }))?;
    } else if is_ready {
        output::line("ready")?;
    } else {
        output::note(&format!("not ready: {} {said}", output::clean(&url)));
    }
    Ok(if is_ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns `true` if a server with this configuration is ready.
pub(super) async fn is_ready(loaded: &Loaded) -> bool {
    let Ok(url) = own_url(loaded) else {
        return false;
    };
    matches!(status(&url).await, Ok(200..=299))
}

async fn status(url: &str) -> Result<u16, String> {
    request_readiness(url).await.map(|answer| answer.status)
}

/// Requests the readiness endpoint of a server.
pub(super) async fn request_readiness(url: &str) -> Result<AnyStatusResponse, String> {
    let limits = FetchLimits {
        max_body_bytes: MAX_BYTES,
        timeout: TIMEOUT,
        ..FetchLimits::default()
    };
    let fetcher = Fetcher::new(limits).map_err(|error| error.to_string())?;
    let conditions = Conditions::default();
    let ask = AnyStatusRequest {
        url,
        host: None,
        conditions: &conditions,
    };
    fetcher
        .fetch_any(ask)
        .await
        .map_err(|error| error.to_string())
}

/// Returns the URL of the readiness endpoint of a server with this configuration.
pub(super) fn own_url(loaded: &Loaded) -> Result<String, WrongUsage> {
    let settings = loaded.settings();
    // A server does not start without its listeners, except operation.listen.
    let listeners = [&settings.admin.listen, &settings.operation.listen];
    let found = listeners.into_iter().flatten().find_map(address);
    found
        .map(|address| format!("http://{address}/readyz"))
        .ok_or_else(|| {
            let text = "no listener serves health checks: set operation.listen to an address such as \
                        127.0.0.1:9180, or use --url URL";
            WrongUsage(text.to_owned())
        })
}

/// Returns the address at which a listener can be reached from this machine.
pub(super) fn address(listener: &ListenAddr) -> Option<SocketAddr> {
    match listener {
        ListenAddr::Tcp(address) if address.port() != 0 => Some(local_address(*address)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    #[test]
    fn server_is_queried_at_its_local_address() {
        for (text, url) in [
            (
                "server.listen = '0.0.0.0:80'",
                "http://127.0.0.1:9180/readyz",
            ),
            ("operation.listen = '[::]:80'", "http://[::1]:80/readyz"),
            ("admin.listen = '0.0.0.0:81'", "http://127.0.0.1:81/readyz"),
            (
                "admin.listen = 'unix:/run/a'",
                "http://127.0.0.1:9180/readyz",
            ),
        ] {
            let loaded = Loader::new().file("f", text).load().unwrap();
            assert_eq!(own_url(&loaded).unwrap(), url, "{text}");
        }
        for text in ["operation.listen = 'unix:/run/a'", "operation.listen = ''"] {
            let loaded = Loader::new().file("f", text).load().unwrap();
            let error = own_url(&loaded).unwrap_err().to_string();
            assert!(error.contains("set operation.listen"), "{error}");
        }
    }
}
