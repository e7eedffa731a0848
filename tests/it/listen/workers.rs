//! Connections stay on the thread that accepted them.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use hyper::body::Incoming;
use robot_detection::listen::{ListenSettings, Listener, TowerAdapter, Workers};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::support::{
    front::listen_settings,
    log,
    raw::{RawClient, body, soon, status},
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

async fn thread_name(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let thread = std::thread::current();
    Ok(Response::new(thread.name().unwrap_or_default().to_owned()))
}

#[tokio::test]
async fn connections_are_distributed_over_the_threads_and_stay_there() {
    let workers = Arc::new(Workers::start(3).unwrap());
    let listener = Listener::bind(listen_settings()).await.unwrap();
    let (addr, stop) = (listener.local_addr(), CancellationToken::new());
    let tasks = TaskTracker::new();
    let (crew, stopped) = (Arc::clone(&workers), stop.clone());
    let service = tower::service_fn(thread_name);
    let done = tasks.spawn(async move {
        listener
            .serve_http(Some(&crew), TowerAdapter(service), stopped)
            .await;
    });

    let mut clients = Vec::new();
    let mut threads = BTreeMap::<String, usize>::new();
    for _ in 0..12 {
        let mut client = RawClient::connect(addr).await;
        let mut names = Vec::new();
        for _ in 0..5 {
            client.send(GET).await;
            names.push(body(&client.response().await).to_owned());
        }
        names.dedup();
        assert_eq!(names.len(), 1, "{names:?}");
        *threads.entry(names.remove(0)).or_default() += 1;
        clients.push(client);
    }
    assert_eq!(
        threads.keys().collect::<Vec<_>>(),
        ["worker-0", "worker-1", "worker-2"]
    );
    assert!(threads.values().all(|count| *count >= 3), "{threads:?}");

    stop.cancel();
    soon(done).await.unwrap();
    for mut client in clients {
        assert!(client.rest().await.is_empty());
    }
}

#[tokio::test]
async fn one_listener_needs_only_its_port_even_with_many_threads() {
    let workers = Workers::start(2).unwrap();
    let listener = Listener::bind(listen_settings()).await.unwrap();
    let again = ListenSettings {
        addr: listener.addr().clone(),
        ..listen_settings()
    };
    let stop = CancellationToken::new();
    let serving = listener.serve_http(
        Some(&workers),
        TowerAdapter(tower::service_fn(thread_name)),
        stop.clone(),
    );
    let asking = async {
        let error = Listener::bind(again).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
        stop.cancel();
    };
    soon(async { tokio::join!(serving, asking) }).await;
}

#[tokio::test]
async fn shutdown_waits_for_requests_on_all_threads() {
    let workers = Arc::new(Workers::start(2).unwrap());
    let listener = Listener::bind(listen_settings()).await.unwrap();
    let (addr, stop) = (listener.local_addr(), CancellationToken::new());
    let (begun, go) = (Arc::new(Notify::new()), CancellationToken::new());
    let service = {
        let (begun, go) = (Arc::clone(&begun), go.clone());
        tower::service_fn(move |_: Request<Incoming>| {
            let (begun, go) = (Arc::clone(&begun), go.clone());
            async move {
                begun.notify_one();
                go.cancelled().await;
                Ok::<_, Infallible>(Response::new("late".to_owned()))
            }
        })
    };
    let (crew, stopped) = (Arc::clone(&workers), stop.clone());
    let done = TaskTracker::new().spawn(async move {
        listener
            .serve_http(Some(&crew), TowerAdapter(service), stopped)
            .await;
    });
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = RawClient::connect(addr).await;
        client.send(GET).await;
        soon(begun.notified()).await;
        clients.push(client);
    }
    stop.cancel();
    go.cancel();
    for mut client in clients {
        let response = client.response().await;
        assert_eq!((status(&response), body(&response)), (200, "late"));
    }
    soon(done).await.unwrap();
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

/// Service that panics when cloned for its first connection.
#[derive(Debug)]
struct PanicsOnClone(Arc<AtomicBool>);

impl Clone for PanicsOnClone {
    fn clone(&self) -> Self {
        let on_worker = std::thread::current().name() == Some("worker-0");
        let fails = on_worker && !self.0.swap(true, Ordering::SeqCst);
        assert!(!fails, "panics once, on demand");
        Self(Arc::clone(&self.0))
    }
}

impl tower::Service<Request<Incoming>> for PanicsOnClone {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Incoming>) -> Self::Future {
        std::future::ready(Ok(Response::new("fine".to_owned())))
    }
}

#[tokio::test]
async fn a_panic_while_accepting_is_logged_and_accepting_continues() {
    log::keep();
    let workers = Workers::start(1).unwrap();
    let listener = Listener::bind(listen_settings()).await.unwrap();
    let (addr, stop) = (listener.local_addr(), CancellationToken::new());
    let failed = Arc::new(AtomicBool::new(false));
    let serving = listener.serve_http(
        Some(&workers),
        TowerAdapter(PanicsOnClone(Arc::clone(&failed))),
        stop.clone(),
    );
    let asking = async {
        let mut lost = RawClient::connect(addr).await;
        assert!(lost.rest().await.is_empty());
        let mut client = RawClient::connect(addr).await;
        client.send(GET).await;
        assert_eq!(body(&client.response().await), "fine");
        stop.cancel();
    };
    soon(async { tokio::join!(serving, asking) }).await;
    assert!(failed.load(Ordering::SeqCst));
    assert!(!log::lines_with("the accept task panicked").is_empty());
}

#[tokio::test]
async fn a_panicking_request_closes_only_its_connection() {
    let workers = Arc::new(Workers::start(1).unwrap());
    let settings = ListenSettings {
        drain_timeout: Duration::from_secs(1),
        ..listen_settings()
    };
    let listener = Listener::bind(settings).await.unwrap();
    let (addr, stop) = (listener.local_addr(), CancellationToken::new());
    let service = tower::service_fn(async |request: Request<Incoming>| {
        assert_ne!(request.uri().path(), "/panic", "panics on demand");
        Ok::<_, Infallible>(Response::new("fine".to_owned()))
    });
    let (crew, stopped) = (Arc::clone(&workers), stop.clone());
    let done = TaskTracker::new().spawn(async move {
        listener
            .serve_http(Some(&crew), TowerAdapter(service), stopped)
            .await;
    });
    let mut other = RawClient::connect(addr).await;
    other.send(GET).await;
    assert_eq!(status(&other.response().await), 200);
    let mut client = RawClient::connect(addr).await;
    client.send("GET /panic HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(client.rest().await.is_empty());
    other.send(GET).await;
    assert_eq!(status(&other.response().await), 200);
    drop(other);
    stop.cancel();
    soon(done).await.unwrap();
}
