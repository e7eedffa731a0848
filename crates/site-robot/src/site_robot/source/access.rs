//! Access to a site: its address and credentials.

use std::fmt;

use http::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};
use url::{Origin, Url};

use super::SourceError;

/// Access to one site, with headers that are sent to this site only.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::site_robot::source::{Credentials, SiteAccess};
///
/// let access = SiteAccess::new(&"https://www.h.example/".parse().unwrap())?
///     .upstream("http://127.0.0.1:3000/".parse().unwrap())?
///     .credentials(&Credentials::Bearer("t0ken".to_owned()))?;
/// # Ok::<(), robot_detection_site_robot::site_robot::source::SourceError>(())
/// ```
#[derive(Clone)]
pub struct SiteAccess {
    origin: Origin,
    upstream: Option<Url>,
    pub(super) headers: HeaderMap,
}

/// Credentials that the site robot uses on a site.
#[derive(Clone)]
pub enum Credentials {
    /// User name and password for HTTP Basic authentication (RFC 7617).
    Basic {
        /// User name (`username`); the default is `anonymous`.
        username: String,
        /// Password (`password`).
        password: String,
    },
    /// A bearer token (RFC 6750).
    Bearer(String),
    /// A `Cookie` header as a browser sends it: `name=value; name=value`.
    Cookie(String),
}

impl SiteAccess {
    /// Creates the access to a site; the path in the URL is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL's scheme is not `http:` or `https:`.
    pub fn new(site: &Url) -> Result<Self, SourceError> {
        if !matches!(site.scheme(), "http" | "https") {
            return Err(bad_site(site));
        }
        Ok(Self {
            origin: site.origin(),
            upstream: None,
            headers: HeaderMap::new(),
        })
    }

    /// Sends requests for the site to another server, with the site's own `Host` header.
    ///
    /// This allows the site robot of a proxy to request pages directly from the upstream. The
    /// original host and scheme are passed in `Host` and `X-Forwarded-Proto`.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL's scheme is not `http:` or `https:`.
    pub fn upstream(mut self, upstream: Url) -> Result<Self, SourceError> {
        if !matches!(upstream.scheme(), "http" | "https") {
            return Err(bad_site(&upstream));
        }
        self.upstream = Some(upstream);
        Ok(self)
    }

    /// Adds credentials to each request.
    ///
    /// # Errors
    ///
    /// Returns an error if the credentials contain a character that is not allowed in a header.
    pub fn credentials(self, credentials: &Credentials) -> Result<Self, SourceError> {
        match credentials {
            Credentials::Basic { username, password } => {
                let pair = super::http::basic(username, password);
                self.secret(header::AUTHORIZATION, &pair, "password")
            }
            Credentials::Bearer(token) => {
                let token = format!("Bearer {token}");
                self.secret(header::AUTHORIZATION, &token, "token")
            }
            Credentials::Cookie(cookie) => self.secret(header::COOKIE, cookie, "cookie"),
        }
    }

    fn secret(
        mut self,
        name: HeaderName,
        value: &str,
        setting: &'static str,
    ) -> Result<Self, SourceError> {
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|_| SourceError::BadSetting { setting })?;
        // The value is excluded from debug output and from the HTTP/2 compression tables (RFC 7541
        // §7.1.3).
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    pub(super) fn is_for(&self, url: &Url) -> bool {
        // The credentials must not be sent to another host or port after a redirect.
        url.origin() == self.origin
    }

    /// Returns the upstream address for a URL on the site, and adds the required headers.
    pub(super) fn address(&self, url: &Url, headers: &mut HeaderMap) -> Option<Url> {
        let upstream = self.upstream.as_ref()?;
        let mut address = upstream.clone();
        address.set_path(url.path());
        address.set_query(url.query());
        address.set_fragment(None);
        let host = url.host_str()?;
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        headers.insert(header::HOST, HeaderValue::from_str(&host).ok()?);
        let scheme = HeaderValue::from_str(url.scheme()).ok()?;
        headers.insert(HeaderName::from_static("x-forwarded-proto"), scheme);
        Some(address)
    }
}

fn bad_site(url: &Url) -> SourceError {
    SourceError::BadSite {
        url: robot_detection_store::fetch::shown_url(url.as_str()),
    }
}

impl fmt::Debug for SiteAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of secret headers are not written.
        f.debug_struct("SiteAccess")
            .field("origin", &self.origin.ascii_serialization())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Basic { .. }",
            Self::Bearer(_) => "Bearer(..)",
            Self::Cookie(_) => "Cookie(..)",
        })
    }
}
