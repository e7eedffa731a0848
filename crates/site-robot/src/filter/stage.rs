//! Stages of a filter.

use std::{fmt, sync::Arc};

robot_detection_layer::words! {
    /// Stage of a filter, which is also the first word of its directives.
    #[derive(Hash, Ord, PartialOrd)]
    pub enum Stage {
        /// Once, before the first resource.
        Setup = "Setup",
        /// Before a resource is retrieved: only its URL is known.
        MetaData = "MetaData",
        /// After it is retrieved.
        Data = "Data",
        /// Links to other resources are collected.
        Enumerate = "Enumerate",
        /// Its resource description is made.
        Generate = "Generate",
        /// Once, after the last resource.
        Shutdown = "Shutdown",
    }
}

impl Stage {
    /// Returns the stage of that name; upper and lower case are the same.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|stage| stage.as_str().eq_ignore_ascii_case(name))
    }
}

/// Outcome of a stage of a filter for a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum StageOutcome {
    /// It goes on to the next stage.
    Allowed,
    /// This filter does nothing more with it; other filters may.
    Denied(Denial),
}

impl StageOutcome {
    /// Returns `true` if the resource goes on.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed)
    }

    /// Returns why it does not go on.
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
    /// Name of the filter.
    pub filter: Arc<str>,
    /// Stage at which it was denied.
    pub stage: Stage,
    /// Line of the directive in filter.conf.
    pub line: usize,
    /// Its function.
    pub function: Arc<str>,
    /// Source, value and what it was compared with.
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
