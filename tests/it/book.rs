//! README and book: their code does what they say, their links lead somewhere, their reference is made.
//!
//! A comment before a block of code says what is special about it:
//!
//! - `<!-- file: NAME -->`: the block is that file for the commands behind it on the page;
//! - `<!-- not run: WHY -->`: its commands are parsed and not run;
//! - `<!-- run by: ROOM::TEST -->`: that test runs them;
//! - `<!-- exit code: N, WHY -->`: they end with it, in place of 0;
//! - `<!-- needs the feature NAME -->`: the configuration is for programs built with it.
//!
//! All other `sh` blocks are run, page by page in a directory of its own, without a network. A `text`
//! block at once behind one shows lines of what it prints; `…` stands for any that are left out.

mod commands;
mod configuration;
mod links;
mod page;
mod reference;
mod shell;
mod shown;
mod tested;

pub(crate) use shown::Shown;
