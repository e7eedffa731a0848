//! `heaven start`: from a site that is proxied to robots that read its heaven.
//!
//! What a heaven lacks stands in `plan`, which only decides; `trial` asks the site, `config_file`
//! writes, `proof` asks the server as a robot would.

mod config_file;
mod plan;
mod proof;
mod run;
mod trial;

pub(super) use run::{StartArgs, run};
