//! Parser, matcher, linter and writer for the Robots Exclusion Protocol (robots.txt).
//!
//! A [`RobotsTxt`] is parsed once, from any octets, and queried for many robots. The file is parsed
//! in a [`Dialect`], which is RFC 9309 by default. A [`Permission`] always includes its reason: the
//! deciding rule with its group and line.
//!
//! # Differences between the specifications
//!
//! - Geoportal's documentation specifies that the first match wins (dialect `geoportal`), but its
//!   program uses the longest match (dialect `geoportal-longest`). Unlike in other dialects, the
//!   general section applies after the robot's own section.
//! - According to HTTP: The Definitive Guide, a rule without a path matches everything, so
//!   `Disallow:` disallows everything; in the standards of 1994 and 1996 it allows everything. The
//!   dialect `tdg` follows the book, and the dialect `v1` follows the standards.
//! - In dialects that predate RFC 9309, a `User-agent` line applies to a robot if the line's value
//!   is part of the robot's name, not the other way around.
//! - RFC 9309 (dialect `rfc9309`) and Google's own parser (dialect `google`) handle escapes, typos
//!   and /robots.txt itself differently.
//! - Yandex no longer uses `Host` and `Crawl-delay`: the dialect `yandex` returns their values
//!   without applying them, and `yandex2003` applies `Host` as proposed in 2003.
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
//! let rule = permission.rule().expect("a disallowing rule");
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
mod policy;
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
pub use lines::{MAX_FILE_BYTES, parsed_part};
#[doc(hidden)]
pub use lint::nearest;
pub use lint::{Warning, WarningKind};
pub use merge::{MergedFile, merge, refusals};
pub use permission::{Permission, Rule};
pub use policy::{PolicyToken, dropped_label};
pub use preferences::{UseLine, preference_list};
pub use request_rate::RequestRate;
pub use robot::RobotRules;
