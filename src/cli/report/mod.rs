//! `report`: shows who visits a site, from access logs or from the traffic counted by servers.
//!
//! All sources fill the same tables, which are printed as text, JSON, CSV or HTML.

mod args;
mod database;
mod logs;
mod proofs;
mod section;
mod sections;

pub(super) use args::ReportArgs;
pub(super) use logs::run;
