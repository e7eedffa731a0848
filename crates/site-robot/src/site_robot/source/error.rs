//! Why no page came.

use std::{io, time::Duration};

use robot_detection_store::fetch::FetchError;

/// Error of a source of pages; no text holds a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// HTTP failed.
    #[error(transparent)]
    Http(#[from] FetchError),
    /// The source has no such URLs.
    #[error("{url} cannot be fetched: {reason}")]
    NotServed {
        /// The URL.
        url: String,
        /// Why not, and what to do about it.
        reason: &'static str,
    },
    /// The application failed, or broke off its answer.
    #[error("the application did not answer {url}: {reason}: see the application's log")]
    Application {
        /// The URL.
        url: String,
        /// Its reason.
        reason: String,
    },
    /// The answer did not come, or did not end, in time.
    #[error("{url} took longer than {} s: try again later, or raise the limit", .limit.as_secs_f32())]
    Timeout {
        /// The URL.
        url: String,
        /// The limit that it passed.
        limit: Duration,
    },
    /// The body is larger than the limit.
    #[error("{url} is over {max_body_bytes} bytes: leave it out, or raise max-filesize-kb")]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit that it passed.
        max_body_bytes: u64,
    },
    /// A file cannot be read.
    #[error("{url} cannot be read: {reason}: check the file's rights")]
    File {
        /// The URL.
        url: String,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// The directory of a file source cannot be read.
    #[error("the directory {directory} cannot be read: {reason}: check its path and rights")]
    Directory {
        /// The directory.
        directory: String,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// A setting cannot be sent in a header.
    #[error(
        "the {setting} of the site robot holds a sign that no header may: write it in plain letters"
    )]
    BadSetting {
        /// Which setting.
        setting: &'static str,
    },
    /// The site of an access is no site.
    #[error("{url} is no site: write it as http://… or https://…")]
    BadSite {
        /// Value that was found.
        url: String,
    },
    /// The login by a form failed; nothing behind it is asked for in this run.
    #[error("the login failed: {reason}")]
    Login {
        /// What failed, and what to do about it.
        reason: String,
    },
    /// The page asks for a login of who is logged in.
    #[error(
        "{url} asks for a login of who is logged in: see to the rights of the site robot's user"
    )]
    Locked {
        /// The URL.
        url: String,
    },
}

impl SourceError {
    /// Returns `true` if the same request may succeed later.
    ///
    /// So are faults of the network and of servers; what is too large, not to be
    /// decompressed or not trusted stays so.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Http(error) => matches!(
                error,
                FetchError::Connect { .. }
                    | FetchError::Timeout { .. }
                    | FetchError::Reset { .. }
                    | FetchError::Truncated { .. }
                    | FetchError::NoCertificates { .. }
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
