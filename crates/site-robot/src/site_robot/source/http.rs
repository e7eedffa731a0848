//! Source of pages that are requested over HTTP.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, Method,
    header::{self, HeaderValue},
};
use url::Url;

use robot_detection_store::fetch::{DirectClient, DirectSettings, UnzipError, gunzip, shown_url};

use super::{
    FormLogin, PageRequest, PageResponse, SiteAccess, SourceError, SourceLimits, login::FilledForm,
    session::LoginSession,
};

/// Value of the `Accept` header, which prefers pages, feeds and texts.
const ACCEPT: &str =
    "text/html, application/xhtml+xml, application/xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

type Sign = dyn Fn(&Method, &Url, &mut HeaderMap) + Send + Sync;

/// Settings of an [`HttpSource`].
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// User-Agent of the site robot, such as `robot-detection/1.0` (`user-agent`).
    pub user_agent: Option<String>,
    /// E-mail address of the operator (`email`), sent after the name and in the `From` header.
    pub email: Option<String>,
    /// Default `Referer` header of requests (`referer`).
    pub referrer: Option<String>,
    /// URL of the HTTP proxy (`auto-proxy`).
    pub proxy: Option<Url>,
    /// Limits of each request.
    pub limits: SourceLimits,
    /// Sites that have their own access settings.
    pub sites: Vec<SiteAccess>,
    /// Form login for the pages of `sites`; none by default.
    pub login: Option<FormLogin>,
    /// Signer of requests that go through a front proxy, and not directly to an upstream; none by
    /// default.
    pub pass: Option<RequestSigner>,
}

/// Function that adds a signature to the headers of a request.
///
/// The function receives the URL of the page, even if the request is sent to another server.
#[derive(Clone)]
pub struct RequestSigner(Arc<Sign>);

/// Source of pages over HTTP, which sends GET and HEAD requests and follows no redirects.
///
/// Clones share connections and logins.
#[derive(Clone, Debug)]
pub struct HttpSource {
    client: DirectClient,
    headers: HeaderMap,
    max_body_bytes: u64,
    sites: Arc<[SiteAccess]>,
    pass: Option<RequestSigner>,
    session: Option<Arc<LoginSession>>,
}

impl RequestSigner {
    /// Creates a signer from a function.
    pub fn new(sign: impl Fn(&Method, &Url, &mut HeaderMap) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sign))
    }

    /// Signs a request before it is sent.
    pub fn sign(&self, method: &Method, url: &Url, headers: &mut HeaderMap) {
        (self.0)(method, url, headers);
    }
}

impl HttpSource {
    /// Creates a source.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is zero, if a setting is not valid in a header, if the proxy is
    /// invalid, or if TLS cannot be set up.
    pub fn new(settings: HttpSettings) -> Result<Self, SourceError> {
        let user_agent = settings.user_agent.as_deref();
        let name = match (user_agent, settings.email.as_deref()) {
            (Some(name), Some(email)) => Some(format!("{name} ({email})")),
            (name, _) => name.map(str::to_owned),
        };
        let limits = settings.limits;
        let client = DirectClient::new(DirectSettings {
            user_agent: name.map(|it| value(&it, "user-agent")).transpose()?,
            connect_timeout: limits.connect_timeout,
            idle_timeout: limits.idle_timeout,
            timeout: limits.timeout,
            max_body_bytes: limits.max_body_bytes,
            proxy: settings.proxy,
            // The administrator chooses the sites, so they may have private addresses.
            is_public_only: false,
        })?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        if let Some(email) = &settings.email {
            headers.insert(header::FROM, value(email, "email")?);
        }
        if let Some(referrer) = &settings.referrer {
            headers.insert(header::REFERER, value(referrer, "referer")?);
        }
        Ok(Self {
            client,
            headers,
            max_body_bytes: limits.max_body_bytes,
            session: settings.login.map(|login| {
                let sites = settings.sites.iter().map(SiteAccess::origin);
                Arc::new(LoginSession::new(login, sites))
            }),
            sites: settings.sites.into(),
            pass: settings.pass,
        })
    }

    /// Fetches a page, as a logged-in user if a login is configured.
    ///
    /// # Errors
    ///
    /// Returns an error if no complete response arrives within the limits, or if the login fails.
    pub async fn fetch(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        match &self.session {
            Some(session) if session.covers(request.url) => session.fetch(self, request).await,
            _ => self.exchange(request, None).await,
        }
    }

