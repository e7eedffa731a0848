//! Source of pages that are requested from the application in this process.

use std::{fmt, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Response, Uri,
    header::{self, HeaderName, HeaderValue},
};
use http_body_util::BodyExt as _;
use tokio::{task::JoinSet, time};
use tower::{BoxError, Service, ServiceExt as _, util::BoxCloneSyncService};
use url::Url;

use robot_detection_store::fetch::{UnzipError, gunzip};

use super::{PageRequest, PageResponse, SourceError, SourceLimits};

type Prepare = dyn Fn(&mut Request<Body>) + Send + Sync;
type App = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// Source of pages that calls the application directly, without a network or a password.
///
/// A closure marks each request as logged in, with an extension, a header, or anything else that
/// the application's login would add. The application receives origin-form URIs and a `Host`
/// header, as over HTTP/1.1, and only GET and HEAD requests. Clones are cheap.
#[derive(Clone)]
pub struct ApplicationSource {
    app: App,
    prepare: Arc<Prepare>,
    headers: HeaderMap,
    limits: SourceLimits,
}

impl ApplicationSource {
    /// Creates a source from a service, such as an `axum::Router`.
    pub fn new<S, E>(app: S, prepare: impl Fn(&mut Request<Body>) + Send + Sync + 'static) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = E>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        E: Into<BoxError> + 'static,
    {
        Self {
            app: BoxCloneSyncService::new(app.map_err(Into::into)),
            prepare: Arc::new(prepare),
            headers: HeaderMap::new(),
            limits: SourceLimits::default(),
        }
    }

    /// Sets the limits of each request.
    #[must_use]
    pub fn limits(mut self, limits: SourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a header to each request, such as `User-Agent` or the token for our own layer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Fetches a page.
    ///
    /// # Errors
    ///
    /// Returns an error if the application fails, or if no complete response arrives within the
    /// limits.
    pub async fn fetch(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        let url = request.url;
        let exchange = exchange(
            self.app.clone(),
            Arc::clone(&self.prepare),
            self.request(request)?,
            request.beginning,
            self.limits.clone(),
        );
        // The application runs in a separate task, so that a panic is contained, and dropping this
        // future cancels the request.
        let mut tasks = JoinSet::new();
        tasks.spawn(exchange);
        let limit = self.limits.timeout;
        let answer = match time::timeout(limit, tasks.join_next()).await {
            Err(_) => Err(Fault::Timeout(limit)),
            Ok(Some(Ok(answer))) => answer,
            Ok(_) => Err(Fault::Application("the application panicked".to_owned())),
        };
        answer.map_err(|fault| fault.on(url, &self.limits))
    }

    fn request(&self, request: &PageRequest<'_>) -> Result<Request<Body>, SourceError> {
        let url = request.url;
        let bad = |reason| SourceError::NotServed {
            url: url.to_string(),
            reason,
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("the application serves only http: and https: URLs"));
        }
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut asked = Request::new(Body::empty());
        *asked.uri_mut() = path_of(url).ok_or_else(|| bad("the path is invalid"))?;
        if request.is_head {
            *asked.method_mut() = Method::HEAD;
        }
        let host =
            HeaderValue::from_str(&host).map_err(|_| bad("the host is not valid in a header"))?;
        asked.headers_mut().insert(header::HOST, host);
        asked.headers_mut().extend(self.headers.clone());
        asked.headers_mut().extend(request.conditions.headers());
        Ok(asked)
    }
}

impl fmt::Debug for ApplicationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApplicationSource")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// An error to which the URL has not yet been added.
enum Fault {
    Application(String),
    Timeout(time::Duration),
    TooLarge,
}

impl Fault {
    fn on(self, url: &Url, limits: &SourceLimits) -> SourceError {
        let url = url.to_string();
        match self {
            Self::Application(reason) => SourceError::Application { url, reason },
            Self::Timeout(limit) => SourceError::Timeout { url, limit },
            Self::TooLarge => SourceError::TooLarge {
                url,
                max_body_bytes: limits.max_body_bytes,
            },
        }
    }
}

async fn exchange(
    app: App,
    prepare: Arc<Prepare>,
    mut request: Request<Body>,
    beginning: Option<u64>,
    limits: SourceLimits,
) -> Result<PageResponse, Fault> {
    let is_head = *request.method() == Method::HEAD;
    prepare(&mut request);
    let response = app
        .oneshot(request)
        .await
        .map_err(|error| broken(&*error))?;
    let (mut parts, body) = response.into_parts();
    let mut body = if is_head {
        Bytes::new()
    } else {
        read(body, beginning, &limits).await?
    };
    // The body may be compressed, because there is no HTTP client that would have decompressed it.
    let encoding = parts.headers.get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"gzip")) && !body.is_empty() {
        body = unzip(&body, &limits)?;
        parts.headers.remove(header::CONTENT_ENCODING);
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    Ok(PageResponse::new(
        parts.status.as_u16(),
        parts.headers,
        body,
    ))
}

/// Reads a body within the limits.
async fn read(
    mut body: Body,
    beginning: Option<u64>,
    limits: &SourceLimits,
) -> Result<Bytes, Fault> {
    let mut bytes = Vec::new();
    let enough = beginning.and_then(|bytes| usize::try_from(bytes).ok());
    let idle = limits.idle_timeout;
    loop {
        let frame = time::timeout(idle, body.frame()).await;
        let frame = match frame.map_err(|_| Fault::Timeout(idle))? {
            None => return Ok(bytes.into()),
            Some(frame) => frame.map_err(|error| broken(&error))?,
        };
        if let Some(data) = frame.data_ref() {
            let length = bytes.len().saturating_add(data.len());
            if let Some(enough) = enough.filter(|enough| length > *enough) {
                bytes.extend_from_slice(data);
                bytes.truncate(enough);
                return Ok(bytes.into());
            }
            if length > limits.max_length() {
                return Err(Fault::TooLarge);
            }
            bytes.extend_from_slice(data);
        }
    }
}

fn unzip(bytes: &[u8], limits: &SourceLimits) -> Result<Bytes, Fault> {
    match gunzip(bytes, limits.max_body_bytes) {
        Ok(bytes) => Ok(bytes.into()),
        Err(UnzipError::TooLarge(_)) => Err(Fault::TooLarge),
        Err(error) => Err(broken(&error)),
    }
}

fn broken(error: &dyn std::error::Error) -> Fault {
    let reason = error.to_string();
    Fault::Application(
        reason
            .chars()
            .filter(|c| !c.is_control())
            .take(300)
            .collect(),
    )
}

/// Returns the path and query of a URL.
fn path_of(url: &Url) -> Option<Uri> {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()).parse().ok(),
        None => url.path().parse().ok(),
    }
}
