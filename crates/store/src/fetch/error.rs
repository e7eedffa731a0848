//! Why a fetch failed, and what to do about it.

use std::{error::Error as StdError, io, time::Duration};

use super::shown_url;

/// Error of a fetch; the text tells the URL, the cause and the next step.
///
/// No variant holds a password that stood in the URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A limit is zero, so that nothing could ever be fetched.
    #[error("the fetch limit {0} is zero: set it higher, or leave it out for the default")]
    ZeroLimit(&'static str),
    /// No HTTP client can be built, mostly for want of root certificates.
    #[error(
        "no HTTPS client can be set up: {reason}: \
         install the system's root certificates (package ca-certificates)"
    )]
    NoCertificates {
        /// Reason of the TLS library.
        reason: String,
    },
    /// The text is no URL, or not one of `http:` or `https:`.
    #[error("{url:?} cannot be fetched: {reason}: write it as http://… or https://…")]
    BadUrl {
        /// The URL without its password.
        url: String,
        /// Reason.
        reason: String,
    },
    /// No connection came about: unknown host, refused, unreachable.
    #[error("no connection to {url}: {reason}: check the address, the network and its proxy")]
    Connect {
        /// The URL without its password.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// TLS failed, mostly for a certificate that is not trusted.
    #[error("no safe connection to {url}: {reason}: check the certificate and this machine's date")]
    Tls {
        /// The URL without its password.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The answer did not come, or did not end, in time.
    #[error(
        "{url} took too long (limit {} s for all, {} s without a byte): \
         try again later", .total.as_secs_f32(), .idle.as_secs_f32()
    )]
    Timeout {
        /// The URL without its password.
        url: String,
        /// Limit for the whole fetch.
        total: Duration,
        /// Limit for one wait.
        idle: Duration,
    },
    /// The other side ended the connection before its answer began, or reset it.
    #[error("the connection to {url} was cut off: {reason}: try again later")]
    Reset {
        /// The URL without its password.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The body ended before its announced length.
    #[error("the answer of {url} is truncated: try again later")]
    Truncated {
        /// The URL without its password.
        url: String,
    },
    /// A redirect was not followed: too many, a loop, or to a place not allowed.
    #[error("a redirect of {url} was not followed: {reason}: use the final address")]
    Redirect {
        /// The URL without its password.
        url: String,
        /// Which rule refused it.
        reason: String,
    },
    /// The status was neither 200 nor 304.
    #[error("{url} answered {status}: {}", advice(*.status))]
    Status {
        /// The URL without its password.
        url: String,
        /// Status code.
        status: u16,
    },
    /// The body is larger than the limit, as announced or as counted.
    #[error(
        "the answer of {url} is over {max_body_bytes} bytes, more than is read: check the address"
    )]
    TooLarge {
        /// The URL without its password.
        url: String,
        /// The limit that it passed.
        max_body_bytes: u64,
    },
    /// The body cannot be decompressed.
    #[error("the answer of {url} cannot be decompressed: {reason}: try again later")]
    Encoding {
        /// The URL without its password.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// Something else that the HTTP client reports.
    #[error("{url} could not be fetched: {reason}: try again later")]
    Other {
        /// The URL without its password.
        url: String,
        /// The innermost cause.
        reason: String,
    },
}

/// Sorts an error of the HTTP client by its cause.
pub(super) fn classify(
    url: &str,
    error: reqwest::Error,
    total: Duration,
    idle: Duration,
) -> FetchError {
    let url = shown_url(url);
    let error = error.without_url();
    // Kinds overlap: a connection that takes too long is one of `is_connect` too, and so is TLS
    // that fails. What explains more is asked first.
    if error.is_timeout() {
        return FetchError::Timeout { url, total, idle };
    }
    let reason = innermost(&error);
    if any_cause(&error, <dyn StdError>::is::<rustls::Error>) {
        return FetchError::Tls { url, reason };
    }
    if error.is_connect() {
        return FetchError::Connect { url, reason };
    }
    match io_kind(&error) {
        Some(io::ErrorKind::UnexpectedEof) => FetchError::Truncated { url },
        _ if is_reset(&error) => FetchError::Reset { url, reason },
        _ if error.is_decode() => FetchError::Encoding { url, reason },
        _ => FetchError::Other { url, reason },
    }
}

/// Returns `true` if the server ended a connection that was there.
pub(super) fn is_reset(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    let is_cut = matches!(
        io_kind(error),
        Some(ConnectionReset | ConnectionAborted | BrokenPipe)
    );
    // hyper, which tells this by its text, is no dependency of this crate.
    !error.is_connect() && (is_cut || innermost(error).contains("before message completed"))
}

/// Returns the text of the innermost cause, which is the one that explains.
pub(super) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    any_cause(error, |cause| {
        text = cause.to_string();
        false
    });
    // A cause may quote the server: it must not forge lines of a log, nor fill the database.
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut kind = None;
    any_cause(error, |cause| {
        kind = cause.downcast_ref().map(io::Error::kind).or(kind);
        false
    });
    kind
}

/// Walks the causes from the outermost inwards until `found` says yes.
///
/// [`io::Error`] hides the error that it wraps from `source()`: that one is
/// visited as well. No chain is longer than 32, or it goes in circles.
fn any_cause(
    error: &(dyn StdError + 'static),
    mut found: impl FnMut(&(dyn StdError + 'static)) -> bool,
) -> bool {
    let mut next = Some(error);
    for _ in 0..32 {
        let Some(cause) = next else { return false };
        if found(cause) {
            return true;
        }
        let wrapped = cause.downcast_ref().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause.source(),
        };
    }
    false
}

fn advice(status: u16) -> &'static str {
    match status {
        401 | 403 | 407 => "it wants credentials, or does not serve this program",
        404 | 410 => "the file has moved or is gone: check the address",
        429 => "it is asked too often: refresh less often",
        500..=599 => "its server has a fault: try again later",
        _ => "only 200 and 304 count: check the address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_within_an_io_error_is_found() {
        let inner = io::Error::new(io::ErrorKind::ConnectionReset, "peer is gone");
        let outer = io::Error::other(inner);
        assert_eq!(io_kind(&outer), Some(io::ErrorKind::ConnectionReset));
        assert_eq!(innermost(&outer), "peer is gone");
    }

    #[test]
    fn every_status_comes_with_advice() {
        let error = FetchError::Status {
            url: "http://h/".to_owned(),
            status: 404,
        };
        assert_eq!(
            error.to_string(),
            "http://h/ answered 404: the file has moved or is gone: check the address"
        );
    }
}
