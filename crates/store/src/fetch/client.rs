//! Construction of HTTP clients: TLS, redirects and timeouts.

use std::{
    env,
    io::{self, Read as _},
    net::SocketAddr,
    sync::LazyLock,
};

use flate2::read::MultiGzDecoder;
use reqwest::{
    Certificate, Client, ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use rustls::pki_types::CertificateDer;
use rustls_native_certs::load_native_certs;
use url::Url;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::{DirectSettings, FetchError, FetchLimits, error::innermost, is_public};

const USER_AGENT: &str = concat!(
    "robot-detection/",
    env!("CARGO_PKG_VERSION"),
    " (+https://crates.io/crates/robot-detection)"
);

/// The environment variables that specify the system's proxy; each may be in upper or lower case.
const PROXY_VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Returns Mozilla's certificate authorities if the system has none when the program first needs
/// them; otherwise, an empty slice.
pub fn bundled_authorities() -> &'static [CertificateDer<'static>] {
    static HAS_SYSTEM: LazyLock<bool> = LazyLock::new(|| !load_native_certs().certs.is_empty());
    if *HAS_SYSTEM {
        &[]
    } else {
        TLS_SERVER_ROOT_CERTS
    }
}

/// Builds an HTTP client with the given limits. The fetcher itself handles redirects.
pub(super) fn build(limits: &FetchLimits) -> Result<Client, FetchError> {
    finish(builder(limits).redirect(Policy::none()))
}

/// Builds an HTTP client that connects only to public addresses.
///
/// If a proxy is configured, the proxy resolves host names instead.
pub(super) fn build_public(limits: &FetchLimits) -> Result<Client, FetchError> {
    let is_set = |name: String| env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut names = PROXY_VARIABLES.iter();
    let builder = builder(limits).redirect(Policy::none());
    finish(
        if names.any(|name| is_set((*name).to_owned()) || is_set(name.to_ascii_lowercase())) {
            builder
        } else {
            builder.no_proxy().dns_resolver(PublicResolver)
        },
    )
}

/// Builds an HTTP client that follows no redirects and uses no proxy. It trusts the given
/// certificate authorities, or the default ones if none are given.
pub(super) fn build_direct(
    limits: &FetchLimits,
    authorities: &[CertificateDer<'_>],
) -> Result<Client, FetchError> {
    // reqwest would use the proxy from the environment, but this client connects to nearby servers.
    let mut builder = builder(limits).redirect(Policy::none()).no_proxy();
    if !authorities.is_empty() {
        let certificates = authorities.iter().map(|it| Certificate::from_der(it));
        let certificates = certificates.collect::<Result<Vec<_>, _>>();
        builder = builder.tls_certs_only(certificates.map_err(|error| FetchError::Setup {
            reason: innermost(&error),
        })?);
    }
    finish(builder)
}

/// Builds an HTTP client that follows no redirects, and uses a proxy only if one is configured.
pub(super) fn build_agent(settings: &DirectSettings) -> Result<Client, FetchError> {
    let mut builder = base()
        .timeout(settings.timeout)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .redirect(Policy::none())
        .no_proxy();
    if let Some(user_agent) = &settings.user_agent {
        builder = builder.user_agent(user_agent.clone());
    }
    if let Some(proxy) = settings.proxy()? {
        builder = builder.proxy(proxy);
    }
    if settings.is_public_only {
        // Checked while connecting rather than before, so that changing a name's addresses in
        // between (DNS rebinding) has no effect.
        builder = builder.dns_resolver(PublicResolver);
    }
    finish(builder)
}

fn builder(limits: &FetchLimits) -> ClientBuilder {
    base()
        .timeout(limits.timeout)
        .connect_timeout(limits.connect_timeout())
        .read_timeout(limits.idle_timeout())
}

fn base() -> ClientBuilder {
    // Another part of the program may have installed a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bundled = bundled_authorities().iter();
    // After a redirect, the `Referer` would disclose the original URL's query to the second server.
    Client::builder()
        .user_agent(USER_AGENT)
        .referer(false)
        .tls_certs_merge(bundled.filter_map(|it| Certificate::from_der(it).ok()))
}

fn finish(builder: ClientBuilder) -> Result<Client, FetchError> {
    builder.build().map_err(|error| FetchError::Setup {
        reason: innermost(&error),
    })
}

/// Returns the reason why a redirect must not be followed, if any. `previous` contains the URLs
/// requested so far, starting with the original URL.
pub(super) fn refusal(previous: &[Url], next: &Url, max: usize) -> Option<String> {
    if !matches!(next.scheme(), "http" | "https") {
        return Some(format!("the target is a {}: URL", next.scheme()));
    }
    // Detected immediately instead of after `max` fetches of the same pages.
    if previous.contains(next) {
        return Some("redirect loop".to_owned());
    }
    if previous.len() > max {
        return Some(format!("more than {max} redirects"));
    }
    let secure = previous.last().is_some_and(|last| last.scheme() == "https");
    // An attacker on the network could replace content that https protected so far.
    (secure && next.scheme() == "http").then(|| "the target changes from https to http".to_owned())
}

/// The error for a host that has no public address.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the host has no public address")]
pub(super) struct NonPublicAddress;

/// The system's resolver, restricted to public addresses.
#[derive(Clone, Copy, Debug)]
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|it| is_public(it.ip())).collect();
            if public.is_empty() {
                return Err(NonPublicAddress.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// An error that occurs when a gzip file is decompressed.
#[derive(Debug, thiserror::Error)]
pub enum UnzipError {
    /// The data is not in gzip format, or is truncated.
    #[error("cannot decompress the file: {0}; recompress it with gzip")]
    Broken(#[source] io::Error),
    /// The decompressed content is larger than the limit.
    #[error("the file contains more than {0} bytes; raise the limit, or split the file")]
    TooLarge(u64),
}

/// Returns `true` if the bytes begin with the gzip signature (RFC 1952 §2.3.1).
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1F, 0x8B, 8])
}

