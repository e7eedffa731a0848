//! The site robots of a configuration: their creation, runs, publications and schedules.

mod handover;
mod heaven_use;
mod made;
mod orders;
mod own_hosts;
mod parity;
mod parity_pass;
mod programs;
mod public_url;
mod run;
mod schedule;
mod settings;
mod starts;

pub use handover::{Handover, HandoverState};
pub use heaven_use::heaven_use;
pub use made::SiteRobotRuns;
pub use parity::{Disparity, Parity};
pub use parity_pass::{Excess, ParityPass};
pub use programs::Programs;
pub use run::{PublishedFiles, RunResult};
pub use settings::{SiteRobotChanges, SiteRobotSettings, site_robots};

pub(crate) use orders::{HeavenReload, Orders};
pub(crate) use schedule::Schedules;
