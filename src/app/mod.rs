//! Puts the rooms together: a handle for applications, a server for every other site.
//!
//! # Example
//!
//! ```no_run
//! use robot_detection::app::RobotDetection;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let robots = RobotDetection::builder()
//!     .filter_patterns(["/members-only-stuff/*"])
//!     .redirect_url("/robot-heaven/")
//!     .build()
//!     .await?;
//! let site: axum::Router = axum::Router::new()
//!     .nest_service("/robot-detection/admin", robots.admin_router())
//!     .layer(robots.layer());
//! // … serve `site`, then:
//! robots.shutdown().await;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "server")]
mod assemble;
mod builder;
#[cfg(feature = "server")]
mod enforcement;
#[cfg(feature = "server")]
mod front;
mod handle;
#[cfg(feature = "server")]
mod operations;
#[cfg(feature = "server")]
mod pages;
mod robots_txt;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use assemble::{assemble, policy, reload, sources};
pub use builder::{BuildError, RobotDetectionBuilder};
#[cfg(feature = "server")]
pub use enforcement::enforcement;
pub use handle::RobotDetection;
pub use robots_txt::{RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules, ServedRobotsTxt, WrongRule};
#[cfg(feature = "server")]
pub use robots_txt::{robots_txt, robots_txt_in_force};
#[cfg(feature = "server")]
pub use server::{Server, ServerSettings};
