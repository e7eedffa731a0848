//! The site robot, which crawls a site politely and generates resource descriptions.
//!
//! A [`SiteRobot`] starts at its starting points and follows links up to a maximum depth, within
//! the configured hosts and paths. The scope, robots.txt and filters determine which pages it
//! visits. The generation filter, `X-Robots-Tag` and META tags determine which pages it describes.
//! The frontier (the known URLs) is stored in the database, so that an interrupted run can be
//! resumed, several instances can share a run, and the next run requests only changes. The results
//! are published at the end of a run. A page that opts out (`noindex`, robots.txt, 410) is then
//! hidden, a missing page loses its description, and a page that does not respond keeps its
//! description. If many pages would be removed, or if a login page is returned instead of pages,
//! the results are held for review.
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
mod waiting_body;

pub use builder::SiteRobotBuilder;
pub use conf::{
    ConfigFiles, KEYS as ROBOT_KEYS, OnCompletion, Password, RobotConf, RobotConfFile,
    RobotConfRow, RobotKey, RobotKeyKind,
};
pub use effects::{Effect, effect};
#[doc(hidden)]
pub use ending::{PublishConditions, PublishPermission};
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
