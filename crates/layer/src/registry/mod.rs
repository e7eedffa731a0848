//! Known robots, with import and export of registries.
//!
//! A registry is read from bytes in one of several [`Format`]s, and consists of [`Robot`]s with
//! [`Pattern`]s derived from their User-Agents. The functions do no I/O. A single invalid record
//! does not make the whole input fail: unusable records are reported alongside the usable robots.
//!
//! # Flat file
//!
//! The Web Robots Database publishes records of `robot-…: value` lines, separated by blank lines.
//! The parser repairs the damage that copies of the file have accumulated over twenty years: line
//! endings, encodings, entities, joined fields, missing IDs. The following fields are used:
//!
//! | field | becomes |
//! | --- | --- |
//! | `robot-id` | [`Robot::id`]; spaces and invalid characters become `-` |
//! | `robot-name` | [`Robot::name`] |
//! | `robot-details-url` | [`Robot::details_url`], if the URL is `http:` or `https:` |
//! | `robot-useragent`, `robot-useragent2`, … | [`Robot::useragent`] and [`Robot::patterns`] |
//! | `robot-exclusion` | [`Robot::exclusion`] |
//! | `robot-exclusion-useragent` | [`Robot::product_token`] |
//! | `robot-purpose` | [`Robot::purpose`]: the first known word; `indexing` is search |
//!
//! The following fields are additions of this project, for the bundled registry and for exports:
//!
//! | field | becomes |
//! | --- | --- |
//! | `robot-useragent-kind`, `robot-useragent-kind2`, … | pattern kind of the User-Agent with the same number, which is then used unchanged |
//! | `robot-pattern`, `robot-pattern2`, … | one pattern (kind and text), instead of the patterns derived from the User-Agent |
//! | `robot-operator` | [`Robot::operator`] |
//! | `robot-owner-name` | [`Robot::operator`], for bundled and manual robots only |
//! | `robot-host`, `robot-ranges-url` | [`Robot::host_suffixes`], [`Robot::ranges_url`], for bundled and manual robots only |
//! | `robot-proofs` | [`Robot::has_partial_proofs`], for bundled and manual robots only |
//! | `robot-signature-agent` | [`Robot::signature_agents`], for bundled and manual robots only |
//! | `robot-evidence` | [`Robot::evidence`], for bundled and manual robots only |
//! | `robot-checked` | [`Robot::checked`], for bundled and manual robots only |
//!
//! A field may contain at most 2,048 bytes, and a file at most 50,000 robots.
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
mod truncation;
mod useragent;

pub use bundled::bundled;
#[doc(hidden)]
pub use by_hand::{InputError, RobotInput};
#[cfg(feature = "formats")]
pub use export::ExportFormat;
#[cfg(feature = "formats")]
#[doc(hidden)]
pub use export::{
    Exported, Expression, OmittedRobot, write_haproxy, write_list, write_nginx, write_robots_txt,
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
pub use text::is_invisible;
#[doc(hidden)]
pub use truncation::{ends_mid_line, missing_last_fields};
#[doc(hidden)]
pub use useragent::{NoPattern, normalise};
