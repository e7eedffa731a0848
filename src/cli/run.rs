//! Runs a command and converts its result into an exit code.
//!
//! 0: done, 1: failed or answered with no, 2: wrong usage or configuration, as in clap.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::app::BuildError;
use crate::config::ConfigErrors;
use crate::listen::inherit_sockets;
use crate::operations::Refusal;
use crate::store::{StoreError, StoreErrorKind};

use super::{
    Cli, admin, alerts, apache_map, bans,
    command_line::{Command, CommandLine},
    database, doctor, explain, health, heaven, identify, init, instances,
    output::{self, WRONG_USAGE, WrongUsage},
    proxy_config, registry, reload_command, robots_txt, rules, serve, site_robot, suspects,
    traffic, traps, validate, verify,
};

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let mut line = CommandLine::parse();
    if let Command::SiteRobot(command) = &line.command {
        line.cli.robot_conf = command.robot_conf().map(str::to_owned);
    }
    // ring is the only provider in the tree; a second call fails because it is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(&line.cli, &line.command) {
        Ok(code) => code,
        // A reader such as `head` has closed the pipe, which is not an error.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&format!("error: {}", text(&error)));
            if is_wrong_usage(&error) {
                ExitCode::from(WRONG_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// Returns the command line's parser, for generating manuals and testing documentation.
#[must_use]
pub fn command() -> clap::Command {
    CommandLine::command()
}

fn run(cli: &Cli, command: &Command) -> anyhow::Result<ExitCode> {
    if let Command::Serve(_) = command {
        // Called before threads are started, because it removes environment variables, which is
        // unsafe while other threads read them.
        inherit_sockets();
    }
    match command {
        // These commands need no runtime, or build another kind of runtime.
        Command::ApacheMap(args) => apache_map::run(cli, args),
        Command::Identify(args) => identify::run(cli, args),
        Command::Init(args) => init::run(args),
        Command::RobotsTxt(command) => robots_txt::run(cli, command),
        Command::SiteRobot(command) => site_robot::run(cli, command),
        Command::Validate(args) => validate::run(cli, args),
        Command::Completions(args) => {
            init::completions(args)?;
            Ok(ExitCode::SUCCESS)
        }
        command => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(run_async(cli, command)),
    }
}

async fn run_async(cli: &Cli, command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => Box::pin(serve::run(cli, args)).await,
        Command::Registry(command) => registry::run(cli, command).await,
        Command::Explain(args) => explain::run(cli, args).await,
        Command::Verify(args) => verify::run(cli, args).await,
        Command::Admin(command) => admin::run(cli, command).await,
        Command::Alerts(command) => alerts::run(cli, command).await,
        Command::Bans(args) => bans::run(cli, args).await,
        Command::Database(command) => database::run(cli, command).await,
        Command::Instances(args) => instances::run(cli, args).await,
        Command::ProxyConfig(args) => proxy_config::run(cli, args).await,
        Command::Doctor(args) => doctor::run(cli, args).await,
        Command::Health(args) => health::run(cli, args).await,
        Command::Reload(args) => reload_command::run(cli, args).await,
        Command::Heaven(command) => heaven::run(cli, command).await,
        Command::Traps { json } => traps::run(cli, *json).await,
        Command::Suspects(command) => suspects::run(cli, command).await,
        Command::Traffic(command) => traffic::run(cli, command).await,
        Command::Rules(command) => Box::pin(rules::run(cli, command)).await,
        Command::ApacheMap(_)
        | Command::Identify(_)
        | Command::Init(_)
        | Command::RobotsTxt(_)
        | Command::SiteRobot(_)
        | Command::Validate(_)
        | Command::Completions(_) => Ok(ExitCode::SUCCESS),
    }
}

fn is_wrong_usage(error: &anyhow::Error) -> bool {
    let is_bad_url = |cause: &StoreError| cause.kind() == StoreErrorKind::BadUrl;
    error.is::<ConfigErrors>()
        || matches!(error.downcast_ref(), Some(Refusal::Invalid(_)))
        || error.is::<WrongUsage>()
        || error.downcast_ref().is_some_and(is_bad_url)
        || matches!(error.downcast_ref(), Some(BuildError::Store(cause)) if is_bad_url(cause))
}

/// Returns the error and its causes on one line; each wrong setting has its own line.
fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // Many library errors repeat their cause in their own text.
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
