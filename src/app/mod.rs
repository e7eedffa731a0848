//! Puts the rooms together: a handle for applications, a server for every other site.
//!
//! # Example
//!
//! ```no_run
//! use robot_detection::RobotDetection;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let robots = RobotDetection::builder()
//!     .filter_patterns(["/members-only-stuff/*"])
//!     .redirect_url("/robot-heaven/")
//!     .build()
//!     .await?;
//! let site: axum::Router = axum::Router::new()
//!     .nest_service("/robot-detection/admin", robots.admin_router()) // asks for a password
//!     .layer(robots.layer());
//! // … serve `site`, then:
//! robots.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod admin_pages;
#[cfg(feature = "server")]
mod alerts;
#[cfg(feature = "server")]
mod answerers;
#[cfg(feature = "server")]
mod assemble;
mod builder;
mod database;
#[cfg(feature = "server")]
mod demo;
#[cfg(feature = "server")]
mod exposition;
mod handle;
#[cfg(feature = "server")]
mod listener_metrics;
#[cfg(feature = "server")]
mod made_pages;
#[cfg(feature = "server")]
mod operations;
#[cfg(feature = "server")]
mod pages;
#[cfg(feature = "server")]
mod plan;
#[cfg(feature = "server")]
mod process_services;
#[cfg(feature = "server")]
mod reload;
#[cfg(feature = "server")]
mod request_metrics;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod server_body;
#[cfg(feature = "server")]
mod server_service;
#[cfg(feature = "server")]
mod serving;
mod site;
mod site_builder;
#[cfg(feature = "server")]
mod site_robots;
#[cfg(feature = "server")]
mod site_router;
#[cfg(feature = "server")]
mod table;
#[cfg(feature = "server")]
mod target;
mod verification;

#[cfg(feature = "server")]
pub(crate) use crate::assembly::robots_txt_of_settings;
#[cfg(feature = "server")]
pub use crate::assembly::{alerts, enforcement, policy, robots_txt, robots_txt_in_force, sources};
pub use crate::robots_file::{
    RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules, ServedRobotsTxt, WrongRule,
};
#[cfg(feature = "server")]
pub use crate::site_robots::{
    Disparity, Handed, Handover, Parity, Programs, PublishedFiles, Ran, SiteRobotChanges,
    SiteRobotRuns, SiteRobotSettings, heaven_use, site_robots,
};
pub use crate::traffic::{TrafficBody, TrafficFuture, TrafficLayer, TrafficService};
#[cfg(feature = "server")]
pub(crate) use answerers::SiteAnswers;
#[cfg(feature = "server")]
pub use assemble::assemble;
pub use builder::{BuildError, RobotDetectionBuilder};
pub use handle::RobotDetection;
#[cfg(feature = "server")]
pub use plan::SiteIndex;
#[cfg(feature = "server")]
pub use reload::{Reloaded, reload};
#[cfg(feature = "server")]
pub use server::{Server, ServerSettings};
pub use site::Site;
pub use site_builder::SiteBuilder;
pub use verification::Verification;
#[cfg(feature = "server")]
pub use verification::{ClaimProver, verification};
