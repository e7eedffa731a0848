//! Hands over to the command.

use std::process::ExitCode;

use super::{RobotsTxtCommand, check, eval, lint};

pub(in crate::cli) fn run(command: &RobotsTxtCommand) -> anyhow::Result<ExitCode> {
    match command {
        RobotsTxtCommand::Check(args) => check::run(args),
        RobotsTxtCommand::Lint(args) => lint::run(args),
        RobotsTxtCommand::Eval => eval::run(),
    }
}
