//! Setup of the log, with its filter and format.

use std::{io::IsTerminal as _, str::FromStr};

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogFormat {
    /// Text lines, coloured on a terminal.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = LogError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(LogError(format!("{word:?} is neither text nor json"))),
        }
    }
}

/// An error that occurs when setting up the log.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct LogError(String);

/// Checks a log filter without starting the log.
///
/// # Errors
///
/// Returns an error if the filter cannot be parsed.
pub fn check_log_filter(filter: &str) -> Result<(), LogError> {
    parse(filter).map(|_| ())
}

/// Starts the process's log; a second call has no effect.
///
/// Colours are used only if `wants_colours` is set and the log is written to a terminal.
///
/// # Errors
///
/// Returns an error if the filter cannot be parsed.
pub fn start_log(filter: &str, format: LogFormat, wants_colours: bool) -> Result<(), LogError> {
    let filter = parse(filter)?;
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_writer(std::io::stderr)
                    .with_ansi(wants_colours && std::io::stderr().is_terminal())
                    .with_target(false),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(
                fmt::layer()
                    .json()
                    .flatten_event(true)
                    .with_writer(std::io::stderr),
            )
            .try_init(),
    };
    // The application may have set up a subscriber already, which is then used.
    drop(started);
    Ok(())
}

fn parse(filter: &str) -> Result<EnvFilter, LogError> {
    EnvFilter::builder()
        .parse(by_crates(&quiet_libraries(filter)))
        .map_err(|error| {
            LogError(format!(
                "log filter {filter:?}: {error}; write info, or info,sqlx=debug"
            ))
        })
}

/// Applies a filter that consists only of a level to our own lines; libraries then log at `warn`
/// and above.
///
/// At `debug`, lines from libraries would hide our own.
fn quiet_libraries(filter: &str) -> String {
    let level = ["error", "warn", "info", "debug", "trace"]
        .into_iter()
        .find(|level| filter.eq_ignore_ascii_case(level));
    match level {
        // For libraries, `warn` would log more here.
        Some("error") => "error".to_owned(),
        Some(level) => format!("warn,robot_detection={level}"),
        None => filter.to_owned(),
    }
}

/// Crates that contain the library's modules; crate and module names prefix log lines.
///
/// `robots_txt` is a separate crate.
const CRATES: [(&str, &[&str]); 4] = [
    ("robot_detection_http::", &["listen", "proxy"]),
    (
        "robot_detection_layer::",
        &["clock", "detect", "layer", "policy", "registry"],
    ),
    (
        "robot_detection_site_robot::",
        &["document", "filter", "heaven", "site_robot"],
    ),
    (
        "robot_detection_store::",
        &["description", "fetch", "refresh", "store", "verify"],
    ),
];

/// Replaces re-exported modules in a filter, such as `robot_detection::verify`, with their crates.
fn by_crates(filter: &str) -> String {
    const OURS: &str = "robot_detection::";
    let mut parts = filter.split(OURS);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let room = part.split(|c| !is_name(c)).next().unwrap_or_default();
        let home = CRATES.iter().find(|(_, rooms)| rooms.contains(&room));
        replaced.push_str(match home {
            Some((home, _)) => home,
            None if room == "robots_txt" => "robot_detection_",
            None => OURS,
        });
        replaced.push_str(part);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::any::type_name;

    use super::*;

    #[test]
    fn modules_are_found_at_any_place() {
        for (room, name) in [
            (
                "detect",
                type_name::<robot_detection_layer::detect::Detector>(),
            ),
            (
                "heaven",
                type_name::<robot_detection_site_robot::heaven::Library>(),
            ),
            (
                "listen",
                type_name::<robot_detection_http::listen::Listener>(),
            ),
            (
                "policy",
                type_name::<robot_detection_layer::policy::Policy>(),
            ),
            ("proxy", type_name::<robot_detection_http::proxy::Proxy>()),
            (
                "refresh",
                type_name::<robot_detection_store::refresh::Refresher>(),
            ),
            (
                "robots_txt",
                type_name::<robot_detection_robots_txt::RobotsTxt>(),
            ),
            ("store", type_name::<robot_detection_store::store::Store>()),
            ("telemetry", type_name::<LogFormat>()),
            (
                "verify",
                type_name::<robot_detection_store::verify::Verifier>(),
            ),
        ] {
            let filter = by_crates(&format!("warn,robot_detection::{room}=debug,hyper=info"));
            let target = filter.trim_start_matches("warn,");
            let target = target.trim_end_matches("=debug,hyper=info");
            assert!(name.starts_with(&format!("{target}::")), "{filter}: {name}");
        }
        let own = "robot_detection::site_robots=debug";
        assert_eq!(by_crates(own), own);
    }

    #[test]
    fn bare_level_applies_to_our_own_lines() {
        assert_eq!(quiet_libraries("debug"), "warn,robot_detection=debug");
        assert_eq!(quiet_libraries("hyper=trace"), "hyper=trace");
    }

    #[test]
    fn unknown_format_is_refused() {
        assert!("xml".parse::<LogFormat>().is_err());
    }
}
