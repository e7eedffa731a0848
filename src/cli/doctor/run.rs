//! The list of checks, and how it is told.

use std::process::ExitCode;

use serde_json::json;

use crate::app::ServerSettings;
use crate::config::{ConfigError, ConfigErrors, Loaded, Settings};
use crate::store::Store;

use super::{
    super::{
        Cli,
        args::{DoctorArgs, ServeArgs},
        context, output, serve,
        usage::WRONG_USAGE,
    },
    certificates::certificates,
    check::Check,
    configuration::configuration,
    database::database,
    heaven::heavens,
    robots_txt::robots_txt,
    server::{access_log, listeners, open_files, upstreams},
    site_robot::robots_of_sites,
    sources::{held_back, sources},
    verification::verification,
};

/// What is checked.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) settings: &'a Settings,
    /// None where the settings are wrong; what is wrong is told with the configuration.
    pub(super) server: Option<&'a ServerSettings>,
    /// None where the database does not answer; that is told with it.
    pub(super) store: Option<Store>,
}

pub(in super::super) async fn run(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let loaded = match loaded(cli, args) {
        Ok(loaded) => loaded,
        Err(error) => return refused(error, args.json),
    };
    let settings = loaded.settings();
    let server = ServerSettings::new(&loaded, false).ok();
    let subject = Subject {
        loaded: &loaded,
        settings,
        server: server.as_ref(),
        store: context::store(&loaded).await.ok(),
    };
    let configured = configuration(&subject);
    let is_configured = configured.is_ok();
    let mut checks = vec![configured];
    checks.extend(all(&subject, args.offline).await?);
    if let Some(store) = &subject.store {
        store.close().await;
    }
    tell(&checks, args.json)?;
    Ok(match (checks.iter().all(Check::is_ok), is_configured) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::from(WRONG_USAGE),
    })
}

/// Tells what is wrong with each value that is none, as nothing else can be checked then.
fn refused(error: anyhow::Error, as_json: bool) -> anyhow::Result<ExitCode> {
    let ConfigErrors(errors) = error.downcast::<ConfigErrors>()?;
    let wrong = |error: &ConfigError| Check::new("configuration", Err(error.to_string()));
    tell(&errors.iter().map(wrong).collect::<Vec<_>>(), as_json)?;
    Ok(ExitCode::from(WRONG_USAGE))
}

/// Reads the settings as `serve` would with the same flags.
fn loaded(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<Loaded> {
    let flags = ServeArgs {
        listen: args.listen.clone(),
        upstream: args.upstream.clone(),
        demo: false,
    };
    serve::load(cli, &flags)
}

/// Checks everything but the configuration, in the order in which it is told.
async fn all(subject: &Subject<'_>, offline: bool) -> anyhow::Result<Vec<Check>> {
    let groups = [
        upstreams(subject).await,
        listeners(subject).await,
        certificates(subject),
        open_files(subject),
        heavens(subject).await,
        robots_of_sites(subject, offline).await,
        access_log(subject),
        robots_txt(subject).await,
        database(subject).await?,
        verification(subject, offline).await?,
        held_back(subject).await,
        if offline {
            Vec::new()
        } else {
            sources(subject).await
        },
    ];
    Ok(groups.into_iter().flatten().collect())
}

fn tell(checks: &[Check], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let is_well = checks.iter().all(Check::is_ok);
        let checks = checks.iter().map(Check::object).collect::<Vec<_>>();
        output::json(&json!({"ok": is_well, "checks": checks}))?;
    } else {
        for check in checks {
            output::line(&check.line())?;
        }
    }
    Ok(())
}
