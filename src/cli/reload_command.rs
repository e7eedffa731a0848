//! `reload`: reloads the configuration of a running server.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use axum::http::{HeaderMap, HeaderValue, Method, header::AUTHORIZATION};
use clap::Args;
use url::Url;

use crate::clock::Clock;
use crate::fetch::{DirectClient, DirectSettings};
use crate::probe::{ProbeKey, Purpose};

use super::{Cli, context, health, output};

/// The maximum time to wait for the result of the reload.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Arguments of the `reload` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A reload that would remove a site, an upstream, a listener or many rules is held for review and changes nothing.

Exit code: 0 the configuration was applied, 1 it is invalid or held for review, or no server responds

Example: robot-detection reload"
)]
pub(super) struct ReloadArgs {
    /// Apply the configuration even if the reload would be held for review
    #[arg(long)]
    accept: bool,
    /// Base URL of the server's health check and reload endpoints, instead of the configured
    /// address
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
}

pub(super) async fn run(cli: &Cli, args: &ReloadArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let url = match &args.url {
        Some(url) => url.clone(),
        None => Url::parse(&health::own_url(&loaded)?)?,
    };
    let url = url.join("/reload")?;
    let store = context::store(&loaded).await?;
    let key = ProbeKey::from_store(&store).await?;
    store.close().await;
    let purpose = if args.accept {
        Purpose::AcceptedReload
    } else {
        Purpose::Reload
    };
    let id = format!("{:032x}", fastrand::u128(..));
    let token = key.token(&id, purpose, Clock::system().now_ms());
    let mut headers = HeaderMap::new();
    headers.insert(
        AUTHORIZATION,
        HeaderValue::from_str(&format!("Bearer {token}"))?,
    );
    let client = DirectClient::new(DirectSettings {
        timeout: TIMEOUT,
        ..DirectSettings::default()
    })?;
    let answer = client.send(Method::POST, &url, headers).await;
    let answer = answer.context(
        "the server does not respond; start the server, or specify its address with --url URL",
    )?;
    let text = output::clean(String::from_utf8_lossy(&answer.body).trim());
    if answer.status == 200 {
        output::line(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::note(&format!("not reloaded: {text}"));
    Ok(ExitCode::FAILURE)
}
