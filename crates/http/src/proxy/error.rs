use std::{error::Error, io, path::PathBuf, time::Duration};

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
    /// No server is named.
    #[error("an upstream needs a server; write http://127.0.0.1:3000")]
    NoServer,
    /// More servers are named than one upstream may have.
    #[error("{0} servers are more than the 64 that an upstream may have")]
    TooManyServers(usize),
    /// Two servers have different paths.
    #[error(
        "upstream {0:?} has another path than the first; the servers of an upstream have one path"
    )]
    Prefix(String),
    /// The file of certificates cannot be used.
    #[error("{}: the file {reason}", .file.display())]
    CaFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system has no trusted certificates.
    #[error(
        "no trusted certificates for https: {0}; install ca-certificates, or name a file of your own"
    )]
    NoCertificates(#[source] io::Error),
    /// The path of the health check is invalid.
    #[error("{0:?} is no path such as /health")]
    HealthPath(String),
    /// The check of the upstream does not succeed.
    #[error("upstream {url} is not well: {reason}")]
    Unhealthy {
        /// The upstream.
        url: String,
        /// What its check showed.
        reason: String,
    },
    /// The upstream does not accept a connection.
    #[error("cannot connect to upstream {url}: {}", with_step(.source.as_ref()))]
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

/// The error and its causes in one line, and what to do.
fn with_step(error: &(dyn Error + 'static)) -> String {
    let text = chain(error);
    if certificate_step(&text).is_some() {
        return text;
    }
    format!("{text}; check that it runs and that the address is right")
}

/// Returns what to do about a certificate that is refused, by the words of rustls.
fn certificate_step(text: &str) -> Option<&'static str> {
    let (_, reason) = text.split_once("invalid peer certificate: ")?;
    Some(if reason.starts_with("certificate not valid for name") {
        "write its URL with a name that the certificate has"
    } else if reason.contains("expired") || reason.contains("not valid yet") {
        "check the date of this machine, else renew the certificate"
    } else {
        "if the certificate is yours, name it or that of its authority in server.upstream_ca_file"
    })
}

/// The error and its causes in one line, and what to do about a certificate.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors end with the text of their cause already.
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

/// Error of a connection, or of what the upstream sent over it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Http1Error {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The connection ended before the response, or within its head.
    #[error("the upstream closed the connection before the end of the response's head")]
    NoHead,
    /// The connection ended within the body.
    #[error("the upstream closed the connection before the end of the response")]
    Cut,
    /// The head has too many bytes or lines.
    #[error("the response's head has more than 64 KiB or 100 headers")]
    HeadTooLarge,
    /// The head breaks the rules.
    #[error("the response's head is no HTTP/1.1: {0}")]
    Head(&'static str),
    /// The body's chunks break the rules.
    #[error("the chunks of the response are wrong: {0}")]
    Chunks(&'static str),
}
