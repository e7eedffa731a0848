use std::{error::Error, io, path::PathBuf, time::Duration};

/// An error for an upstream that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The configured upstream URL is invalid.
    #[error("upstream {url:?}: {reason}")]
    Upstream {
        /// The configured upstream URL.
        url: String,
        /// A description of the problem and of the expected form.
        reason: String,
    },
    /// No upstream server is configured.
    #[error("an upstream needs at least one server, such as http://127.0.0.1:3000")]
    NoServer,
    /// More than 64 servers are configured for one upstream.
    #[error("an upstream may have at most 64 servers, but {0} are configured")]
    TooManyServers(usize),
    /// Two servers of an upstream are configured with different paths.
    #[error(
        "upstream {0:?} has a different path from the first one; all servers of an upstream must have the same path"
    )]
    Prefix(String),
    /// The file of trusted certificates is unusable.
    #[error("{}: the file {reason}", .file.display())]
    CaFile {
        /// The path of the unusable file of trusted certificates.
        file: PathBuf,
        /// The reason why the file of trusted certificates is unusable.
        reason: String,
    },
    /// The configured path of the health check is invalid.
    #[error("{0:?} is not a path such as /health")]
    HealthPath(String),
    /// The health check of the upstream failed.
    #[error("upstream {url} is unhealthy: {reason}")]
    Unhealthy {
        /// The URL of the upstream server.
        url: String,
        /// The reason for the failed health check.
        reason: String,
    },
    /// The upstream does not accept connections.
    #[error("cannot connect to upstream {url}: {}", with_step(.source.as_ref()))]
    Connect {
        /// The URL of the upstream server.
        url: String,
        /// The error that occurred while connecting.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The upstream did not respond to a connection attempt in time.
    #[error(
        "could not connect to upstream {url} within {after:?}; check the address and any firewalls in between"
    )]
    ConnectTimeout {
        /// The URL of the upstream server.
        url: String,
        /// The connect timeout that was exceeded.
        after: Duration,
    },
}

/// Returns the text of the error and its causes on one line, followed by a remedy.
fn with_step(error: &(dyn Error + 'static)) -> String {
    let text = chain(error);
    if certificate_step(&text).is_some() {
        return text;
    }
    format!("{text}; check that the server is running and that the address is correct")
}

/// Returns a remedy for a rejected certificate, based on the error text of rustls.
fn certificate_step(text: &str) -> Option<&'static str> {
    let (_, reason) = text.split_once("invalid peer certificate: ")?;
    Some(if reason.starts_with("certificate not valid for name") {
        "use a name from the certificate in the server's URL"
    } else if reason.contains("expired") || reason.contains("not valid yet") {
        "check this machine's date, or renew the certificate"
    } else {
        "if the certificate is yours, set server.upstream_ca_file to the file of the certificate or of its authority"
    })
}

/// Returns the text of the error and its causes on one line, with a remedy if a certificate was
/// rejected.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // The text of some errors already ends with the text of their cause.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    if let Some(step) = certificate_step(&text) {
        text.push_str("; ");
        text.push_str(step);
    }
    text
}

/// An error on a connection to the upstream, or in the upstream's response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Http1Error {
    /// Reading from or writing to the connection to the upstream failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The connection ended before the response head was complete.
    #[error("the upstream closed the connection before the response head was complete")]
    NoHead,
    /// The connection ended before the response body was complete.
    #[error("the upstream closed the connection before the response was complete")]
    Cut,
    /// The response head has too many bytes or lines.
    #[error("the response head exceeds 64 KiB or 100 headers")]
    HeadTooLarge,
    /// The head of the response is malformed.
    #[error("the response head is not valid HTTP/1.1: {0}")]
    Head(&'static str),
    /// The chunked encoding of the response body is malformed.
    #[error("the chunked encoding of the response is malformed: {0}")]
    Chunks(&'static str),
}
