//! Errors from page sources.

use std::{io, time::Duration};

use robot_detection_store::fetch::FetchError;

/// Error from a page source; the text of an error never contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The HTTP request failed.
    #[error(transparent)]
    Http(#[from] FetchError),
    /// The source does not serve URLs of this kind.
    #[error("cannot fetch {url}: {reason}")]
    NotServed {
        /// URL of the page.
        url: String,
        /// Reason why the source does not serve the URL, with advice.
        reason: &'static str,
    },
    /// The application failed or aborted its response.
    #[error("the application did not respond to {url}: {reason}; see the application's log")]
    Application {
        /// URL of the page.
        url: String,
        /// Error message of the application.
        reason: String,
    },
    /// The response did not arrive, or was not complete, in time.
    #[error("{url} took longer than {} s: try again later, or raise the limit", .limit.as_secs_f32())]
    Timeout {
        /// URL of the page.
        url: String,
        /// Time limit that was exceeded.
        limit: Duration,
    },
    /// The body exceeds the size limit.
    #[error("{url} is larger than {max_body_bytes} bytes: exclude it, or raise max-filesize-kb")]
    TooLarge {
        /// URL of the page.
        url: String,
        /// Size limit that was exceeded.
        max_body_bytes: u64,
    },
    /// A file cannot be read.
    #[error("cannot read {url}: {reason}; check the file's permissions")]
    File {
        /// URL of the file.
        url: String,
        /// I/O error that occurred while reading the file.
        #[source]
        reason: io::Error,
    },
    /// The directory of a file source cannot be read.
    #[error("cannot read the directory {directory}: {reason}; check its path and permissions")]
    Directory {
        /// Path of the directory.
        directory: String,
        /// I/O error that occurred while reading the directory.
        #[source]
        reason: io::Error,
    },
    /// The value of a setting cannot be sent in a header.
    #[error(
        "the {setting} of the site robot contains a character not allowed in a header: use plain ASCII"
    )]
    BadSetting {
        /// Name of the setting.
        setting: &'static str,
    },
    /// The URL of a site access is not a valid site URL.
    #[error("{url} is not a site URL: write it as http://… or https://…")]
    BadSite {
        /// The invalid URL.
        url: String,
    },
    /// The form login failed; protected pages are not requested again in this run.
    #[error("the login failed: {reason}")]
    Login {
        /// Reason why the login failed, with advice.
        reason: String,
    },
    /// The page requires a login even though the site robot is logged in.
    #[error("{url} still requires a login: check the permissions of the site robot's user")]
    Locked {
        /// URL of the page.
        url: String,
    },
}

impl SourceError {
    /// Returns `true` if the same request may succeed later.
    ///
    /// Network and server errors are temporary. Bodies that are too large or cannot be
    /// decompressed, and untrusted servers, are permanent errors.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Http(error) => matches!(
                error,
                FetchError::Connect { .. }
                    | FetchError::Timeout { .. }
                    | FetchError::Reset { .. }
                    | FetchError::Truncated { .. }
                    | FetchError::Setup { .. }
                    | FetchError::Other { .. }
            ),
            Self::Application { .. } | Self::Timeout { .. } | Self::File { .. } => true,
            Self::NotServed { .. }
            | Self::TooLarge { .. }
            | Self::Directory { .. }
            | Self::BadSetting { .. }
            | Self::BadSite { .. }
            | Self::Login { .. }
            | Self::Locked { .. } => false,
        }
    }
}
