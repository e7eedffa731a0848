//! Pages over HTTP.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, Method,
    header::{self, HeaderName, HeaderValue},
};
use url::Url;

use robot_detection_store::fetch::{DirectClient, DirectSettings, UnzipError, gunzip, shown_url};

use super::{PageRequest, PageResponse, SiteAccess, SourceError, SourceLimits};

/// Value of `Accept`: pages, feeds and texts first.
const ACCEPT: &str =
    "text/html, application/xhtml+xml, application/xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// Cookies of one login that are kept, at most, in bytes.
const MAX_COOKIE_BYTES: usize = 16 * 1024;

type Sign = dyn Fn(&Method, &Url, &mut HeaderMap) + Send + Sync;

/// Settings of an [`HttpSource`].
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// Name of the robot as servers see it, such as `robot-detection/1.0` (`user-agent`).
    pub user_agent: Option<String>,
    /// E-mail address of who runs the robot; sent behind its name and as `From` (`email`).
    pub email: Option<String>,
    /// `Referer` of requests that have none of their own (`referer`).
    pub referrer: Option<String>,
    /// HTTP proxy (`auto-proxy`).
    pub proxy: Option<Url>,
    /// Limits of each request.
    pub limits: SourceLimits,
    /// Sites that are reached in a way of their own.
    pub sites: Vec<SiteAccess>,
    /// Signer of requests; none by default.
    pub signer: Option<RequestSigner>,
    /// What signs requests for those who stand before a site; an upstream that is asked itself
    /// gets none of it. Nothing by default.
    pub pass: Option<RequestSigner>,
}

/// Function that adds a signature to the headers of a request.
///
/// It gets the URL of the page, whatever server is asked for it.
#[derive(Clone)]
pub struct RequestSigner(Arc<Sign>);

/// Source of pages over HTTP: GET and HEAD, no redirect followed.
///
/// Clones share connections and logins.
#[derive(Clone, Debug)]
pub struct HttpSource {
    client: DirectClient,
    headers: HeaderMap,
    max_body_bytes: u64,
    sites: Arc<[SiteAccess]>,
    signer: Option<RequestSigner>,
    pass: Option<RequestSigner>,
    /// Cookies of logins, by origin.
    cookies: Arc<RwLock<BTreeMap<String, HeaderValue>>>,
}

impl RequestSigner {
    /// Creates one of a function.
    pub fn new(sign: impl Fn(&Method, &Url, &mut HeaderMap) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sign))
    }

    /// Signs a request to be sent.
    pub fn sign(&self, method: &Method, url: &Url, headers: &mut HeaderMap) {
        (self.0)(method, url, headers);
    }
}

impl HttpSource {
    /// Creates a source.
    ///
    /// # Errors
    ///
    /// Fails when a limit is zero, a setting fits in no header, the proxy is
    /// none, or TLS cannot be set up.
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
            // Who runs the robot names the sites, and theirs may have private addresses.
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
            sites: settings.sites.into(),
            signer: settings.signer,
            pass: settings.pass,
            cookies: Arc::default(),
        })
    }

    /// Fetches a page.
    ///
    /// # Errors
    ///
    /// Fails when no whole answer comes within the limits.
    pub async fn ask(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        let method = if request.is_head {
            Method::HEAD
        } else {
            Method::GET
        };
        let (address, mut headers) = self.prepare(&method, request.url);
        headers.extend(request.conditions.headers());
        if let Some(referrer) = request
            .referrer
            .and_then(|it| HeaderValue::from_str(it).ok())
        {
            headers.insert(header::REFERER, referrer);
        }
        self.sign(&method, request.url, &mut headers);
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

    /// Logs in by a form, once: the cookies it gives are sent to its site from then on.
    ///
    /// # Errors
    ///
    /// Fails when no answer comes, or one of an error or without a cookie.
    pub async fn log_in(&self, url: &Url, fields: &[(String, String)]) -> Result<(), SourceError> {
        let (address, mut headers) = self.prepare(&Method::POST, url);
        self.sign(&Method::POST, url, &mut headers);
        let answer = self.client.post_form(&address, headers, fields).await?;
        let refused = || SourceError::Login {
            url: shown_url(url.as_str()),
            status: answer.status,
        };
        if answer.status >= 400 {
            return Err(refused());
        }
        let cookie = cookie_of(&answer.headers).ok_or_else(refused)?;
        // What a lock guards here is whole at any moment.
        let mut cookies = self.cookies.write().unwrap_or_else(PoisonError::into_inner);
        cookies.insert(origin(url), cookie);
        Ok(())
    }

    fn sign(&self, method: &Method, url: &Url, headers: &mut HeaderMap) {
        if let Some(signer) = &self.signer {
            signer.sign(method, url, headers);
        }
    }

    /// Returns where a request goes, and what it says to that site.
    fn prepare(&self, method: &Method, url: &Url) -> (Url, HeaderMap) {
        let mut headers = self.headers.clone();
        let mut address = None;
        if let Some(site) = self.sites.iter().find(|site| site.is_for(url)) {
            address = site.address(url, &mut headers);
            headers.extend(site.headers.clone());
        }
        let cookies = self.cookies.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(cookie) = cookies.get(&origin(url)) {
            headers.insert(header::COOKIE, cookie.clone());
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

/// Decompresses a body whose coding goes by its old name (RFC 9110 §8.4.1.3).
///
/// What cannot be decompressed stays as it is. The error is the limit that it passes.
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

/// Returns the value of `Authorization` for a name and a password.
pub(super) fn basic(username: &str, password: &str) -> String {
    let pair = format!("{username}:{password}");
    format!("Basic {}", STANDARD.encode(pair))
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn value(text: &str, setting: &'static str) -> Result<HeaderValue, SourceError> {
    HeaderValue::from_str(text).map_err(|_| SourceError::BadSetting { setting })
}

/// Returns the `Cookie` that sends back what `Set-Cookie` headers gave.
fn cookie_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut cookies = BTreeMap::new();
    for line in headers.get_all(HeaderName::from_static("set-cookie")) {
        let line = line.to_str().unwrap_or_default();
        // Its attributes are left out: it goes back to the same origin, for as long as this source
        // lives.
        let pair = line.split(';').next().unwrap_or_default();
        if let Some((name, value)) = pair.split_once('=') {
            cookies.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    let pairs = cookies
        .into_iter()
        .filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let cookie = pairs.join("; ");
    if cookie.is_empty() || cookie.len() > MAX_COOKIE_BYTES {
        return None;
    }
    let mut cookie = HeaderValue::from_str(&cookie).ok()?;
    cookie.set_sensitive(true);
    Some(cookie)
}
