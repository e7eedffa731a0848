//! Downloads, parses, compares and publishes the robot registry.
//!
//! A [`Refresher`] manages the configured sources. Each refresh of a source:
//!
//! 1. acquires the source's lease, so that only one instance refreshes the source;
//! 2. downloads the source, an `http:` or `https:` URL, a `file:` URL or a path, if it has changed;
//! 3. decompresses gzip, rejects web pages, binary and oversized data, then parses the document;
//! 4. tests every pattern against browsers, and quarantines robots that match a browser;
//! 5. holds a document for review if it looks truncated, has fewer than ten robots, or loses more
//!    than a tenth of them, until an administrator accepts it (or forces the refresh);
//! 6. builds a detector from the robots of all sources, to verify that they are usable;
//! 7. replaces the source's rows in one transaction and publishes the detector.
//!
//! If any step fails, the rows, the detector and the source state remain unchanged. The history
//! records the reason, and [`Refresher::standing_failure`] returns this reason until the next
//! success.
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
//! println!("{} robots added", record.added);
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
