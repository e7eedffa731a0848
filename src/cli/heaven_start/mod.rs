//! `heaven start`: sets up robot heaven for a proxied site.
//!
//! `plan` only decides which settings are missing; `trial` requests the site, `config_file` writes
//! the settings, and `proof` queries the server as a robot would.

mod config_file;
mod plan;
mod proof;
mod run;
mod trial;

pub(super) use run::{StartArgs, run};
