//! Parameters in force, as pages show them.

use std::sync::Arc;

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::Serialize;

/// Parameter in force and where it came from.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Setting {
    /// Key as the configuration file spells it, such as `filter_pattern`.
    pub key: String,
    /// The original package's name, such as `FilterPattern`.
    pub old_name: Option<String>,
    /// Value in force.
    pub value: String,
    /// "default", "robot-detection.toml line 3", "environment `ROBOT_DETECTION_…`", "--listen".
    pub origin: String,
    /// What the parameter does, in one sentence.
    pub help: String,
}

/// Parameters in force; they are exchanged as a whole when settings are reloaded.
///
/// Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings {
    current: Arc<ArcSwap<Vec<Setting>>>,
}

impl SharedSettings {
    /// Creates them with the parameters in force now.
    pub fn new(settings: Vec<Setting>) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(settings)),
        }
    }

    /// Returns the parameters in force.
    pub fn load(&self) -> Arc<Vec<Setting>> {
        self.current.load_full()
    }

    /// Shows other parameters from now on.
    pub fn replace(&self, settings: Vec<Setting>) {
        self.current.store(Arc::new(settings));
    }
}

impl From<Vec<Setting>> for SharedSettings {
    fn from(settings: Vec<Setting>) -> Self {
        Self::new(settings)
    }
}
