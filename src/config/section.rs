//! A macro that declares a table of the configuration file, with its keys and settings.

/// Declares a struct for the settings of a table, and a struct for its keys.
///
/// ```text
/// section! {
///     /// Description of the table.
///     pub struct ServerSection, ServerKeys = "server." @process;
///     /// Help text for `doctor`, `init` and the documentation
///     @site field as "key" was "OldKey": Type = "default", min..=max;
/// }
/// ```
///
/// Everything after the field's type is optional. Without `as`, the key is named like the field;
/// without `= "default"`, an unset key is [absent](super::setting::Setting::absent). `@process`,
/// `@live` and `@site` select the [`Reach`](super::key::Reach) of all keys or of a single key.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        pub struct $Section:ident, $Keys:ident = $prefix:literal @ $all:ident;
        $(
            $(#[doc = $help:literal])+
            $(@ $reach:ident)?
            $field:ident $(as $name:literal)? $(was $old:literal)?: $type:ty
                $(= $default:literal)? $(, $min:literal ..= $max:literal)?;
        )+
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $Section {
            $(
                #[doc = concat!("`", $prefix, $crate::config::section::key_name!($field $($name)?), "`")]
                #[doc = concat!("```text", $("\n", $help,)+ "\n```")]
                pub $field: $type,
            )+
        }

        #[doc = concat!("Keys of [`", stringify!($Section), "`], one per field.")]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $Keys {
            $(
                #[doc = concat!("`", $prefix, $crate::config::section::key_name!($field $($name)?), "`")]
                pub $field: $crate::config::Key,
            )+
        }

        impl $Section {
            /// The keys of the table.
            pub const KEY: $Keys = $Keys {
                $($field: $crate::config::Key {
                    $(old_name: Some($old),)?
                    $(default: $default,)?
                    help: concat!($($help),+).trim_ascii_start(),
                    shown: <$type as $crate::config::setting::Setting>::shown,
                    is_secret: <$type as $crate::config::setting::Setting>::IS_SECRET,
                    $(reach: $crate::config::section::reach!($reach),)?
                    ..$crate::config::Key::new(
                        $prefix,
                        concat!($prefix, $crate::config::section::key_name!($field $($name)?)),
                        <$type as $crate::config::setting::Setting>::KIND $(.within($min, $max))?,
                        $crate::config::section::reach!($all),
                    )
                },)+
            };
        }

        impl $crate::config::setting::Section for $Section {
            const PREFIX: &'static str = $prefix;
            const KEYS: &'static [$crate::config::Key] = &[$(Self::KEY.$field),+];

            fn set(&mut self, name: &str, value: &$crate::config::Value) -> Result<bool, String> {
                $(if name == Self::KEY.$field.short_name {
                    self.$field = $crate::config::setting::Setting::read(value)?;
                    return Ok(true);
                })+
                Ok(false)
            }

            fn take(&mut self, name: &str, other: &Self) {
                $(if name == Self::KEY.$field.short_name {
                    self.$field.clone_from(&other.$field);
                })+
            }
        }

        impl Default for $Section {
            fn default() -> Self {
                Self {
                    $($field: $crate::config::section::unset!($($default)?; Self::KEY.$field),)+
                }
            }
        }
    };
}

macro_rules! key_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

macro_rules! reach {
    (process) => {
        $crate::config::key::Reach::Process
    };
    (site) => {
        $crate::config::key::Reach::Site
    };
    (live) => {
        $crate::config::key::Reach::Live
    };
}

macro_rules! unset {
    (; $key:expr) => {
        $crate::config::setting::unset_value()
    };
    ($default:literal; $key:expr) => {
        $crate::config::setting::default_value(&$key)
    };
}

pub(super) use {key_name, reach, section, unset};
