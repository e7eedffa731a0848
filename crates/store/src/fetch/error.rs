//! Fetch errors, with advice for the administrator.

use std::{error::Error as StdError, io, time::Duration};

use super::shown_url;

/// An error that occurs when a URL is fetched; the message contains the URL, the cause and advice.
///
/// No variant ever contains a password from a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A limit is zero, so nothing can be fetched.
    #[error("the fetch limit {0} is zero; increase it, or remove it to use the default")]
    ZeroLimit(&'static str),
    /// No HTTPS client can be created.
    #[error("cannot set up an HTTPS client: {reason}")]
    Setup {
        /// The error message from the TLS library.
        reason: String,
    },
    /// The URL is not an `http:` or `https:` URL.
    #[error("cannot fetch {url:?}: {reason}; use http://… or https://…")]
    BadUrl {
        /// The URL without its password.
        url: String,
        /// A description of the error.
        reason: String,
    },
    /// The connection failed: the host is unknown or unreachable, or refused the connection.
    #[error("cannot connect to {url}: {reason}; check the URL, the network and the proxy")]
    Connect {
        /// The URL without its password.
        url: String,
        /// The innermost cause of the error.
        reason: String,
    },
    /// The TLS handshake failed, usually because the certificate is not trusted.
    #[error("cannot connect securely to {url}: {reason}; check the certificate and the clock")]
    Tls {
        /// The URL without its password.
        url: String,
        /// The innermost cause of the error.
        reason: String,
    },
    /// The response did not start or finish in time.
    #[error(
        "{url} took too long (limits: {} s in total, {} s without a byte); \
         try again later", .total.as_secs_f32(), .idle.as_secs_f32()
    )]
    Timeout {
        /// The URL without its password.
        url: String,
        /// The timeout for the whole fetch.
        total: Duration,
        /// The maximum time without receiving data.
        idle: Duration,
    },
    /// The server closed or reset the connection before its response began.
    #[error("the connection to {url} was reset: {reason}; try again later")]
    Reset {
        /// The URL without its password.
        url: String,
        /// The innermost cause of the error.
        reason: String,
    },
    /// The body is shorter than the server announced.
    #[error("the response from {url} is truncated; try again later")]
    Truncated {
        /// The URL without its password.
        url: String,
    },
    /// A redirect was not followed: too many redirects, a loop, or a forbidden target.
    #[error("did not follow a redirect from {url}: {reason}; use the final URL")]
    Redirect {
        /// The URL without its password.
        url: String,
        /// The reason why the redirect was not followed.
        reason: String,
    },
    /// The status was neither 200 nor 304.
    #[error("{url} returned {status}: {}", advice(*.status))]
    Status {
        /// The URL without its password.
        url: String,
        /// The HTTP status code.
        status: u16,
    },
    /// The announced or actual body size exceeds the limit.
    #[error(
        "the response from {url} is larger than the maximum of {max_body_bytes} bytes; check the URL"
    )]
    TooLarge {
        /// The URL without its password.
        url: String,
        /// The maximum size of the body, in bytes.
        max_body_bytes: u64,
    },
    /// The body cannot be decompressed.
    #[error("cannot decompress the response from {url}: {reason}; try again later")]
    Encoding {
        /// The URL without its password.
        url: String,
        /// The innermost cause of the error.
        reason: String,
    },
    /// Another error reported by the HTTP client.
    #[error("could not fetch {url}: {reason}; try again later")]
    Other {
        /// The URL without its password.
        url: String,
        /// The innermost cause of the error.
        reason: String,
    },
}

/// Converts an HTTP client error to the variant that corresponds to its cause.
pub(super) fn classify(
    url: &str,
    error: reqwest::Error,
    total: Duration,
    idle: Duration,
) -> FetchError {
    let url = shown_url(url);
    let error = error.without_url();
    // Kinds overlap: `is_connect` includes connection timeouts and TLS failures. The more specific
    // kind is checked first.
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

/// Returns `true` if the server closed an established connection.
pub(super) fn is_reset(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    let is_cut = matches!(
        io_kind(error),
        Some(ConnectionReset | ConnectionAborted | BrokenPipe)
    );
    // hyper, which reports this only in the text of its error, is not a dependency of this crate.
    !error.is_connect() && (is_cut || innermost(error).contains("before message completed"))
}

/// Returns the text of the innermost cause, which explains the error best.
pub(super) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    any_cause(error, |cause| {
        text = cause.to_string();
        false
    });
    // The cause may quote the server, which must not be able to forge log lines or fill the
    // database.
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

/// Visits the causes of an error, outermost first, until `found` returns `true`.
///
/// [`io::Error`] hides its wrapped error from `source()`; the wrapped error is visited as well. At
/// most 32 causes are visited, in case they form a loop.
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
        401 | 403 | 407 => "the server requires credentials, or denies access to this program",
        404 | 410 => "the file was moved or removed; check the URL",
        429 => "too many requests; refresh less often",
        500..=599 => "the server reports an internal error; try again later",
        _ => "only 200 and 304 are accepted; check the URL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_within_an_io_error_is_found() {
        let inner = io::Error::new(io::ErrorKind::ConnectionReset, "peer is gone");
        let outer = io::Error::other(inner);
        assert_eq!(io_kind(&outer), Some(io::ErrorKind::ConnectionReset));
        assert_eq!(innermost(&outer), "peer is gone");
    }

    #[test]
    fn every_status_has_advice() {
        let error = FetchError::Status {
            url: "http://h/".to_owned(),
            status: 404,
        };
        assert_eq!(
            error.to_string(),
            "http://h/ returned 404: the file was moved or removed; check the URL"
        );
    }
}
