//! How one site is reached, and who we are there.

use std::fmt;

use http::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};
use url::{Origin, Url};

use super::SourceError;

/// Access to one site: what is sent to it and to no other.
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

/// Credentials of the robot on a site.
#[derive(Clone)]
pub enum Credentials {
    /// Name and password of HTTP's own login (RFC 7617).
    Basic {
        /// Name; `anonymous` where none is given (`username`).
        username: String,
        /// Password (`password`).
        password: String,
    },
    /// Token (RFC 6750).
    Bearer(String),
    /// `Cookie` as a browser sends it: `name=value; name=value`.
    Cookie(String),
}

impl SiteAccess {
    /// Creates the access to a site; the URL's path does not count.
    ///
    /// # Errors
    ///
    /// Fails when the URL is none of `http:` or `https:`.
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

    /// Sends the site's requests to another server, with the site's `Host`.
    ///
    /// So a proxy's site robot asks the upstream itself. What the site's own URL
    /// was is said by `Host` and `X-Forwarded-Proto`.
    ///
    /// # Errors
    ///
    /// Fails when the URL is none of `http:` or `https:`.
    pub fn upstream(mut self, upstream: Url) -> Result<Self, SourceError> {
        if !matches!(upstream.scheme(), "http" | "https") {
            return Err(bad_site(&upstream));
        }
        self.upstream = Some(upstream);
        Ok(self)
    }

    /// Logs in with each request.
    ///
    /// # Errors
    ///
    /// Fails when they hold a sign that no header may.
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
        // Kept out of debug output, and out of the tables of HTTP/2's compression (RFC 7541
        // §7.1.3).
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    pub(super) fn is_for(&self, url: &Url) -> bool {
        // A redirect to another host, or to another port, must not take the login along.
        url.origin() == self.origin
    }

    /// Returns where a request for a URL of the site goes, and adds what must be sent.
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
        // Values of headers that are secret are not written.
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
