//! Distinguishes robots from people on the way into a web site.
//!
//! A Tower layer matches the `User-Agent` header of each request against a registry of robots and
//! redirects requests for configured paths to *robot heaven*: pages made for robots. The registry
//! is downloaded and reparsed on a schedule, stored in SQLite or PostgreSQL, and served from
//! memory. The same engine runs in a reverse proxy and behind the administrator's pages.
//!
//! With `default-features = false, features = ["layer"]` only the layer and
//! the detector are built.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "admin")]
pub mod app;
#[cfg(feature = "server")]
mod assembly;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod config;
#[cfg(feature = "server")]
mod observe;
#[cfg(feature = "server")]
mod site_robots;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod telemetry;

#[cfg(feature = "server")]
use robot_detection_check::{check, probe};
#[cfg(feature = "admin")]
#[doc(no_inline)]
pub use robot_detection_console as admin;
#[cfg(feature = "proxy")]
#[doc(no_inline)]
pub use robot_detection_http::{listen, proxy};
#[doc(no_inline)]
pub use robot_detection_layer::{clock, detect, layer, policy, registry, suspect};
#[cfg(feature = "admin")]
#[doc(hidden)]
pub use robot_detection_operations as operations;
#[cfg(feature = "admin")]
#[doc(no_inline)]
pub use robot_detection_operations::live_rules;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use robot_detection_operations::{alerts, bans};
#[doc(no_inline)]
pub use robot_detection_robots_txt as robots_txt;
#[cfg(feature = "site-robot")]
#[doc(no_inline)]
pub use robot_detection_site_robot::{
    content_tree, document, filter, heaven, licensing, render, site_robot,
};
#[cfg(feature = "server")]
use robot_detection_store::confirmation;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use robot_detection_store::origins;
#[cfg(feature = "store")]
#[doc(no_inline)]
pub use robot_detection_store::{description, fetch, refresh, robots_file, store, verify};
#[cfg(feature = "admin")]
use robot_detection_store::{instances, pace};

#[cfg(feature = "access-log")]
#[doc(no_inline)]
pub use robot_detection_traffic::access_log;
#[cfg(feature = "server")]
use robot_detection_traffic::{canonical, log_report, summary, traps};
#[cfg(feature = "admin")]
use robot_detection_traffic::{suspicion, traffic};

#[cfg(feature = "admin")]
#[doc(inline)]
pub use app::RobotDetection;
#[doc(inline)]
pub use robot_detection_layer::layer::{Identification, RobotDetectionLayer};
#[doc(inline)]
pub use robot_detection_robots_txt::{Dialect, RobotsTxt};

/// Code examples from the README and the book, which are run as tests.
#[cfg(all(doctest, feature = "server"))]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/src/layer.md")]
    struct Layer;
    #[doc = include_str!("../docs/src/robots-txt.md")]
    struct RobotsTxtTools;
}
