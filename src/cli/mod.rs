//! The command line.
//!
//! Each command is a thin layer over the library: it parses its arguments, calls
//! one function of a module, and prints the result as text or, with `--json`,
//! as JSON. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.
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
mod command_line;
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
mod output;
mod proxy_config;
mod registry;
mod reload;
mod reload_command;
mod reload_losses;
mod robots_txt;
mod robots_txt_warnings;
mod rule_warnings;
mod rules;
mod run;
mod serve;
mod site_robot;
mod summary;
mod suspects;
mod traffic;
mod traps;
mod validate;
mod verify;

use context::Cli;

pub use run::{command, main};
