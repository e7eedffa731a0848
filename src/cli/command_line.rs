//! The command line and its commands.
//!
//! Commands with many arguments of their own keep them beside what they do.

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

/// Tells robots from people on the way into a web site.
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
    /// Serves: proxy, detection, robot heaven and admin page
    Serve(ServeArgs),
    /// Shows and changes the robots table
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Names the robot of each User-Agent or line of a log, or sums logs up
    Identify(IdentifyArgs),
    /// Prints what was counted of visitors
    #[command(subcommand)]
    Traffic(TrafficCommand),
    /// Makes rules that are in force at once on every instance, and pauses all enforcement
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Prints fleets of robots that say they are browsers
    #[command(subcommand)]
    Suspects(SuspectsCommand),
    /// Prints the paths of traps, and the link to them that pages may carry
    #[command(
        after_help = "Whoever asks for a trap has not kept to robots.txt: no person is shown the link.

Example: robot-detection traps"
    )]
    Traps {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Prints who is refused so often that a firewall had better keep him out
    Bans(BansArgs),
    /// Tells what would be done with a request, and why
    Explain(ExplainArgs),
    /// Proves that a robot is who it says, or shows the lists of addresses that prove it
    Verify(VerifyArgs),
    /// Asks and checks robots.txt files
    #[command(subcommand)]
    RobotsTxt(RobotsTxtCommand),
    /// Runs and controls the site robot, checks its files
    #[command(subcommand)]
    SiteRobot(SiteRobotCommand),
    /// Starts robot heaven, puts its last publication back
    #[command(subcommand)]
    Heaven(HeavenCommand),
    /// Sets the administrator's password, makes tokens for scripts, ends sessions
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Sends test messages of alerts, lists how they stand
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// Lists the instances that serve from the database, and what each of them leads
    Instances(InstancesArgs),
    /// Backs the database up and restores it; repairs a damaged SQLite file, or makes a new one
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Prints the file with which another proxy asks what becomes of each request
    ProxyConfig(ProxyConfigArgs),
    /// Answer the questions of Apache's `RewriteMap` on standard input
    #[command(hide = true)]
    ApacheMap(ApacheMapArgs),
    /// Writes a commented configuration file
    Init(InitArgs),
    /// Checks configuration, database, sources, upstream, robot heaven and site robot
    Doctor(DoctorArgs),
    /// Judges a configuration file alone: nothing is opened, nothing is written
    Validate(ValidateArgs),
    /// Has a running server read its configuration again
    Reload(ReloadArgs),
    /// Tells whether the server is ready, for health checks of containers
    Health(HealthArgs),
    /// Prints completions for a shell
    Completions(CompletionsArgs),
}
