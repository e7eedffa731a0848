//! All settings, as the types that the modules using them expect.

use std::ffi::OsStr;

use super::{
    AccessLogSection, AdminSection, CanonicalSection, CheckSection, DatabaseSection,
    EnforcementSection, GeneralSection, GeoIpSection, HeavenSection, Key, LicensingSection,
    LogSection, OperationSection, RobotsTxtSection, ServerSection, SiteRobotSection,
    SuspectsSection, Tables, TrafficSection, TrapsSection, Value, VerifySection, setting::Section,
};

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $field:ident: $Section:ident,)*) => {
        /// The effective settings of a configuration.
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: $Section,)*
            /// The contents of the repeatable tables.
            pub tables: Tables,
        }

        /// Keys of each section, in the order used in the documentation.
        pub(super) const SECTIONS: &[&[Key]] = &[$($Section::KEYS),*];

        impl Settings {
            /// Sets the field for a key.
            ///
            /// # Errors
            ///
            /// Returns an error that describes the valid values.
            pub(super) fn set(&mut self, key: &Key, value: &Value) -> Result<(), String> {
                let prefix = key.prefix();
                // Two sections read `[robots_txt]`, so the prefix alone does not determine the
                // section.
                $(if $Section::PREFIX == prefix && self.$field.set(key.short_name, value)? {
                    return Ok(());
                })*
                Ok(())
            }

            /// Copies the field for a key from `other`.
            pub(super) fn take(&mut self, key: &Key, other: &Self) {
                let prefix = key.prefix();
                $(if $Section::PREFIX == prefix {
                    self.$field.take(key.short_name, &other.$field);
                })*
            }
        }
    };
}

settings! {
    /// Settings that are outside any table.
    general: GeneralSection,
    /// Settings of the `[database]` table.
    database: DatabaseSection,
    /// Settings of the `[server]` table.
    server: ServerSection,
    /// Settings of the `[heaven]` table.
    heaven: HeavenSection,
    /// Settings of the `[canonical]` table.
    canonical: CanonicalSection,
    /// Settings of the `[robots_txt]` table: enforcement of robots.txt.
    enforcement: EnforcementSection,
    /// Settings of the `[robots_txt]` table: contents of robots.txt.
    robots_txt: RobotsTxtSection,
    /// Settings of the `[licensing]` table.
    licensing: LicensingSection,
    /// Settings of the `[verify]` table.
    verify: VerifySection,
    /// Settings of the `[suspects]` table.
    suspects: SuspectsSection,
    /// Settings of the `[traps]` table.
    traps: TrapsSection,
    /// Settings of the `[geoip]` table.
    geoip: GeoIpSection,
    /// Settings of the `[site_robot]` table.
    site_robot: SiteRobotSection,
    /// Settings of the `[operation]` table.
    operation: OperationSection,
    /// Settings of the `[admin]` table.
    admin: AdminSection,
    /// Settings of the `[check]` table.
    check: CheckSection,
    /// Settings of the `[traffic]` table.
    traffic: TrafficSection,
    /// Settings of the `[access_log]` table.
    access_log: AccessLogSection,
    /// Settings of the `[log]` table.
    log: LogSection,
}

/// Returns `true` unless the environment disables colours, through `NO_COLOR`
/// (<https://no-color.org>) or a terminal type without colours.
#[must_use]
pub fn wants_colours() -> bool {
    let variable = |name: &str| std::env::var_os(name);
    are_wanted(variable("NO_COLOR").as_deref(), variable("TERM").as_deref())
}

fn are_wanted(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_of_no_color_disables_colours() {
        for (no_color, term, are_allowed) in [
            (None, None, true),
            (None, Some("xterm"), true),
            (Some(""), Some("xterm"), true),
            (Some("0"), Some("xterm"), false),
            (Some("1"), None, false),
            (None, Some("dumb"), false),
        ] {
            let found = are_wanted(no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(found, are_allowed, "{no_color:?} {term:?}");
        }
    }
}
