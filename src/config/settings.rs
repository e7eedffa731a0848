//! All settings, each of the type that the room which uses it understands.

use std::ffi::OsStr;

use super::{
    AccessLogSection, AdminSection, CanonicalSection, CheckSection, DatabaseSection,
    EnforcementSection, GeneralSection, HeavenSection, IndexNowSection, Key, LicensingSection,
    LogSection, OperationSection, OtelSection, PlacesSection, RobotsTxtSection, ServerSection,
    SiteRobotSection, SuspectsSection, Tables, TrafficSection, TrapsSection, Value, VerifySection,
    setting::Section,
};

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $field:ident: $Section:ident,)*) => {
        /// Settings in force.
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: $Section,)*
            /// Tables that can stand several times.
            pub tables: Tables,
        }

        /// Keys of each section, in the order of the documentation.
        pub(super) const SECTIONS: &[&[Key]] = &[$($Section::KEYS),*];

        impl Settings {
            /// Sets the field of a key.
            ///
            /// # Errors
            ///
            /// Fails with what would be right.
            pub(super) fn set(&mut self, key: &Key, value: &Value) -> Result<(), String> {
                let prefix = key.prefix();
                // `[robots_txt]` is read by two sections: the prefix alone does not tell which has
                // the key.
                $(if $Section::PREFIX == prefix && self.$field.set(key.short_name, value)? {
                    return Ok(());
                })*
                Ok(())
            }

            /// Takes over the field of a key.
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
    /// Keys outside of tables.
    general: GeneralSection,
    /// `[database]`
    database: DatabaseSection,
    /// `[server]`
    server: ServerSection,
    /// `[heaven]`
    heaven: HeavenSection,
    /// `[canonical]`
    canonical: CanonicalSection,
    /// `[index_now]`
    index_now: IndexNowSection,
    /// `[robots_txt]`: whether robots are held to it.
    enforcement: EnforcementSection,
    /// `[robots_txt]`: what it says.
    robots_txt: RobotsTxtSection,
    /// `[licensing]`
    licensing: LicensingSection,
    /// `[verify]`
    verify: VerifySection,
    /// `[suspects]`
    suspects: SuspectsSection,
    /// `[traps]`
    traps: TrapsSection,
    /// `[places]`
    places: PlacesSection,
    /// `[site_robot]`
    site_robot: SiteRobotSection,
    /// `[operation]`
    operation: OperationSection,
    /// `[admin]`
    admin: AdminSection,
    /// `[check]`
    check: CheckSection,
    /// `[traffic]`
    traffic: TrafficSection,
    /// `[access_log]`
    access_log: AccessLogSection,
    /// `[otel]`
    otel: OtelSection,
    /// `[log]`
    log: LogSection,
}

/// Returns `true` unless the environment forbids colours: `NO_COLOR` (<https://no-color.org>),
/// or a terminal that knows none.
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
    fn any_text_in_no_color_forbids_them() {
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
