//! The command line.
//!
//! Each command is a thin layer over the library: the command parses its arguments, calls one
//! function of a module, and prints the result as text or, with `--json`, as JSON. Exit codes: 0
//! done, 1 failed, 2 wrong usage or configuration.
//!
//! # Example
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     robot_detection::cli::main()
//! }
//! ```

mod admin;
mod alerts;
mod apache_map;
mod args;
mod bans;
mod context;
mod database;
mod doctor;
mod every_error;
mod explain;
mod health;
mod heaven;
mod heaven_preview;
mod heaven_start;
mod identify;
mod init;
mod input;
mod instances;
mod log_input;
mod output;
mod proxy_config;
mod registry;
mod reload;
mod reload_command;
mod reload_losses;
mod report;
mod robots_txt;
mod robots_txt_warnings;
mod rule_warnings;
mod rules;
mod serve;
mod serve_settings;
mod site_robot;
mod traffic;
mod traps;
mod validate;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::app::BuildError;
use crate::config::ConfigErrors;
use crate::operations::Refusal;
use crate::store::{StoreError, StoreErrorKind};

use alerts::AlertsCommand;
use apache_map::ApacheMapArgs;
use args::{
    AdminCommand, CompletionsArgs, DatabaseCommand, DoctorArgs, ExplainArgs, InitArgs, ServeArgs,
    VerifyArgs,
};
use bans::BansArgs;
use context::Cli;
use health::HealthArgs;
use heaven::HeavenCommand;
use identify::IdentifyArgs;
use instances::InstancesArgs;
use output::{WRONG_USAGE, WrongUsage};
use proxy_config::ProxyConfigArgs;
use registry::RegistryCommand;
use reload_command::ReloadArgs;
use report::ReportArgs;
use robots_txt::RobotsTxtCommand;
use rules::RulesCommand;
use site_robot::SiteRobotCommand;
use traffic::TrafficCommand;
use validate::ValidateArgs;

/// Detect robots on a web site, verify them, and control their access.
#[derive(Clone, Debug, Parser)]
#[command(name = "robot-detection", version, about, max_term_width = 100)]
struct CommandLine {
    #[command(flatten)]
    cli: Cli,
    #[command(subcommand)]
    command: Command,
}

/// Subcommands of `robot-detection`.
#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Run the server: proxy, detection, robot heaven and admin console
    Serve(ServeArgs),
    /// Show, refresh and edit the robots table
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Report who visits the site, from access logs or the database
    Report(Box<ReportArgs>),
    /// Identify the robot behind each User-Agent
    Identify(IdentifyArgs),
    /// Import access logs into the database, and delete visitor data
    #[command(subcommand)]
    Traffic(TrafficCommand),
    /// Manage live rules, which apply immediately on every instance, and pause enforcement
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List trap paths, and print the link to add to your pages
    #[command(
        after_help = "A visitor that requests a trap path has ignored robots.txt: human visitors cannot see the link.

Example: robot-detection traps"
    )]
    Traps {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List clients that are refused often enough to block at the firewall
    Bans(BansArgs),
    /// Explain the decision for a request
    Explain(ExplainArgs),
    /// Verify a robot's claim, or list the published address ranges
    Verify(VerifyArgs),
    /// Test and validate robots.txt files
    #[command(subcommand)]
    RobotsTxt(RobotsTxtCommand),
    /// Run and control the site robot, and check its configuration files
    #[command(subcommand)]
    SiteRobot(SiteRobotCommand),
    /// Set up robot heaven, or roll back its most recent publication
    #[command(subcommand)]
    Heaven(HeavenCommand),
    /// Set the administrator password, and manage API tokens and sessions
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Send test alerts and list the state of all alerts
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// List the instances that share the database, with the leases they hold
    Instances(InstancesArgs),
    /// Back up, restore or recreate the database
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Print the configuration that connects nginx, Caddy, … to the decision endpoint
    ProxyConfig(ProxyConfigArgs),
    /// Answer queries from Apache's `RewriteMap` on standard input
    #[command(hide = true)]
    ApacheMap(ApacheMapArgs),
    /// Write a commented configuration file
    Init(InitArgs),
    /// Check the configuration, database, sources, upstreams, robot heaven and site robot
    Doctor(DoctorArgs),
    /// Check the configuration file without opening or writing anything
    Validate(ValidateArgs),
    /// Reload the configuration of a running server
    Reload(ReloadArgs),
    /// Check whether the server is ready, for container health checks
    Health(HealthArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
}

/// Runs the program with the process's command-line arguments.
#[must_use]
pub fn main() -> ExitCode {
    let mut line = CommandLine::parse();
    if let Command::SiteRobot(command) = &line.command {
        line.cli.robot_conf = command.robot_conf().map(str::to_owned);
    }
    // ring is the only cryptography provider in use; a second call fails because it is installed
    // already.
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

/// Returns the command-line parser, for generating manuals and testing documentation.
#[must_use]
pub fn command() -> clap::Command {
    CommandLine::command()
}

fn run(cli: &Cli, command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        // The following commands need no runtime, or build another kind of runtime.
        Command::ApacheMap(args) => apache_map::run(cli, args),
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
        Command::Identify(args) => identify::run(cli, args).await,
        Command::Report(args) => Box::pin(report::run(cli, args)).await,
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
        Command::Traffic(TrafficCommand::Import(args)) => traffic::import(cli, args).await,
        Command::Traffic(TrafficCommand::Forget(args)) => traffic::forget(cli, args).await,
        Command::Rules(command) => Box::pin(rules::run(cli, command)).await,
        Command::ApacheMap(_)
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

/// Returns the error and its causes on one line; each invalid setting has its own line.
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
