//! Types of settings: those of other modules, and those that only the configuration uses.

mod addresses;
mod robot;
mod texts;
mod words;

pub use addresses::{Asn, Networks, ProxyNetworks, Resolver, SiteUrl, StartingPoint, UnixMode};
pub use robot::{Depth, FormFields, HostRobots, RobotLines};
pub use texts::Schedule;
pub use texts::{DatabaseUrl, Lines, LogFilter, OwnPath, RegistryUrl, Verbatim};
pub use words::{
    FailMode, HeavenSource, Mode, OpenTo, ParityAction, RobotsTxtSource, SuspectAction, Visitors,
};
