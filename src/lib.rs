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

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "access-log")]
pub mod access_log;
#[cfg(feature = "admin")]
pub mod admin;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod alerts;
#[cfg(feature = "admin")]
pub mod app;
#[cfg(feature = "server")]
mod assembly;
#[cfg(feature = "server")]
mod bans;
#[cfg(feature = "server")]
mod canonical;
#[cfg(feature = "server")]
mod check;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod config;
#[cfg(feature = "server")]
mod index_now;
#[cfg(feature = "admin")]
mod instances;
#[cfg(feature = "admin")]
pub mod licensing;
#[cfg(feature = "admin")]
pub mod live_rules;
#[cfg(feature = "server")]
mod observe;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod origins;
#[cfg(feature = "admin")]
mod own_robot;
#[cfg(feature = "admin")]
mod pace;
#[cfg(feature = "server")]
mod probe;
#[cfg(feature = "admin")]
pub mod robots_file;
#[cfg(feature = "server")]
mod site_robots;
#[cfg(feature = "admin")]
mod summary;
#[cfg(feature = "admin")]
#[cfg_attr(
    not(feature = "server"),
    expect(dead_code, reason = "the server alone hands requests over")
)]
mod suspicion;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod telemetry;
#[cfg(feature = "admin")]
#[cfg_attr(
    not(feature = "server"),
    expect(
        dead_code,
        reason = "what was counted since the start is read by `/metrics` alone"
    )
)]
mod traffic;
#[cfg(feature = "server")]
mod traps;

#[cfg(feature = "server")]
mod way_out;

#[cfg(feature = "proxy")]
#[doc(no_inline)]
pub use robot_detection_http::{listen, proxy};
#[doc(no_inline)]
pub use robot_detection_layer::{clock, detect, layer, policy, registry, suspect};
#[doc(no_inline)]
pub use robot_detection_robots_txt as robots_txt;
#[cfg(feature = "site-robot")]
#[doc(no_inline)]
pub use robot_detection_site_robot::{document, filter, heaven, matter, render, site_robot};
#[cfg(feature = "store")]
#[doc(no_inline)]
pub use robot_detection_store::{description, fetch, refresh, store, verify};

#[cfg(feature = "admin")]
#[doc(inline)]
pub use app::RobotDetection;
#[doc(inline)]
pub use robot_detection_layer::layer::{Identification, RobotDetectionLayer};
#[doc(inline)]
pub use robot_detection_robots_txt::{Dialect, RobotsTxt};

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
