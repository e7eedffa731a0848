//! Runs all checks and prints their results.

use std::process::ExitCode;

use serde_json::json;

use crate::alerts::Alert;
use crate::app::{self, ServerSettings};
use crate::config::{ConfigErrors, Loaded};
use crate::detect::SharedDetector;
use crate::policy::Policy;
use crate::robots_file::{ServedRobotsTxt, lint};

use super::{
    super::{
        Cli,
        args::{DoctorArgs, ServeArgs},
        context,
        every_error::{every_error, judge},
        output::{self, WRONG_USAGE},
        serve_settings,
    },
    agents::agents,
    check::{Check, ServedSite, Subject, sites},
    database::database,
    front::{FrontChecks, front},
    heaven::heaven_checks,
    licensing::licensing_checks,
    rules::{rules, traps},
    server::{access_log, authorities, certificates, listeners, open_files, upstreams},
    site_robot::site_robot_checks,
    sources::{held_back, origins, sources},
    verification::verification,
};

pub(in super::super) async fn run(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let loaded = match loaded(cli, args) {
        Ok(loaded) => loaded,
        Err(error) => return refused(error, args.json),
    };
    let settings = loaded.settings();
    // The error is dropped here, because the configuration check reports it.
    let server = ServerSettings::new(&loaded, false).ok();
    let subject = Subject {
        loaded: &loaded,
        settings,
        server: server.as_ref(),
        store: context::store(&loaded).await.ok(),
    };
    let configured = configuration(&subject);
    let is_configured = configured.iter().all(Check::is_ok);
    let mut checks = configured;
    let mut asked = FrontChecks::default();
    if let Some(url) = &args.agents {
        checks.extend(agents(&subject, url).await);
    } else {
        if args.front.is_none() {
            // An application that uses only the file's rules needs no upstream.
            if let Err(error) = serve_settings::has_site(cli, &flags(args), &loaded) {
                checks.push(Check::warning(
                    "upstream",
                    format!("serve cannot start: {error}"),
                ));
            }
            checks.extend(all(&subject, args.offline).await?);
        }
        asked = front(&subject, args).await?;
        checks.append(&mut asked.checks);
    }
    if let Some(store) = &subject.store {
        store.close().await;
    }
    print(&checks, &asked, args.json)?;
    // Same exit codes as `serve`: 2 for an invalid configuration, 1 for other errors.
    Ok(match (checks.iter().all(Check::is_ok), is_configured) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::from(WRONG_USAGE),
    })
}

/// Prints each invalid value; no other checks are then possible.
fn refused(error: anyhow::Error, as_json: bool) -> anyhow::Result<ExitCode> {
    // Other errors, such as an unreadable file, end the command, as in `serve`.
    let checks = wrong_values(&error.downcast::<ConfigErrors>()?);
    print(&checks, &FrontChecks::default(), as_json)?;
    Ok(ExitCode::from(WRONG_USAGE))
}

