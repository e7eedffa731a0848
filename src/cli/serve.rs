//! `serve`: starts the server, prints its addresses, and stops it on a signal.

use std::{
    io::{self, IsTerminal as _},
    net::SocketAddr,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use sd_notify::NotifyState;
use serde_json::json;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::app::{self, BuildError, FirstPassword, RobotDetection, Server, ServerSettings};
use crate::clock::Clock;
use crate::config::{GeneralSection, Loaded, Settings, wants_colours};
use crate::listen::{ListenAddr, OpenFileLimit};
use crate::operations::rfc3339;
use crate::store::DatabaseOutage;
use crate::telemetry::{LogFormat, start_log};

use super::{
    Cli,
    args::ServeArgs,
    context,
    every_error::every_error,
    output,
    reload::{FileWatch, Supervisor, notify_service_manager},
    serve_settings::{has_site, is_alone, load, warn_unknown_words},
};

/// The delay before a database that failed is queried again for the administrator password.
const PASSWORD_RETRY: Duration = Duration::from_secs(15);

pub(super) async fn run(cli: &Cli, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    // The limit on open files is raised first: a connection needs one or two files, and the default
    // limit is often 1,024.
    OpenFileLimit::raise();
    // Created before the configuration is loaded, so that changes made during loading are detected.
    let file = FileWatch::new(cli);
    let loaded = load(cli, args)?;
    let settings = loaded.settings();
    start_log(&settings.log.level, settings.log.format, wants_colours())?;
    // If no file is specified, only the environment configures the demonstration site.
    let is_alone = is_alone(cli, args);
    let all = |first| every_error(loaded.loader(), first);
    let server_settings = ServerSettings::new(&loaded, is_alone).map_err(all)?;
    let builder = app::assemble(&loaded).map_err(all)?.wait_for_database(true);
    has_site(cli, args, &loaded)?;
    warn_unknown_words(&loaded);
    let is_demo = server_settings.is_demo();
    let sites: Vec<String> = server_settings.sites().collect();
    // Bound before the database is opened, so that a second server on the same address stops
    // without changing the database.
    let mut server = server_settings.bind().await?;
    let observer = server.observe()?;
    // Checked before the database is opened, which creates the file.
    let is_new = context::is_gone(&settings.database.url);
    let robots = builder.build().await?;
    if is_new {
        warn!("the database file that existed before is missing; a new database was created");
    }
    if !is_alone {
        robots.start_site_robots(&loaded).map_err(all)?;
    }
    if let Some(absence) = robots.store().outage() {
        let reason = &absence.reason;
        error!("database unavailable, serving from memory: {reason}");
    }
    let mut password = FirstPasswordCheck::new(&robots, settings);
    password.run().await;
    let stop = CancellationToken::new();
    // The demonstration site's settings do not come from a file.
    let file = file.enabled(settings.general.reload_on_change && !is_alone);
    let read = (file, &loaded);
    let supervisor = Supervisor::new(cli, args, &robots, read, observer.clone())?;
    announce(&server, &robots, settings, is_demo, &sites);
    if let Some(step) = next_step(cli, &loaded, is_demo) {
        say(settings, &format!("next: {step}"));
    }
    // The addresses are bound: visitors may already connect, and wait until connections are
    // accepted.
    notify_service_manager(NotifyState::Ready);
    tokio::select! {
        () = server.run(&robots, stop.clone()) => {}
        () = supervisor.run(stop) => info!("stopping immediately"),
        () = password.repeat() => {}
    }
    // Closed after the server, so that the last requests are also logged.
    observer.close().await;
    robots.shutdown().await;
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// A check that ensures that an administrator password is set.
///
/// The server starts even if its database is unavailable; the database may also be replaced later.
struct FirstPasswordCheck<'s> {
    robots: &'s RobotDetection,
    settings: &'s Settings,
    absence: watch::Receiver<Option<Arc<DatabaseOutage>>>,
    /// Whether the current database contains a password.
    is_done: bool,
}

impl<'s> FirstPasswordCheck<'s> {
    fn new(robots: &'s RobotDetection, settings: &'s Settings) -> Self {
        Self {
            robots,
            settings,
            absence: robots.store().watch_outage(),
            is_done: false,
        }
    }

    /// Creates the initial password if the database contains none; logs failures as warnings.
    async fn run(&mut self) {
        let is_away = self.absence.borrow_and_update().is_some();
        self.is_done = is_away || !self.settings.admin.enabled;
        if !self.is_done {
            let ensured = ensure_password(self.robots, self.settings).await;
            self.is_done = ensured.is_ok();
            if let Err(error) = ensured {
                warn!("cannot set the initial administrator password: {error}");
            }
        }
    }

    /// Repeats the check after each failure and for each new database; never returns.
    async fn repeat(&mut self) {
        loop {
            let pause = if self.is_done {
                Duration::MAX
            } else {
                PASSWORD_RETRY
            };
            if let Ok(Err(_)) = timeout(pause, self.absence.changed()).await {
                // Returning would stop the server.
                return std::future::pending().await;
            }
            self.run().await;
        }
    }
}

/// Sets the administrator password at the first start, and reports where to find the password.
async fn ensure_password(robots: &RobotDetection, settings: &Settings) -> Result<(), BuildError> {
    let can_show = io::stdout().is_terminal() && settings.log.format == LogFormat::Text;
    let chosen = settings.admin.password_file.as_deref();
    match robots.first_password(chosen, can_show).await? {
        None => {}
        Some(FirstPassword::Shown(password)) => {
            output::line_or_note(&format!("admin password (not shown again): {password}"));
        }
        Some(FirstPassword::Written(file)) => {
            let file = file.display();
            warn!(
                "the initial administrator password is in {file}; delete the file after the first login"
            );
        }
        Some(FirstPassword::Chosen(file)) => {
            let file = file.display();
            info!("the initial administrator password was read from {file}");
        }
    }
    Ok(())
}

/// Prints a line to standard output, as JSON if the log format is JSON.
fn say(settings: &Settings, text: &str) {
    if settings.log.format == LogFormat::Text {
        return output::line_or_note(text);
    }
    let timestamp = rfc3339(Clock::system().now_ms());
    let line = json!({"timestamp": timestamp, "level": "INFO", "message": text});
    output::line_or_note(&line.to_string());
}

fn announce(
    server: &Server,
    robots: &RobotDetection,
    settings: &Settings,
    is_demo: bool,
    sites: &[String],
) {
    let site = match sites.len() {
        0 if is_demo => "the demonstration site".to_owned(),
        0 => settings.server.upstream.join(", "),
        1 => "1 site".to_owned(),
        several => format!("{several} sites"),
    };
    if settings.admin.enabled {
        let path = settings.admin.path.trim_matches('/');
        say(
            settings,
            &format!("admin page: {}", admin_page(server, path)),
        );
    }
    for line in sites {
        say(settings, &format!("site {line}"));
    }
    if let Some(addr) = server.check_addr() {
        say(
            settings,
            &format!("decision endpoint for other proxies: {addr}"),
        );
    }
    if let Some(listener) = server.operation_listener() {
        let url = listener.url();
        say(settings, &format!("health checks and metrics: {url}"));
    }
    for url in server.urls() {
        say(settings, &format!("serving {site} on {url}"));
    }
    let active = robots.detector().load().robots().len();
    info!(robots = active, "loaded {active} robots");
}

/// Returns advice about the next step if access by robots is not configured yet.
fn next_step(cli: &Cli, loaded: &Loaded, is_demo: bool) -> Option<String> {
    if context::file(cli).exists() || loaded.is_set(&GeneralSection::KEY.filter_patterns) {
        return None;
    }
    if is_demo {
        return Some(
            "to request a page as a robot, run `curl -si -A Googlebot/2.1` with a URL below /members-only-stuff/; \
             to serve your own site, run `robot-detection serve --upstream URL`"
                .to_owned(),
        );
    }
    let GeneralSection {
        filter_patterns,
        redirect_url,
        ..
    } = &loaded.settings().general;
    let patterns = filter_patterns.join(", ");
    Some(format!(
        "run `robot-detection init --interactive`, which asks which paths robots cannot access and writes a \
         configuration; until then, robots are redirected from {patterns} to {redirect_url}"
    ))
}

/// Returns the URL of the admin page; for a Unix socket, the path and the socket.
fn admin_page(server: &Server, path: &str) -> String {
    let Some(listener) = server.admin_listener() else {
        return format!("/{path}/");
    };
    match listener.addr() {
        ListenAddr::Tcp(addr) => {
            let scheme = if listener.is_tls() { "https" } else { "http" };
            format!("{scheme}://{}/{path}/", reachable(*addr))
        }
        addr @ ListenAddr::Unix(_) => format!("/{path}/ at {addr}"),
    }
}

/// Returns an address that a browser on this machine can open.
fn reachable(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        // `[::]` also accepts IPv4 connections, and some machines do not have the address `::1`.
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => ([127, 0, 0, 1], v6.port()).into(),
        addr => addr,
    }
}
