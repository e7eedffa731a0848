//! Errors that occur while pages are rendered.

/// Reason why a page could not be rendered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// No browser is available; the text contains the reason and advice.
    #[error("{reason}")]
    Refused {
        /// Reason why no browser is available, with advice.
        reason: String,
    },
    /// The page exceeded a limit and was aborted.
    #[error("rendering was aborted because the page {did}")]
    Cut {
        /// Limit that the page exceeded, as a verb phrase such as "took too long".
        did: &'static str,
    },
    /// The browser exited while rendering the page.
    #[error("the browser exited: {reason}")]
    Ended {
        /// The browser's last output, which serves as the reason.
        reason: String,
    },
    /// The browser rejected a command.
    #[error("the browser rejected {command}: {reason}")]
    Command {
        /// Name of the command.
        command: &'static str,
        /// Error message returned by the browser.
        reason: String,
    },
}

impl RenderError {
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Refused { reason }
    }
}
