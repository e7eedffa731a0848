//! Combines the modules into a handle for applications and a server for all other sites.
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
mod application;
mod builder;
mod database;
mod handle;
#[cfg(feature = "server")]
mod server;
#[cfg(not(feature = "server"))]
#[path = "no_server.rs"]
mod server;
mod site;
mod verification;

#[doc(hidden)]
pub use crate::robots_file::InvalidRule;
pub use crate::robots_file::{RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules, ServedRobotsTxt};
pub use crate::traffic::{
    EvidenceSettings, Traffic, TrafficBody, TrafficFuture, TrafficLayer, TrafficService,
};
#[cfg(feature = "server")]
pub(crate) use admin_pages::FirstPassword;
pub use builder::{BuildError, RobotDetectionBuilder};
pub use handle::RobotDetection;
#[cfg(feature = "server")]
pub use server::Server;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use server::{
    ClaimProver, Disparity, Excess, Handover, HandoverState, Parity, ParityPass, Programs,
    PublishedFiles, Reloaded, RunResult, ServerSettings, SiteIndex, SiteRobotChanges,
    SiteRobotRuns, SiteRobotSettings, active_robots_txt, alerts, assemble, enforcement, heaven_use,
    policy, reload, robots_txt, site_robots, sources, verification, wanted_origins,
};
#[cfg(feature = "server")]
pub(crate) use server::{OPERATION, SiteAnswers, configured_robots_txt};
pub use site::Site;
pub use site::SiteBuilder;
pub use verification::Verification;
