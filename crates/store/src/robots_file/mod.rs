//! The `/robots.txt` of each host, as served and as enforced.
//!
//! A [`RobotsTxtPlan`] specifies the origin of each host's file: the upstream or the application, a
//! file, [`RobotsTxtRules`], or such rules merged into the upstream's file. [`ServedRobotsTxt`]
//! holds the prepared responses and the enforced rules.
//!
//! The file specified by `robots_txt.file` is read at start and at each reload, not when it
//! changes.
//!
//! A merged file disallows everything that either of the two files disallows. Comments in the
//! upstream's file are omitted, as are its `Host` lines if a main mirror is configured. If the
//! files are too large to be merged, all `Disallow` rules and no `Allow` rules apply. An older copy
//! is not used instead, as it might allow a path that has since been disallowed.
//!
//! Until the upstream's file has been fetched, requests for a merged file get a 503 response with
//! `Retry-After`, so that robots stay away (RFC 9309 §2.3.1.4); in the meantime, only our rules are
//! enforced. If a later fetch fails, the last good copy remains in use.

mod answer;
mod disallowed_paths;
mod host_file;
mod merged_file;
mod plan;
mod rules;
mod served;
mod upstream;

pub use answer::{PreparedFile, matches_etag};
pub use merged_file::lint;
pub use plan::{RobotsTxtContent, RobotsTxtPlan};
pub use rules::{InvalidRule, RobotsTxtRules, split_usage};
pub use served::{COMMAND_WAIT, START_WAIT, ServedRobotsTxt};
pub use upstream::LIMITS;
