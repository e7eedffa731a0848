//! The command line and its commands.
//!
//! Commands with many arguments define them next to their implementation.

use clap::{Parser, Subcommand};

use super::alerts::AlertsCommand;
use super::apache_map::ApacheMapArgs;
use super::args::{
    AdminCommand, CompletionsArgs, DatabaseCommand, DoctorArgs, ExplainArgs, InitArgs, ServeArgs,
    VerifyArgs,
};
use super::bans::BansArgs;
use super::context::Cli;
use super::health::HealthArgs;
use super::heaven::HeavenCommand;
use super::identify::IdentifyArgs;
use super::instances::InstancesArgs;
use super::proxy_config::ProxyConfigArgs;
use super::registry::RegistryCommand;
use super::reload_command::ReloadArgs;
use super::robots_txt::RobotsTxtCommand;
use super::rules::RulesCommand;
use super::site_robot::SiteRobotCommand;
use super::suspects::SuspectsCommand;
use super::traffic::TrafficCommand;
use super::validate::ValidateArgs;

/// Detect robots on a web site, verify them, and control what they get.
#[derive(Clone, Debug, Parser)]
#[command(name = "robot-detection", version, about, max_term_width = 100)]
pub(super) struct CommandLine {
    #[command(flatten)]
    pub(super) cli: Cli,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Commands.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    /// Run the server: proxy, detection, robot heaven and admin console
    Serve(ServeArgs),
    /// Show, refresh and edit the robots table
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Identify the robot of each User-Agent or log line, or summarize access logs
    Identify(IdentifyArgs),
    /// Show visitor statistics
    #[command(subcommand)]
    Traffic(TrafficCommand),
    /// Manage live rules, which apply immediately on every instance, and pause enforcement
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List fleets of robots that claim to be browsers
    #[command(subcommand)]
    Suspects(SuspectsCommand),
    /// List trap paths and the link to them for your pages
    #[command(
        after_help = "A visitor that requests a trap has ignored robots.txt: human visitors do not see the link.

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
    /// Test and check robots.txt files
    #[command(subcommand)]
    RobotsTxt(RobotsTxtCommand),
    /// Run and control the site robot, check its configuration files
    #[command(subcommand)]
    SiteRobot(SiteRobotCommand),
    /// Set up robot heaven, or roll back its last publication
    #[command(subcommand)]
    Heaven(HeavenCommand),
    /// Set the administrator's password, manage API tokens and sessions
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Send test alerts and list the state of all alerts
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// List the instances that share the database and the leases that they hold
    Instances(InstancesArgs),
    /// Back up, restore, repair or recreate the database
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Print the configuration that connects nginx, Caddy, … to the decision endpoint
    ProxyConfig(ProxyConfigArgs),
    /// Answer the queries of Apache's `RewriteMap` on standard input
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
