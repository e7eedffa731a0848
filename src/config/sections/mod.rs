//! Keys outside the repeatable tables.

mod operation;
mod site;
mod site_robot;

use super::{Key, Kind, key::Reach};

pub use operation::{
    AccessLogKeys, AccessLogSection, AdminKeys, AdminSection, CheckKeys, CheckSection, LogKeys,
    LogSection, OperationKeys, OperationSection, ServerKeys, ServerSection, TrafficKeys,
    TrafficSection,
};
pub use site::{
    CanonicalKeys, CanonicalSection, DatabaseKeys, DatabaseSection, EnforcementKeys,
    EnforcementSection, GeneralKeys, GeneralSection, GeoIpKeys, GeoIpSection, HeavenKeys,
    HeavenSection, LicensingKeys, LicensingSection, RobotsTxtKeys, RobotsTxtSection, SuspectsKeys,
    SuspectsSection, TrapsKeys, TrapsSection, VerifyKeys, VerifySection,
};
pub use site_robot::{SiteRobotKeys, SiteRobotSection};

/// All keys, in the order of the documentation.
pub const KEYS: &[Key] = &joined::<{ count(super::settings::SECTIONS) }>(super::settings::SECTIONS);

const fn count(mut sections: &[&[Key]]) -> usize {
    let mut keys = 0;
    while let [section, rest @ ..] = sections {
        keys += section.len();
        sections = rest;
    }
    keys
}

/// Joins the keys of all sections; `N` is the number of keys.
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
