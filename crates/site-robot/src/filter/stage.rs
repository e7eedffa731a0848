//! Stages of a filter.

use std::{fmt, sync::Arc};

robot_detection_layer::words! {
    /// A stage of a filter, which is also the keyword of its directives.
    #[derive(Hash, Ord, PartialOrd)]
    pub enum Stage {
        /// Runs once, before the first resource is processed.
        Setup = "Setup",
        /// Runs before the resource is retrieved, when only the URL is known.
        MetaData = "MetaData",
        /// Runs after the resource has been retrieved.
        Data = "Data",
        /// Collects links to other resources.
        Enumerate = "Enumerate",
        /// Generates the resource description.
        Generate = "Generate",
        /// Runs once, after the last resource has been processed.
        Shutdown = "Shutdown",
    }
}

impl Stage {
    /// Returns the stage with the given name, case-insensitively.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|stage| stage.as_str().eq_ignore_ascii_case(name))
    }
}

/// Outcome of a filter stage for a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum StageOutcome {
    /// The resource continues to the next stage.
    Allowed,
    /// The filter stops processing the resource; other filters may continue.
    Denied(Denial),
}

impl StageOutcome {
    /// Returns `true` if the resource continues to the next stage.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed)
    }

    /// Returns the denial, or `None` if the resource was not denied.
    pub const fn denial(&self) -> Option<&Denial> {
        match self {
            Self::Allowed => None,
            Self::Denied(denial) => Some(denial),
        }
    }
}

/// Reason why a filter denies a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Denial {
    /// Name of the filter that denied the resource.
    pub filter: Arc<str>,
    /// Stage at which the resource was denied.
    pub stage: Stage,
    /// Line number of the directive in filter.conf.
    pub line: usize,
    /// Function of the directive that denied the resource.
    pub function: Arc<str>,
    /// Reason for the denial: the source, its value, and the text compared with the value.
    pub reason: String,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            filter,
            stage,
            line,
            function,
            reason,
        } = self;
        write!(
            f,
            "filter {filter:?}, line {line}, {stage} fn={function}: {reason}"
        )
    }
}
