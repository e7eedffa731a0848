//! The outcome of a stage: whether a resource passes, and why not.

use std::{fmt, sync::Arc};

use super::Stage;

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
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed)
    }

    /// Returns why it does not go on.
    #[must_use]
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
