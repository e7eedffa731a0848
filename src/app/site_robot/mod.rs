//! The site robots of a configuration: made, run, published, and kept to their schedule.

mod login;
mod made;
mod parity;
mod programs;
mod publication;
mod robot_conf;
mod run;
mod schedule;
mod settings;
mod when;

pub use made::SiteRobotRuns;
pub use parity::{Disparity, Parity};
pub use programs::Programs;
pub use run::Ran;
pub use settings::{SiteRobotChanges, SiteRobotSettings, site_robots};

pub(super) use schedule::Schedules;
pub(super) use settings::logs_in;
