//! The list of checks, and how it is told.

use std::process::ExitCode;

use serde_json::json;

use crate::app::ServerSettings;
use crate::config::{Loaded, Settings};

use super::{
    super::{Cli, args::DoctorArgs, context, output, usage::WRONG_USAGE},
    certificates::certificates,
    check::Check,
    configuration::configuration,
    database::database,
    robots_txt::robots_txt,
    server::{access_log, heavens, listeners, upstreams},
    sources::sources,
    verification::verification,
};

/// What is checked.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) settings: &'a Settings,
    /// None where the settings are wrong; what is wrong is told with the configuration.
    pub(super) server: Option<&'a ServerSettings>,
}

pub(in super::super) async fn run(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let settings = loaded.settings();
    let server = ServerSettings::new(&loaded, false).ok();
    let subject = Subject {
        loaded: &loaded,
        settings: &settings,
        server: server.as_ref(),
    };
    let configured = configuration(&subject);
    let is_configured = configured.is_ok();
    let mut checks = vec![configured];
    checks.extend(all(&subject, args.offline).await?);
    tell(&checks, args.json)?;
    Ok(match (checks.iter().all(Check::is_ok), is_configured) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::from(WRONG_USAGE),
    })
}

/// Checks everything but the configuration, in the order in which it is told.
async fn all(subject: &Subject<'_>, offline: bool) -> anyhow::Result<Vec<Check>> {
    let groups = [
        upstreams(subject).await,
        listeners(subject).await,
        certificates(subject),
        heavens(subject),
        access_log(subject),
        robots_txt(subject).await,
        database(subject).await?,
        verification(subject, offline).await?,
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
