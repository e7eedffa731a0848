//! The settings in force, as shown on pages.

use std::sync::Arc;

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::Serialize;

/// A setting in force, with its origin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Setting {
    /// Key in the configuration file, such as `filter_pattern`.
    pub key: String,
    /// Name of the setting in the original package, such as `FilterPattern`.
    pub old_name: Option<String>,
    /// Value of the setting that is in force.
    pub value: String,
    /// Origin of the value: "default", "robot-detection.toml line 3", "environment
    /// `ROBOT_DETECTION_…`", "--listen".
    pub origin: String,
    /// Description of the setting in one sentence.
    pub help: String,
}

/// The settings in force, which a reload replaces as a whole.
///
/// Clones share the settings.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings {
    current: Arc<ArcSwap<Vec<Setting>>>,
}

impl SharedSettings {
    /// Creates shared settings from a list of settings.
    pub fn new(settings: Vec<Setting>) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(settings)),
        }
    }

    /// Returns the settings in force.
    pub fn load(&self) -> Arc<Vec<Setting>> {
        self.current.load_full()
    }

    /// Replaces all settings in force.
    pub fn replace(&self, settings: Vec<Setting>) {
        self.current.store(Arc::new(settings));
    }
}

impl From<Vec<Setting>> for SharedSettings {
    fn from(settings: Vec<Setting>) -> Self {
        Self::new(settings)
    }
}
