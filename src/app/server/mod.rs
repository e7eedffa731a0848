//! The server that runs from a configuration, with its sites, its own pages, and reloads.
//!
//! Contains all parts of `app` that need the feature `server`. A handle stores its server state in
//! [`ServerParts`], which is empty in builds without the feature.

mod answerers;
mod assemble;
mod check_service;
mod claim_prover;
mod demo;
mod destination;
mod exposition;
mod handle;
mod listener_metrics;
mod made_pages;
mod operations;
mod pages;
mod people;
mod plan;
mod process_metrics;
mod process_services;
mod reload;
mod request_metrics;
#[expect(
    clippy::module_inception,
    reason = "the submodule is named after the type that it defines"
)]
mod server;
mod server_body;
mod server_service;
mod serving;
mod site_robots;
mod site_router;
mod table;

pub(crate) use crate::assembly::configured_robots_txt;
pub use crate::assembly::{
    active_robots_txt, alerts, enforcement, policy, robots_txt, sources, wanted_origins,
};
pub use crate::site_robots::{
    Disparity, Excess, Handover, HandoverState, Parity, ParityPass, Programs, PublishedFiles,
    RunResult, SiteRobotChanges, SiteRobotRuns, SiteRobotSettings, heaven_use, site_robots,
};
pub(crate) use answerers::SiteAnswers;
pub use assemble::assemble;
pub use claim_prover::ClaimProver;
pub use claim_prover::verification;
pub(super) use handle::{ServerParts, Started};
pub use plan::SiteIndex;
pub use reload::{Reloaded, reload};
pub(crate) use server::OPERATION;
pub use server::{Server, ServerSettings};

use super::{
    RobotDetection, RobotDetectionBuilder, ServedRobotsTxt, Site, Verification,
    handle::Inner,
    site::{Common, Detection},
    verification::Proving,
};
