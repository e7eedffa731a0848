//! `serve`: starts everything, tells where it is, ends it on a signal.

use std::{net::SocketAddr, process::ExitCode};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::admin::{generate_password, hash_password};
use crate::app::{self, RobotDetection, Server, ServerSettings};
use crate::config::{Loaded, Loader, Settings};
use crate::telemetry::start_log;

use super::{Cli, args::ServeArgs, context, output};

pub(super) async fn run(cli: &Cli, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(cli, args)?;
    let settings = loaded.settings();
    let (filter, format) = context::log_settings(&loaded)?;
    start_log(&filter, format)?;
    let server_settings = ServerSettings::new(&loaded, args.demo)?;
    let builder = app::assemble(&loaded)?;
    let is_demo = server_settings.is_demo();
    let server = server_settings.bind().await?;
    let robots = builder.build().await?;
    if settings.admin_enabled {
        print_first_password(&robots).await?;
    }
    let stop = CancellationToken::new();
    let (cli, args, reloaded) = (cli.clone(), args.clone(), robots.clone());
    let signals = watch_signals(stop.clone(), move || reload(&cli, &args, &reloaded))?;
    announce(&server, &robots, &settings, is_demo)?;
    tokio::select! {
        () = server.run(&robots, stop) => {}
        () = signals => info!("stopping at once"),
    }
    robots.shutdown().await;
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

fn load(cli: &Cli, args: &ServeArgs) -> anyhow::Result<Loaded> {
    let loader = if args.demo {
        let database = cli
            .database
            .clone()
            .unwrap_or_else(|| "sqlite::memory:".to_owned());
        Loader::new()
            .process_environment()
            .flag("database.url", "--demo", Some(database))
            .flag("web_robots_db", "--demo", Some(String::new()))
    } else {
        context::loader(cli)?
    };
    Ok(loader
        .flag("server.listen", "--listen", args.listen.clone())
        .flag("server.upstream", "--upstream", args.upstream.clone())
        // The demonstration site has no upstream whose robots.txt would count.
        .flag("server.upstream", "--demo", args.demo.then(String::new))
        .load()?)
}

/// The first start makes the administrator's password and prints it once.
async fn print_first_password(robots: &RobotDetection) -> anyhow::Result<()> {
    if robots.store().admin_password_hash().await?.is_some() {
        return Ok(());
    }
    let password = generate_password();
    let hash = hash_password(&password)?;
    let now_ms = robots.clock().now_ms();
    if robots
        .store()
        .init_admin_password_hash(&hash, now_ms)
        .await?
    {
        output::line(&format!("admin password, shown this once: {password}"))?;
    }
    Ok(())
}

fn announce(
    server: &Server,
    robots: &RobotDetection,
    settings: &Settings,
    is_demo: bool,
) -> anyhow::Result<()> {
    let addr = server.local_addr();
    let site = if is_demo {
        "the demonstration site".to_owned()
    } else {
        settings.upstream.clone()
    };
    warn_if_disabled(robots);
    if settings.admin_enabled {
        let path = settings.admin_path.trim_matches('/');
        let admin = server.admin_addr().unwrap_or(addr);
        output::line(&format!("admin page: http://{}/{path}/", reachable(admin)))?;
    }
    output::line(&format!("serving {site} on http://{addr}/"))?;
    let active = robots.detector().load().robots().len();
    info!(robots = active, %addr, "serving {site} with {active} robots known");
    Ok(())
}

fn warn_if_disabled(robots: &RobotDetection) {
    if robots.policy().load().is_disabled() {
        warn!("nothing is filtered: set filter_pattern and redirect_url");
    }
}

/// An address that a browser on this machine can open.
fn reachable(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => ([127, 0, 0, 1], v6.port()).into(),
        addr => addr,
    }
}

/// Cancels `stop` on SIGINT or SIGTERM and ends at the second; calls `reload` on SIGHUP.
fn watch_signals(
    stop: CancellationToken,
    reload: impl Fn(),
) -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch signals")?;
    let mut hangup = signal(SignalKind::hangup()).context("cannot watch signals")?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {
                    reload();
                    continue;
                }
            }
            if stop.is_cancelled() {
                return;
            }
            info!("stopping: requests under way are finished first; a second signal ends them");
            stop.cancel();
        }
    })
}

/// Puts filter settings, rules and robots.txt in force; a bad file changes nothing.
fn reload(cli: &Cli, args: &ServeArgs, robots: &RobotDetection) {
    match load(cli, args).and_then(|loaded| Ok(app::reload(robots, &loaded)?)) {
        Ok(()) => {
            info!(
                "reloaded filter_pattern, redirect settings, rules, lists of robots and robots.txt; other settings need a restart"
            );
            warn_if_disabled(robots);
        }
        Err(error) => error!("the configuration is not reloaded, the old one stays: {error:#}"),
    }
}
