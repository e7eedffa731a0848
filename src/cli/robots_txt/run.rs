//! Runs the command.

use std::process::ExitCode;

use crate::cli::Cli;

use super::{RobotsTxtCommand, check, eval, lint};

pub(in crate::cli) fn run(cli: &Cli, command: &RobotsTxtCommand) -> anyhow::Result<ExitCode> {
    match command {
        RobotsTxtCommand::Check(args) => check::run(args),
        RobotsTxtCommand::Lint(args) => lint::run(cli, args),
        RobotsTxtCommand::Eval => eval::run(),
    }
}
