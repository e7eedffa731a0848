//! Robots: what is known of them, and how it is read.
//!
//! A registry arrives as bytes in one of several [`Format`]s and leaves as
//! [`Robot`]s whose useragent has been turned into [`Pattern`]s. Nothing here
//! does I/O, and no input makes it fail as a whole: what cannot be used is
//! reported beside what can.
//!
//! # Flat file
//!
//! The Web Robots Database publishes records of `robot-…: value` lines, apart
//! by blank lines. Everything that its copies got wrong in twenty years is read
//! as it was meant: line ends, encodings, entities, fields glued together,
//! missing ids. Of its fields these are kept:
//!
//! | field | becomes |
//! | --- | --- |
//! | `robot-id` | [`Robot::id`]; blanks and odd characters become `-` |
//! | `robot-name` | [`Robot::name`] |
//! | `robot-details-url` | [`Robot::details_url`], if it is `http:` or `https:` |
//! | `robot-useragent`, `robot-useragent2`, … | [`Robot::useragent`] and [`Robot::patterns`] |
//! | `robot-exclusion` | [`Robot::exclusion`] |
//! | `robot-exclusion-useragent` | [`Robot::product_token`] |
//! | `robot-purpose` | [`Robot::purpose`]: the first known word; `indexing` is search |
//!
//! and these are ours, for the bundled registry and for exports:
//!
//! | field | becomes |
//! | --- | --- |
//! | `robot-useragent-kind`, `robot-useragent-kind2`, … | the kind of the useragent of that number, compared as it stands |
//! | `robot-pattern`, `robot-pattern2`, … | one pattern, kind and text, in place of those made of the useragent |
//! | `robot-operator` | [`Robot::operator`] |
//! | `robot-owner-name` | [`Robot::operator`], of bundled and manual robots only |
//! | `robot-host`, `robot-ranges-url` | [`Robot::host_suffixes`], [`Robot::ranges_url`], of bundled and manual robots only |
//! | `robot-signature-agent` | [`Robot::signature_agents`], of bundled and manual robots only |
//! | `robot-evidence` | [`Robot::evidence`], of bundled and manual robots only |
//! | `robot-checked` | [`Robot::checked`], of bundled and manual robots only |
//!
//! A kept field holds at most 2,048 bytes, a file at most 50,000 robots.
//!
//! # Example
//!
//! ```
//! use robot_detection_layer::registry::{Format, Source, parse};
//!
//! let file = b"robot-id: acmebot\nrobot-name: Acme Robot\nrobot-useragent: AcmeBot/x.x\n";
//! let parsed = parse(Format::WebRobotsDb, file, &Source::web_robots_db())?;
//! assert_eq!(parsed.robots[0].name, "Acme Robot");
//! assert_eq!(parsed.robots[0].patterns[0].text, "AcmeBot");
//! # Ok::<(), robot_detection_layer::registry::ParseError>(())
//! ```

mod bundled;
mod by_hand;
mod collect;
mod cut_off;
#[cfg(feature = "formats")]
mod export;
#[cfg(feature = "verify")]
mod fixed_map;
mod flat_file;
mod format;
mod import;
mod parse;
mod pattern;
mod product_token;
mod proofs;
mod purpose;
mod regex;
mod robot;
mod text;
mod useragent;

pub use bundled::bundled;
#[doc(hidden)]
pub use by_hand::{TypedError, TypedRobot};
#[doc(hidden)]
pub use cut_off::{is_open_ended, missing_at_the_end};
#[cfg(feature = "formats")]
pub use export::ExportFormat;
#[cfg(feature = "formats")]
#[doc(hidden)]
pub use export::{
    Exported, Expression, OmittedRobot, write_ai_robots_txt, write_crawler_user_agents,
    write_haproxy, write_list, write_matomo, write_nginx, write_robots_txt,
};
#[cfg(feature = "verify")]
#[doc(hidden)]
pub use fixed_map::{FixedMap, KeyHash};
#[doc(hidden)]
pub use flat_file::write_flat_file;
pub use format::Format;
pub use parse::{ParseError, parse};
#[doc(hidden)]
pub use parse::{Parsed, Skipped};
pub use pattern::Pattern;
#[doc(hidden)]
pub use pattern::{InvalidPattern, PatternKind};
#[doc(hidden)]
pub use product_token::{NoProductToken, ProductToken};
#[cfg(feature = "verify")]
#[doc(hidden)]
pub use proofs::is_public_suffix;
pub use purpose::Purpose;
#[doc(hidden)]
pub use regex::compile_regex;
#[doc(hidden)]
pub use robot::{Exclusion, InvalidSource};
pub use robot::{Robot, Source, Status};
#[doc(hidden)]
pub use useragent::{NoPattern, normalise};
