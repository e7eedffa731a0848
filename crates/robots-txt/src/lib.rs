//! The robots exclusion protocol: parse, ask, write.
//!
//! A [`RobotsTxt`] is parsed once, from any octets, and asked by many robots. It
//! is read in a [`Dialect`]: RFC 9309 unless another is chosen. A [`Permission`]
//! always says why: which rule of which group, and its line.
//!
//! # Where the documents disagree
//!
//! - Geoportal's page promises the first match, its program takes the longest:
//!   `geoportal` and `geoportal-longest`. Both look at the general section after
//!   the robot's own, as no other dialect does.
//! - HTTP: The Definitive Guide says that a rule without a path matches
//!   everything, so that `Disallow:` keeps everybody out; the standards of 1994
//!   and 1996 allow everything then. `tdg` follows the book, `v1` the standards.
//! - A `User-agent` line names a robot, in the dialects before RFC 9309, if it is
//!   a part of the robot's name, not the other way round.
//! - RFC 9309 and Google's own parser treat escapes, typos and /robots.txt itself
//!   differently: `rfc9309` and `google`.
//! - Yandex gave up `Host` and `Crawl-delay`: `yandex` keeps them as data,
//!   `yandex2003` acts on `Host` as proposed in 2003.
//!
//! # Example
//!
//! ```
//! use robot_detection_robots_txt::{Dialect, RobotsTxt};
//!
//! let text = b"User-agent: ExampleBot\nDisallow: /private\nAllow: /private/open\n";
//! let file = RobotsTxt::parse(text, Dialect::default());
//! let me = file.for_robot("ExampleBot");
//!
//! assert!(me.check("/private/open/a").allowed());
//! let permission = me.check("https://www.example.com/private/a");
//! assert!(!permission.allowed());
//! let rule = permission.rule().expect("a rule that refuses");
//! assert_eq!((rule.line(), rule.to_string()), (2, "Disallow: /private".to_owned()));
//! assert!(file.for_robot("OtherBot").check("/private/a").allowed());
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod cache;
mod dialect;
mod escapes;
mod field;
mod file;
mod freshness;
mod host;
mod http_date;
mod index;
mod lines;
mod lint;
mod merge;
pub mod meta;
mod names;
mod octets;
mod parsed;
mod pattern;
mod permission;
mod preferences;
mod prefix_tree;
mod presets;
mod request_rate;
mod resolve;
mod robot;
mod scan;
mod selection;
mod target;
mod wildcards;
mod write;
mod written;

pub use builder::{GroupBuilder, RobotsTxtBuilder};
pub use cache::{Access, RobotsCache};
pub use dialect::{
    AgentsEnd, CrawlDelay, Dialect, EmptyPath, Escapes, Grouping, HostUse, LineReading, Naming,
    RobotsTxtPath, StatusReading, UnknownDialect, Winner,
};
pub use file::{Group, RobotsTxt};
pub use freshness::fresh_until_ms;
#[doc(hidden)]
pub use lines::{MAX_FILE_BYTES, beginning};
#[doc(hidden)]
pub use lint::nearest;
pub use lint::{Warning, WarningKind};
pub use merge::{MergedFile, merge, refusals};
pub use permission::{Permission, Rule};
pub use preferences::preference_list;
pub use request_rate::RequestRate;
pub use robot::ForRobot;
