//! Every key outside of the tables that can stand several times.

mod canonical;
mod heaven;
mod index_now;
mod licensing;
mod operation;
mod places;
mod robots;
mod robots_txt;
mod server;
mod site_robot;
mod suspects;
mod traps;
mod verify;

use super::{Key, Kind, key::Reach};

pub use canonical::{CanonicalKeys, CanonicalSection};
pub use heaven::{HeavenKeys, HeavenSection};
pub use index_now::{IndexNowKeys, IndexNowSection};
pub use licensing::{LicensingKeys, LicensingSection};
pub use operation::{
    AccessLogKeys, AccessLogSection, AdminKeys, AdminSection, CheckKeys, CheckSection, LogKeys,
    LogSection, OperationKeys, OperationSection, OtelKeys, OtelSection, TrafficKeys,
    TrafficSection,
};
pub use places::{PlacesKeys, PlacesSection};
pub use robots::{DatabaseKeys, DatabaseSection, GeneralKeys, GeneralSection};
pub use robots_txt::{EnforcementKeys, EnforcementSection, RobotsTxtKeys, RobotsTxtSection};
pub use server::{ServerKeys, ServerSection};
pub use site_robot::{SiteRobotKeys, SiteRobotSection};
pub use suspects::{SuspectsKeys, SuspectsSection};
pub use traps::{TrapsKeys, TrapsSection};
pub use verify::{VerifyKeys, VerifySection};

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &joined::<{ count(super::settings::SECTIONS) }>(super::settings::SECTIONS);

const fn count(mut sections: &[&[Key]]) -> usize {
    let mut keys = 0;
    while let [section, rest @ ..] = sections {
        keys += section.len();
        sections = rest;
    }
    keys
}

/// `N` is how many keys there are.
const fn joined<const N: usize>(mut sections: &[&[Key]]) -> [Key; N] {
    let mut keys = [Key::new("", "", Kind::Text, Reach::Process); N];
    let mut free: &mut [Key] = &mut keys;
    while let [section, rest @ ..] = sections {
        let (place, behind) = free.split_at_mut(section.len());
        place.copy_from_slice(section);
        (free, sections) = (behind, rest);
    }
    keys
}
