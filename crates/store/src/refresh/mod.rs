//! Download, parse, compare and publish the registry.
//!
//! A [`Refresher`] holds the configured sources. One refresh of a source:
//!
//! 1. takes the source's lease, so that one instance of a fleet does the work;
//! 2. reads the source, an `http:` or `https:` URL, a `file:` URL or a path,
//!    asking the server only for what changed;
//! 3. unpacks gzip, refuses pages, binary and oversized data, then parses;
//! 4. tests every pattern against browsers, and quarantines what hits one;
//! 5. holds back what looks cut off, has fewer than ten robots, or loses more than a tenth
//!    of those before, until a person accepts it (or forces the refresh);
//! 6. builds a detector of all sources, so that no set gets in that cannot serve;
//! 7. replaces the source's rows in one transaction and publishes the detector.
//!
//! Whatever fails on the way leaves rows, detector and source state as they
//! were; the history keeps the reason, and [`Refresher::standing_failure`]
//! tells it until the next success.
//!
//! # Example
//!
//! ```no_run
//! use robot_detection_layer::{clock::Clock, detect::SharedDetector, registry::{Format, Source}};
//! use robot_detection_store::{
//!     fetch::{FetchLimits, Fetcher},
//!     refresh::{RefreshOptions, Refresher, SourceSpec, Trigger},
//!     store::Store,
//! };
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sources = vec![SourceSpec {
//!     source: Source::web_robots_db(),
//!     url: "http://www.robotstxt.org/db/all.txt".to_owned(),
//!     format: Format::WebRobotsDb,
//!     interval_days: 30,
//! }];
//! let store = Store::connect("sqlite://robot-detection.db").await?;
//! let fetcher = Fetcher::new(FetchLimits::default())?;
//! let detector = SharedDetector::default();
//! let refresher = Refresher::new(store, fetcher, detector, Clock::system(), sources);
//! refresher.prepare(true).await?;
//! let source = Source::web_robots_db();
//! let record = refresher
//!     .refresh(&source, Trigger::Command, RefreshOptions::default())
//!     .await?;
//! println!("{} robots came", record.added);
//! # Ok(())
//! # }
//! ```

mod attempt;
mod candidate;
mod due;
mod fingerprint;
mod follow;
mod history;
mod judge;
mod prepare;
mod publish;
mod record;
mod refresher;
mod report;
mod schedule;
mod shared;
mod spec;

pub use prepare::RefreshError;
pub use refresher::Refresher;
pub use report::Progress;
pub use spec::{RefreshOptions, SourceSpec, Trigger};
