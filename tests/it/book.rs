//! README and book: their code works, their links resolve, their reference is generated.
//!
//! A comment before a code block describes the block:
//!
//! - `<!-- file: NAME -->`: the block is that file for later commands on the page;
//! - `<!-- not run: WHY -->`: the commands are parsed but not run;
//! - `<!-- run by: MODULE::TEST -->`: that test runs the commands;
//! - `<!-- exit code: N, WHY -->`: the commands exit with that code instead of 0;
//! - `<!-- needs the feature NAME -->`: the configuration is for programs built with the feature.
//!
//! All other `sh` blocks are run, page by page in a separate directory without a network. A `text`
//! block directly after one shows lines of its output; `…` stands for omitted lines.

mod commands;
mod configuration;
mod links;
mod page;
mod reference;
mod shell;
mod shown;
mod tested;

pub(crate) use shown::DocumentedRequest;
