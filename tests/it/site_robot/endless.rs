//! A site on loopback that generates its pages on request.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, Response, StatusCode, header},
};
use futures_util::stream;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

/// A site; stops when dropped.
#[derive(Debug)]
pub(crate) struct GeneratedSite {
    pub(crate) origin: String,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    _server: JoinSet<()>,
}

impl GeneratedSite {
    /// Starts a site that responds to each path with its query in the given way.
    pub(crate) async fn open(
        answer: impl Fn(&str) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let app = Router::new().fallback(move |request: Request| {
            let path = request.uri().path_and_query().unwrap().as_str().to_owned();
            let given = answer(&path);
            log.lock().unwrap().push((path, request.headers().clone()));
            async move { given }
        });
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            origin,
            asked,
            _server: server,
        }
    }

    /// Starts a site that sends these bytes and then ends the connection, so late that a kept
    /// connection may already be in use again.
    pub(crate) async fn raw(answer: fn(&str) -> Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                connections.spawn(async move {
                    // The robot may close the connection first.
                    let _ = exchange(stream, &log, answer).await;
                });
            }
        });
        Self {
            origin,
            asked,
            _server: server,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns the requested paths except `/robots.txt`, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked.iter().map(|(path, _)| path.clone());
        paths.filter(|path| path != "/robots.txt").collect()
    }

    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, headers)| headers.clone()).collect()
    }
}

async fn exchange(
    mut stream: TcpStream,
    log: &Mutex<Vec<(String, HeaderMap)>>,
    answer: fn(&str) -> Vec<u8>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let answer = answer(&path);
    log.lock().unwrap().push((path, HeaderMap::new()));
    stream.write_all(&answer).await?;
    // The next request, or the end of the connection.
    let _ = timeout(Duration::from_millis(20), stream.read_u8()).await;
    stream.shutdown().await
}

pub(crate) fn html(body: impl Into<Body>) -> Response<Body> {
    typed("text/html", body)
}

pub(crate) fn typed(media_type: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let media_type = media_type.parse().unwrap();
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

pub(crate) fn status(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

pub(crate) fn moved(location: &str) -> Response<Body> {
    let mut response = status(302);
    let location = location.parse().unwrap();
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// Returns links to each of these URLs.
pub(crate) fn links(urls: &[String]) -> String {
    let link = |url: &String| format!("<a href=\"{url}\">next</a>\n");
    urls.iter().map(link).collect()
}

/// Returns a body of a number of pieces, which counts the pieces sent.
pub(crate) fn flood(first: &'static str, pieces: u64, sent: &Arc<AtomicU64>) -> Body {
    let sent = Arc::clone(sent);
    let piece = Bytes::from(format!("{}\n", "filler ".repeat(9_362)));
    let all = (0..=pieces).map(move |number| {
        sent.fetch_add(1, Ordering::Relaxed);
        let piece = match number {
            0 => Bytes::from_static(first.as_bytes()),
            _ => piece.clone(),
        };
        Ok::<_, std::io::Error>(piece)
    });
    Body::from_stream(stream::iter(all))
}
