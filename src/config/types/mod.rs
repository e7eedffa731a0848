//! Types of settings: types from other modules, and types used only in the configuration.

mod addresses;
mod robot;
mod texts;
mod words;

pub use addresses::{Asn, Networks, ProxyNetworks, Resolver, SiteUrl, StartingPoint, UnixMode};
pub use robot::{Depth, FormFields, HostRobots, RobotLines};
pub use texts::Schedule;
pub use texts::{DatabaseUrl, Lines, LogFilter, OwnPath, RegistryUrl, Verbatim};
pub use words::{
    FailMode, HeavenSource, Mode, OpenTo, ParityAction, QueryNames, RobotsTxtSource, SuspectAction,
    TrainingTerms, Visitors,
};