    /// Returns the URL of the login form if the cookies of that form are not sent to a page because
    /// the page's address differs.
    pub(super) fn foreign_login(&self, page: &Url) -> Option<&Url> {
        self.session.as_ref()?.foreign_login(page)
    }

    /// Starts a run, which retries a failed login.
    pub(super) async fn begin_run(&self) {
        if let Some(session) = &self.session {
            session.begin_run().await;
        }
    }

    /// Sends a page request, with a `Cookie` header if `cookie` is set.
    pub(super) async fn exchange(
        &self,
        request: &PageRequest<'_>,
        cookie: Option<HeaderValue>,
    ) -> Result<PageResponse, SourceError> {
        let method = if request.is_head {
            Method::HEAD
        } else {
            Method::GET
        };
        let (address, mut headers) = self.prepare(&method, request.url, cookie);
        headers.extend(request.conditions.headers());
        let client = &self.client;
        let answer = match request.beginning {
            Some(bytes) => {
                client
                    .send_beginning(method, &address, headers, bytes)
                    .await
            }
            None => client.send(method, &address, headers).await,
        }?;
        let peer = answer.peer.map(|peer| peer.ip());
        let mut answer = PageResponse::new(answer.status, answer.headers, answer.body);
        answer.peer = peer;
        unzip_old_name(&mut answer, self.max_body_bytes).map_err(|max_body_bytes| {
            let url = shown_url(request.url.as_str());
            SourceError::TooLarge {
                url,
                max_body_bytes,
            }
        })?;
        Ok(answer)
    }

    /// Submits a form to an address, with headers returned by [`Self::prepare`].
    pub(super) async fn post_form(
        &self,
        form: &FilledForm,
        address: &Url,
        headers: HeaderMap,
    ) -> Result<PageResponse, SourceError> {
        let answer = self
            .client
            .post_form(address, headers, &form.fields)
            .await?;
        Ok(PageResponse::new(
            answer.status,
            answer.headers,
            answer.body,
        ))
    }

    /// Returns the address to which a request is sent, and the headers for the site.
    pub(super) fn prepare(
        &self,
        method: &Method,
        url: &Url,
        cookie: Option<HeaderValue>,
    ) -> (Url, HeaderMap) {
        let mut headers = self.headers.clone();
        let mut address = None;
        if let Some(site) = self.sites.iter().find(|site| site.is_for(url)) {
            address = site.address(url, &mut headers);
            headers.extend(site.headers.clone());
        }
        if let Some(cookie) = cookie {
            headers.insert(header::COOKIE, cookie);
        }
        if let (Some(pass), None) = (&self.pass, &address) {
            pass.sign(method, url, &mut headers);
        }
        (address.unwrap_or_else(|| url.clone()), headers)
    }
}

impl fmt::Debug for RequestSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestSigner")
    }
}

/// Decompresses a body that has the old coding name `x-gzip` (RFC 9110 §8.4.1.3).
///
/// A body that cannot be decompressed is left unchanged. The error contains the limit that was
/// exceeded.
fn unzip_old_name(answer: &mut PageResponse, max_bytes: u64) -> Result<(), u64> {
    let coding = answer.text(&header::CONTENT_ENCODING).unwrap_or_default();
    if !coding.eq_ignore_ascii_case("x-gzip") || answer.body.is_empty() {
        return Ok(());
    }
    match gunzip(&answer.body, max_bytes) {
        Ok(bytes) => {
            answer.body = bytes.into();
            answer.headers.remove(header::CONTENT_ENCODING);
            Ok(())
        }
        Err(UnzipError::TooLarge(limit)) => Err(limit),
        Err(UnzipError::Broken(_)) => Ok(()),
    }
}

/// Returns the value of `Authorization` for a user name and password.
pub(super) fn basic(username: &str, password: &str) -> String {
    let pair = format!("{username}:{password}");
    format!("Basic {}", STANDARD.encode(pair))
}

fn value(text: &str, setting: &'static str) -> Result<HeaderValue, SourceError> {
    HeaderValue::from_str(text).map_err(|_| SourceError::BadSetting { setting })
}
