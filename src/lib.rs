//! Tells robots from people on the way into a web site.
//!
//! A Tower layer matches the `User-Agent` header of each request against a
//! registry of robots and redirects hits on configured paths to *robot
//! heaven*: pages made for robots. The registry is downloaded and reparsed on
//! a schedule, kept in SQLite or PostgreSQL, and served from memory. The same
//! engine stands in a reverse proxy and behind the administrator's pages.
//!
//! With `default-features = false, features = ["layer"]` only the layer and
//! the detector are built.

#[cfg(feature = "access-log")]
pub mod access_log;
#[cfg(feature = "admin")]
pub mod admin;
#[cfg(feature = "admin")]
pub mod app;
#[cfg(feature = "server")]
pub mod cli;
pub mod clock;
#[cfg(feature = "server")]
pub mod config;
pub mod description;
pub mod detect;
#[cfg(feature = "site-robot")]
pub mod document;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "site-robot")]
pub mod filter;
#[cfg(feature = "site-robot")]
pub mod heaven;
#[cfg(feature = "layer")]
pub mod layer;
#[cfg(feature = "proxy")]
pub mod listen;
pub mod policy;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(any(feature = "layer", feature = "proxy"))]
mod ready_head;
#[cfg(feature = "refresh")]
pub mod refresh;
pub mod registry;
pub mod robots_txt;
#[cfg(feature = "site-robot")]
pub mod site_robot;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "server")]
pub mod telemetry;
#[cfg(feature = "verify")]
pub mod verify;

/// The code of README and book, run as tests.
#[cfg(all(doctest, feature = "server"))]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/src/layer.md")]
    struct Layer;
    #[doc = include_str!("../docs/src/robots-txt.md")]
    struct RobotsTxtTools;
}
