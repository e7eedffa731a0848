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
mod answerers;
#[cfg(feature = "server")]
mod assemble;
#[cfg(feature = "server")]
mod behind;
#[cfg(feature = "server")]
mod body;
mod builder;
#[cfg(feature = "server")]
mod certificates;
mod database;
#[cfg(feature = "server")]
mod demo;
#[cfg(feature = "server")]
mod enforcement;
#[cfg(feature = "server")]
mod exposition;
#[cfg(feature = "server")]
mod front;
mod handle;
#[cfg(feature = "server")]
mod heaven_settings;
#[cfg(feature = "server")]
mod listener_metrics;
#[cfg(feature = "server")]
mod listeners;
#[cfg(feature = "server")]
mod made_pages;
#[cfg(feature = "server")]
mod operations;
mod own_robot;
#[cfg(feature = "server")]
mod pages;
#[cfg(feature = "server")]
mod plan;
#[cfg(feature = "server")]
mod reload;
#[cfg(feature = "server")]
mod robots_txt;
#[cfg(feature = "server")]
mod rules;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod serving;
#[cfg(feature = "server")]
mod signing;
mod site;
#[cfg(feature = "server")]
mod site_robot;
#[cfg(feature = "server")]
mod table;
#[cfg(feature = "server")]
mod target;
#[cfg(feature = "server")]
mod upstream;
mod verification;

pub use crate::robots_file::{
    RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules, ServedRobotsTxt, WrongRule,
};
#[cfg(feature = "server")]
pub(crate) use answerers::SiteAnswers;
#[cfg(feature = "server")]
pub use assemble::{assemble, policy, sources};
pub use builder::{BuildError, RobotDetectionBuilder};
#[cfg(feature = "server")]
pub use enforcement::enforcement;
pub use handle::RobotDetection;
#[cfg(feature = "server")]
pub use plan::SiteIndex;
#[cfg(feature = "server")]
pub use reload::{Reloaded, reload};
#[cfg(feature = "server")]
pub(crate) use robots_txt::robots_txt_of_settings;
#[cfg(feature = "server")]
pub use robots_txt::{robots_txt, robots_txt_in_force};
#[cfg(feature = "server")]
#[cfg(feature = "server")]
pub use server::{Server, ServerSettings};
pub use site::{Site, SiteBuilder};
#[cfg(feature = "server")]
pub use site_robot::{
    Disparity, Handed, Handover, Parity, Programs, PublishedFiles, Ran, SiteRobotChanges,
    SiteRobotRuns, SiteRobotSettings, heaven_use, site_robots,
};
pub use verification::Verification;
#[cfg(feature = "server")]
pub use verification::{ClaimProver, verification};