/// Decompresses a gzip file that contains at most `max_bytes` of data.
///
/// # Errors
///
/// Returns an error if the data is not gzip, is damaged, or decompresses to over `max_bytes`.
/// Memory use is limited to `max_bytes`.
pub fn gunzip(bytes: &[u8], max_bytes: u64) -> Result<Vec<u8>, UnzipError> {
    let mut text = Vec::new();
    // A gzip file may have several consecutive members (RFC 1952 §2.2).
    let decoder = MultiGzDecoder::new(bytes);
    let limited = decoder
        // One more byte distinguishes a file that is too large from a file that just fits.
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut text);
    limited.map_err(UnzipError::Broken)?;
    if text.len() as u64 > max_bytes {
        return Err(UnzipError::TooLarge(max_bytes));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[tokio::test]
    async fn name_with_a_private_address_does_not_resolve() {
        let name: Name = "localhost".parse().unwrap();
        let error = PublicResolver.resolve(name).await.err().unwrap();
        assert_eq!(error.to_string(), "the host has no public address");
    }

    fn refused(previous: &[&str], next: &str) -> Option<String> {
        let previous: Vec<Url> = previous.iter().map(|url| url.parse().unwrap()).collect();
        refusal(&previous, &next.parse().unwrap(), 2)
    }

    #[test]
    fn redirects_are_limited_to_http_and_tls() {
        assert_eq!(refused(&["http://a/"], "http://a/b"), None);
        assert_eq!(refused(&["http://a/"], "https://a/"), None);
        assert_eq!(refused(&["https://a/", "https://b/"], "https://c/"), None);
        for (previous, next, reason) in [
            (
                &["http://a/"][..],
                "file:///etc/passwd",
                "the target is a file: URL",
            ),
            (&["http://a/"], "ftp://a/", "the target is a ftp: URL"),
            (
                &["https://a/"],
                "http://a/",
                "the target changes from https to http",
            ),
            (&["http://a/", "http://b/"], "http://a/", "redirect loop"),
            (
                &["http://a/", "http://b/", "http://c/"],
                "http://d/",
                "more than 2 redirects",
            ),
        ] {
            assert_eq!(refused(previous, next).as_deref(), Some(reason));
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn file_is_decompressed_within_the_limit() {
        let zipped = gzip(b"robots");
        assert!(is_gzip(&zipped) && !is_gzip(b"robots"));
        assert_eq!(gunzip(&zipped, 6).unwrap(), b"robots");
        assert!(matches!(gunzip(&zipped, 5), Err(UnzipError::TooLarge(5))));
        assert!(matches!(gunzip(b"robots", 9), Err(UnzipError::Broken(_))));
        assert!(matches!(
            gunzip(&zipped[..12], 9),
            Err(UnzipError::Broken(_))
        ));
    }

    #[test]
    fn decompression_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        assert!(matches!(gunzip(&bomb, 1_000), Err(UnzipError::TooLarge(_))));
    }
}
