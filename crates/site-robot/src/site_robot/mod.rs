//! Our own polite robot: enumerates a site and generates resource descriptions.
//!
//! A [`SiteRobot`] begins at its starting points and follows links, as deep as
//! it is told, within the hosts and paths that were asked for. What it may visit
//! is decided by scope, robots.txt and filters; what it describes by the
//! generation filter, `X-Robots-Tag` and META tags. Its frontier is in the
//! database: a run that was cut off goes on where it was, several instances share
//! one, and the next run asks only for what has changed. What it brings is in force
//! when it has ended. A page that says so (`noindex`, robots.txt, 410) is hidden then, one
//! that is seen to be gone loses its description, one that does not answer keeps it;
//! where much would go, or a login answers, the results are held back.
//!
//! # Example
//!
//! ```no_run
//! use robot_detection_site_robot::site_robot::{SiteRobot, source::{HttpSettings, HttpSource}};
//! use robot_detection_store::store::Store;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::connect("sqlite://robot-detection.db").await?;
//! let source = HttpSource::new(HttpSettings::default())?;
//! let robot = SiteRobot::builder("docs", store, source)
//!     .start("http://www.example.com/docs/", Some(10))
//!     .build()?;
//! let summary = robot.run().await?;
//! println!("{} pages described", summary.counts.added);
//! # Ok(())
//! # }
//! ```

mod aside;
mod builder;
mod claiming;
mod conf;
mod effects;
mod ending;
mod error;
mod explain;
mod fetched_page;
mod finished_visit;
mod freshness;
mod hosts;
mod judge;
mod known_links;
mod links;
mod lists;
mod losses;
mod new_location;
mod orders;
mod outcome;
mod page_result;
mod pending;
mod preference;
mod probe;
mod process;
mod progress;
mod readers;
mod recheck;
mod rejection;
mod rendering;
mod repeats;
mod robots;
mod robots_copy;
mod run;
mod run_loop;
mod scope;
mod seen_urls;
mod settings;
mod site_robot_handle;
pub mod source;
mod starts;
mod tally;
mod traps;
mod visit;
mod visitor;

pub use builder::SiteRobotBuilder;
pub use conf::{
    ConfigFiles, KEYS as ROBOT_KEYS, OnCompletion, Password, RobotConf, RobotConfFile,
    RobotConfRow, RobotKey, RobotKeyKind,
};
pub use effects::{Effect, effect};
#[doc(hidden)]
pub use ending::{MayPublish, PublishTerms};
pub use error::SiteRobotError;
pub use explain::{ExplainedStep, Explanation};
#[doc(hidden)]
pub use links::move_to_site;
#[doc(hidden)]
pub use preference::canonical;
#[doc(hidden)]
pub use process::{has_ended, holder_name};
#[doc(hidden)]
pub use progress::is_large_share;
pub use progress::{HostProgress, Progress, RobotState, Summary};
pub use rejection::{Rejection, Step};
pub use settings::Rendering;
pub use site_robot_handle::{Handle, OnEnd, SiteRobot};
pub use traps::{QueryVariants, Trap, TrapLimits, trap};
