//! A site on loopback that records requests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderName, Response, StatusCode, header},
};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{Instant, Interval, MissedTickBehavior, interval},
};

/// A site; stops when dropped.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) origin: String,
    served: Arc<SiteState>,
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct SiteState {
    pages: Mutex<BTreeMap<String, Page>>,
    asked: Mutex<Vec<RecordedRequest>>,
    heard: tokio::sync::Notify,
    /// Times at which pages with "slow" in the path may respond.
    slow: tokio::sync::Mutex<Interval>,
}

/// Response to a path with its query.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    has_conditions: bool,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    pub(crate) method: String,
    pub(crate) is_conditional: bool,
    pub(crate) at: Instant,
}

impl Page {
    /// Returns an HTML page with a title, and an `ETag` of its content.
    pub(crate) fn html(title: &str, links: &[&str]) -> Self {
        let links = links
            .iter()
            .map(|link| format!("<a href=\"{link}\">{link}</a>"));
        let links = links.collect::<Vec<_>>().join("\n");
        Self::new(format!(
            "<title>{title}</title><h1>{title}</h1><p>Text of {title}.</p>{links}"
        ))
    }

    pub(crate) fn new(body: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: body.into(),
            has_conditions: true,
        }
    }

    /// Makes the server ignore conditions: every response is complete, with a new `ETag`.
    pub(crate) fn unconditional(mut self) -> Self {
        self.has_conditions = false;
        self
    }

    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::new("no page")
        }
    }

    pub(crate) fn moved(location: &str) -> Self {
        Self::status(302).header("location", location)
    }

    pub(crate) fn text(media_type: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), media_type.to_owned())];
        Self {
            headers,
            ..Self::new(body)
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn in_head(mut self, tag: &str) -> Self {
        self.body.insert_str(0, tag);
        self
    }

    fn etag(&self) -> String {
        let length = self.body.len();
        let sum: u64 = self.body.bytes().map(u64::from).sum();
        format!("\"{length}-{sum}-{}\"", self.headers.len())
    }

    fn answer(&self, request: &Request) -> Response<Body> {
        let etag = if self.has_conditions {
            self.etag()
        } else {
            format!("\"{:016x}\"", fastrand::u64(..))
        };
        let known = request.headers().get(header::IF_NONE_MATCH);
        let is_known = self.status == 200 && known.is_some_and(|known| known == etag.as_str());
        let mut response = Response::new(Body::empty());
        for (name, value) in &self.headers {
            let name: HeaderName = name.parse().unwrap();
            response.headers_mut().append(name, value.parse().unwrap());
        }
        response
            .headers_mut()
            .insert(header::ETAG, etag.parse().unwrap());
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            *response.status_mut() = StatusCode::from_u16(self.status).unwrap();
            *response.body_mut() = Body::from(self.body.clone());
        }
        response
    }
}

impl Site {
    pub(crate) async fn open(pages: &[(&str, Page)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut slow = interval(Duration::from_millis(4));
        slow.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let served = Arc::new(SiteState {
            pages: Mutex::default(),
            asked: Mutex::default(),
            heard: tokio::sync::Notify::new(),
            slow: tokio::sync::Mutex::new(slow),
        });
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&served));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        let site = Self {
            origin,
            served,
            _server: server,
        };
        for (path, page) in pages {
            site.put(path, page.clone());
        }
        site
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        let mut pages = self.served.pages.lock().unwrap();
        pages.insert(path.to_owned(), page);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.served.pages.lock().unwrap().remove(path);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns the requests received since the last call.
    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *self.served.asked.lock().unwrap())
    }

    /// Returns the sorted paths requested since the last call.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<_> = self.asked().into_iter().map(|asked| asked.path).collect();
        paths.sort();
        paths
    }

    /// Waits until a number of requests have arrived.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        loop {
            let heard = self.served.heard.notified();
            if self.served.asked.lock().unwrap().len() >= count {
                return;
            }
            heard.await;
        }
    }
}

async fn answer(State(served): State<Arc<SiteState>>, request: Request) -> Response<Body> {
    let path = request.uri().path_and_query().unwrap().as_str().to_owned();
    served.asked.lock().unwrap().push(RecordedRequest {
        method: request.method().to_string(),
        is_conditional: request.headers().contains_key(header::IF_NONE_MATCH),
        path: path.clone(),
        at: Instant::now(),
    });
    served.heard.notify_waiters();
    let page = served.pages.lock().unwrap().get(&path).cloned();
    if path.contains("slow") {
        served.slow.lock().await.tick().await;
    }
    page.unwrap_or_else(|| Page::status(404)).answer(&request)
}