/// Loads the settings as `serve` would with the same flags.
fn loaded(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<Loaded> {
    serve_settings::load(cli, &flags(args))
}

fn flags(args: &DoctorArgs) -> ServeArgs {
    ServeArgs {
        listen: args.listen.clone(),
        upstream: args.upstream.clone(),
        demo: false,
    }
}

/// Runs all checks except the configuration check, in the order of the output.
async fn all(subject: &Subject<'_>, offline: bool) -> anyhow::Result<Vec<Check>> {
    let detector = context::detector(subject.loaded).await;
    let detector = detector.ok().map(SharedDetector::new);
    let served = served_files(subject, &detector.clone().unwrap_or_default()).await;
    let groups = [
        upstreams(subject).await,
        listeners(subject).await,
        certificates(subject),
        authorities(),
        open_files(subject),
        heaven_checks(subject).await,
        site_robot_checks(subject, offline).await,
        access_log(subject),
        robots_txt(subject).await,
        // Without a detector, the database check reports the error.
        detector.map_or_else(Vec::new, |detector| robots_txt_lines(&served, &detector)),
        licensing_checks(&served, offline).await,
        database(subject).await?,
        rules(subject).await,
        verification(subject, offline).await?,
        origins(subject, offline).await,
        traps(subject, offline).await,
        held_back(subject).await,
        alerts(subject).await,
        if offline {
            Vec::new()
        } else {
            sources(subject).await
        },
    ];
    Ok(groups.into_iter().flatten().collect())
}

fn wrong_values(errors: &ConfigErrors) -> Vec<Check> {
    let wrong = |error: &str| Check::new("configuration", Err(error.to_owned()));
    errors.to_string().lines().map(wrong).collect()
}

fn configuration(subject: &Subject<'_>) -> Vec<Check> {
    let result = validate(subject.loaded).map(|policy| {
        if policy.is_disabled() {
            "no paths are filtered: set filter_pattern and redirect_url".to_owned()
        } else {
            let places: Vec<_> = policy.filter_patterns().collect();
            let filtered = (!places.is_empty())
                .then(|| format!("robots are redirected on {}", places.join(", ")));
            let rules = match policy.rules().count() {
                0 => None,
                1 => Some("1 rule decides about requests".to_owned()),
                rules => Some(format!("{rules} rules decide about requests")),
            };
            let told: Vec<_> = filtered.into_iter().chain(rules).collect();
            told.join("; ")
        }
    });
    match result {
        Ok(told) => vec![Check::new("configuration", Ok(told))],
        Err(errors) => wrong_values(&errors),
    }
}

/// Validates all settings that `serve` validates before opening listeners or files.
pub(in crate::cli) fn validate(loaded: &Loaded) -> Result<Policy, ConfigErrors> {
    judge(loaded)
        .and_then(|()| app::policy(loaded))
        .map_err(|first| every_error(loaded.loader(), first))
}

/// Checks which program serves /robots.txt, and checks the upstream's robots.txt file.
async fn robots_txt(subject: &Subject<'_>) -> Vec<Check> {
    let name = "robots.txt";
    // The configuration check reports errors.
    let Ok(plan) = app::robots_txt(subject.loaded) else {
        return Vec::new();
    };
    let answers = format!("served by {}", plan.who_answers(None));
    let upstream = plan
        .check_upstream()
        .await
        .into_iter()
        .map(|found| match found {
            Ok(text) => Check::new(name, Ok(text)),
            // This is only a warning, because the upstream check already fails if an upstream is
            // down.
            Err(text) => Check::warning(name, text),
        });
    [Check::new(name, Ok(answers))]
        .into_iter()
        .chain(upstream)
        .collect()
}

/// The maximum number of warnings about a robots.txt file.
const MAX_LINES: usize = 5;

/// Returns each site with its robots.txt as served, which may have to be requested from the upstream;
/// `None` for settings that the configuration check reports.
async fn served_files(
    subject: &Subject<'_>,
    detector: &SharedDetector,
) -> Vec<(ServedSite, Option<ServedRobotsTxt>)> {
    let mut all = Vec::new();
    for site in sites(subject.loaded) {
        let served = app::active_robots_txt(&site.loaded, detector).await;
        all.push((site, served.ok()));
    }
    all
}

/// Returns warnings about the lines of each site's robots.txt that robots interpret differently
/// than intended.
fn robots_txt_lines(
    sites: &[(ServedSite, Option<ServedRobotsTxt>)],
    detector: &SharedDetector,
) -> Vec<Check> {
    let mut checks = Vec::new();
    for (site, served) in sites {
        let name = site.label("robots.txt");
        let Some(served) = served else {
            continue;
        };
        let files = served.files().load();
        for (host, file) in files.iter() {
            let of_host = host.map_or_else(String::new, |host| format!(" of {host}"));
            let found = lint(file, detector.load().robots());
            for warning in found.iter().take(MAX_LINES) {
                checks.push(Check::warning(&name, format!("{warning}{of_host}")));
            }
            if let more @ 1.. = found.len().saturating_sub(MAX_LINES) {
                let text = format!("{more} more lines{of_host} are listed by robots-txt lint");
                checks.push(Check::warning(&name, text));
            }
        }
    }
    checks
}

/// Checks that alert receivers accepted the most recent message, without sending a message.
async fn alerts(subject: &Subject<'_>) -> Vec<Check> {
    // The configuration check reports invalid alerts.
    let alerts = app::alerts(subject.loaded).unwrap_or_default();
    let states = match &subject.store {
        Some(store) => store.alerts().list().await.unwrap_or_default(),
        None => Vec::new(),
    };
    let check = |alert: &Alert| {
        let (name, receiver) = (&alert.name, alert.webhook.redacted_url());
        let failed = states.iter().find(|state| state.name == *name);
        if let Some(state) = failed.filter(|state| state.failures > 0) {
            let (failures, error) = (state.failures, &state.error);
            let text =
                format!("{name}: {receiver} rejected the {failures} most recent messages: {error}");
            return Check::warning("alert", text);
        }
        let text = format!("{name}: sent to {receiver}; to send a test message, run `alerts test`");
        Check::new("alert", Ok(text))
    };
    alerts.iter().map(check).collect()
}

fn print(checks: &[Check], asked: &FrontChecks, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let is_well = checks.iter().all(Check::is_ok);
        let checks = checks.iter().map(Check::object).collect::<Vec<_>>();
        output::json(&json!({"ok": is_well, "checks": checks, "requests": asked.object()}))?;
    } else {
        for check in checks {
            output::line(&check.line())?;
        }
        if !asked.rows.is_empty() {
            let (header, rows) = asked.table();
            output::table(&header, &rows)?;
        }
    }
    Ok(())
}
