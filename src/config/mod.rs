//! Settings from the configuration file, the environment and flags.
//!
//! Only this module reads these sources. Flags override the environment, the environment overrides
//! the file, and the file overrides the defaults. The origin of every value is recorded, and shown
//! in errors and on the admin page.
//!
//! # Example
//!
//! ```
//! use robot_detection::config::{GeneralSection, Loader, Settings};
//!
//! let loaded = Loader::new()
//!     .file("robot-detection.toml", "FilterPattern = '/private/*'")
//!     .load()?;
//! let settings: &Settings = loaded.settings();
//! assert_eq!(settings.general.filter_patterns, ["/private/*"]);
//! let origin = loaded.origin(&GeneralSection::KEY.filter_patterns);
//! assert_eq!(origin, "robot-detection.toml:1");
//! # Ok::<(), robot_detection::config::ConfigErrors>(())
//! ```

mod edit;
mod file;
mod included;
mod init;
mod key;
mod load;
mod section;
mod sections;
mod setting;
mod settings;
mod site;
mod table;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod types;
mod value;

pub use edit::{Change, with_settings};
#[cfg(feature = "server")]
pub use included::Includes;
pub use init::{commented_configuration, publisher_configuration};
pub use key::{ConfigError, ConfigErrors, MOST_ERRORS};
pub use key::{Key, Kind, Reach, Words};
pub use load::{EffectiveValue, Loaded, Loader, Removed};
pub use sections::*;
pub use settings::Settings;
pub use settings::wants_colours;
pub use site::SiteLoaded;
#[cfg(feature = "server")]
pub(crate) use site::is_host_of;
pub use tables::*;
pub use types::*;
pub use value::Value;
