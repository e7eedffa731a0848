//! `/robots.txt`: what is served on which host, and what is in force there.
//!
//! A [`RobotsTxtPlan`] says where the file of each host comes from: the upstream
//! or the application itself, a file, [`RobotsTxtRules`], or these merged over the
//! upstream's. [`ServedRobotsTxt`] keeps the answers ready and the rules in force.
//!
//! `robots_txt.file` is read at the start and at each reload, not when it changes.
//!
//! A merge refuses what one of the two files refuses. It leaves out the upstream's
//! comments, and its `Host` lines where we name a main mirror. Files too large to
//! be merged are not served one without the other: what either refuses is refused
//! then, and no `Allow` counts. A copy from an earlier day would not do in its
//! place, for it could let through what is refused by now.
//!
//! Until the upstream has first answered, a file to be merged is answered with 503
//! and `Retry-After`, so that robots hold back (RFC 9309 §2.3.1.4) and keep nothing
//! that says too little; ours alone are in force meanwhile. Once it is known, the
//! last good copy stays through failures.

mod answer;
mod closing;
mod host_file;
mod merged_file;
mod plan;
mod rules;
mod served;
mod upstream;

pub use answer::{PreparedFile, knows_tag};
pub use plan::{RobotsTxtContent, RobotsTxtPlan};
pub use rules::{RobotsTxtRules, WrongRule, split_usage};
pub use served::{COMMAND_WAIT, START_WAIT, ServedRobotsTxt};
pub use upstream::LIMITS;
