use std::{error::Error, time::Duration};

/// Error of an upstream that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The setting is not the URL of an upstream.
    #[error("upstream {url:?}: {reason}")]
    Upstream {
        /// The setting.
        url: String,
        /// What is wrong with it, and what to write.
        reason: String,
    },
    /// The upstream does not accept a connection.
    #[error("cannot connect to upstream {url}: {}; check that it runs and that the address is right", chain(.source.as_ref()))]
    Connect {
        /// The upstream.
        url: String,
        /// The system's reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The upstream does not answer the attempt to connect.
    #[error(
        "no connection to upstream {url} after {after:?}; check the address, and firewalls on the way"
    )]
    ConnectTimeout {
        /// The upstream.
        url: String,
        /// How long it was waited for.
        after: Duration,
    },
}

/// The error and its causes in one line.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
