//! All settings, each of the type that the room which uses it understands.

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
