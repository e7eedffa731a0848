//! Errors of rendering.

/// Reason why a page was not rendered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// No browser can be had; the text says why, and what to do.
    #[error("{reason}")]
    Refused {
        /// The reason.
        reason: String,
    },
    /// The page did more than a page may, and was ended.
    #[error("it {did}, and was cut off")]
    Cut {
        /// What it did.
        did: &'static str,
    },
    /// The browser ended while it rendered the page.
    #[error("the browser ended: {reason}")]
    Ended {
        /// What it said at its end.
        reason: String,
    },
    /// The browser did not take a command.
    #[error("the browser refused {command}: {reason}")]
    Command {
        /// The command.
        command: &'static str,
        /// Its answer.
        reason: String,
    },
}

impl RenderError {
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Refused { reason }
    }
}
