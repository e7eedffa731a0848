//! `doctor`: checks everything that `serve` will need, and says what to do.

use std::{net::SocketAddr, path::Path, process::ExitCode};

use serde_json::{Value, json};

use crate::app::{self, ServerSettings};
use crate::config::{ConfigErrors, Loaded, Settings};
use crate::fetch::{Conditions, FetchLimits, Fetched, Fetcher};
use crate::policy::Policy;
use crate::refresh::SourceSpec;
use crate::store::Store;

use super::{
    Cli, args::DoctorArgs, context, doubts::doubts, output, robots_txt_doubts::robots_txt_doubts,
    usage::WRONG_USAGE,
};

/// Result of one check.
struct Check {
    name: String,
    result: Result<String, String>,
    /// The text is of something that may be meant, and may be a slip.
    is_doubtful: bool,
}

pub(super) async fn run(cli: &Cli, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let settings = loaded.settings();
    let configured = configuration(&loaded);
    let is_configured = configured.result.is_ok();
    let mut checks = vec![configured];
    if let Ok(server) = ServerSettings::new(&loaded, false) {
        checks.push(check("upstream", upstream(&server, &settings).await));
        checks.push(check("listen", bind(server).await));
    }
    checks.extend(robots_txt(&loaded).await);
    let database = check("database", database(&settings).await);
    let is_readable = database.result.is_ok();
    checks.push(database);
    if let (Ok(policy), true) = (app::policy(&loaded), is_readable) {
        let robots = context::robots(&loaded).await?;
        checks.extend(
            doubts(&settings, &policy, &robots)
                .into_iter()
                .map(|text| doubt("rules", text)),
        );
        let doubts = robots_txt_doubts(&settings, &robots);
        checks.extend(doubts.into_iter().map(|text| doubt("robots.txt", text)));
    }
    if !args.offline {
        // Those that are wrong are told with the configuration.
        for spec in app::sources(&loaded).unwrap_or_default() {
            let name = format!("source {}", spec.source);
            checks.push(check(name, source(&spec).await));
        }
    }
    let is_well = checks.iter().all(|check| check.result.is_ok());
    if args.json {
        let checks = checks.iter().map(Check::object).collect::<Vec<_>>();
        output::json(&json!({"ok": is_well, "checks": checks}))?;
    } else {
        for check in &checks {
            let (mark, text) = match &check.result {
                Ok(text) if check.is_doubtful => ("warn", text),
                Ok(text) => ("ok  ", text),
                Err(text) => ("FAIL", text),
            };
            output::line(&format!("{mark}  {}: {}", check.name, output::clean(text)))?;
        }
    }
    Ok(match (is_well, is_configured) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::from(WRONG_USAGE),
    })
}

impl Check {
    fn object(&self) -> Value {
        let (text, ok) = match &self.result {
            Ok(text) => (text, true),
            Err(text) => (text, false),
        };
        json!({"check": self.name, "ok": ok, "warning": self.is_doubtful, "text": text})
    }
}

fn check(name: impl Into<String>, result: Result<String, String>) -> Check {
    Check {
        name: name.into(),
        result,
        is_doubtful: false,
    }
}

fn doubt(name: &str, text: String) -> Check {
    Check {
        is_doubtful: true,
        ..check(name, Ok(text))
    }
}

/// Says who answers for /robots.txt, and what the upstream's is like.
async fn robots_txt(loaded: &Loaded) -> Vec<Check> {
    let name = "robots.txt";
    // What is wrong is told with the configuration.
    let Ok(plan) = app::robots_txt(loaded) else {
        return Vec::new();
    };
    let answers = format!("answered by {}", plan.who_answers(None));
    let upstream = plan
        .check_upstream()
        .await
        .into_iter()
        .map(|found| match found {
            Ok(text) => check(name, Ok(text)),
            // An upstream that is down is told of as a failure already.
            Err(text) => doubt(name, text),
        });
    [check(name, Ok(answers))]
        .into_iter()
        .chain(upstream)
        .collect()
}

fn configuration(loaded: &Loaded) -> Check {
    let result = judge(loaded).map(|policy| {
        if policy.is_disabled() {
            "nothing is filtered: set filter_pattern and redirect_url".to_owned()
        } else {
            let mut places: Vec<_> = policy.filter_patterns().map(str::to_owned).collect();
            places.extend(match policy.rules().count() {
                0 => None,
                1 => Some("by 1 rule".to_owned()),
                rules => Some(format!("by {rules} rules")),
            });
            format!("robots are redirected on {}", places.join(", "))
        }
    });
    check("configuration", result.map_err(|error| error.to_string()))
}

/// Judges all that `serve` would judge before it opens anything.
fn judge(loaded: &Loaded) -> Result<Policy, ConfigErrors> {
    context::log_settings(loaded)?;
    ServerSettings::new(loaded, false)?;
    app::assemble(loaded).and_then(|_| app::policy(loaded))
}

/// An address that is in use is well where this program itself serves there.
async fn bind(server: ServerSettings) -> Result<String, String> {
    let addr = server.addr();
    match server.bind().await {
        Ok(server) => Ok(format!("{} is free", server.local_addr())),
        Err(_) if serves(addr).await => Ok(format!("robot-detection serves on {addr} already")),
        Err(error) => Err(error.to_string()),
    }
}

async fn serves(addr: SocketAddr) -> bool {
    let url = format!("http://localhost:{}/readyz", addr.port());
    let Ok(fetcher) = Fetcher::new(FetchLimits::default()) else {
        return false;
    };
    let ready = fetcher
        .fetch(&url, &Conditions::default(), &|_, _| {})
        .await;
    let Ok(Fetched::Body { bytes, .. }) = ready else {
        return false;
    };
    serde_json::from_slice::<Value>(&bytes).is_ok_and(|answer| answer.get("ready").is_some())
}

/// A missing file is not made here: it would belong to whoever asks, not to who serves.
async fn database(settings: &Settings) -> Result<String, String> {
    if let Some(file) = context::sqlite_file(&settings.database_url)
        && !file.exists()
    {
        return missing_file(file);
    }
    let store = Store::connect(&settings.database_url)
        .await
        .map_err(|error| error.to_string())?;
    let counts = store
        .robot_counts()
        .await
        .map_err(|error| error.to_string())?;
    let active = counts.iter().map(|count| count.active).sum::<u64>();
    let engine = store.engine();
    store.close().await;
    Ok(match active {
        0 => format!("{engine}, no robots yet: the first `serve` brings in those of the program"),
        _ => format!("{engine}, {active} active robots"),
    })
}

fn missing_file(file: &Path) -> Result<String, String> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if directory.is_dir() {
        let file = file.display();
        Ok(format!(
            "{file} is not there yet: the first `serve` makes it"
        ))
    } else {
        let directory = directory.display();
        Err(format!(
            "there is no directory {directory} for it: make it, for the user of `serve` to write in"
        ))
    }
}

async fn upstream(server: &ServerSettings, settings: &Settings) -> Result<String, String> {
    match server.check_upstream().await {
        None => Ok("none: the demonstration site is served; set server.upstream".to_owned()),
        Some(Ok(())) => Ok(format!("{} accepts connections", settings.upstream)),
        Some(Err(error)) => Err(error.to_string()),
    }
}

async fn source(spec: &SourceSpec) -> Result<String, String> {
    let fetcher = Fetcher::new(FetchLimits::default()).map_err(|error| error.to_string())?;
    spec.probe(&fetcher).await.map_err(|error| {
        format!(
            "{error}; until it answers, the rows of the last refresh and the bundled registry serve"
        )
    })
}
