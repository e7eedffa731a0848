//! Several servers: selection, exclusion of failed servers, and its costs.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use robot_detection::listen::ListenSettings;
use robot_detection::proxy::{HealthCheck, Proxy, ProxySettings, ServerState};
use tokio::{net::TcpListener, runtime, sync::Notify};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings, proxy_with},
    program::{DEADLINE, eventually},
    raw::{RawClient, RawServer, body, exchange, soon, status},
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\ndata";

async fn named(name: &str) -> RawServer {
    let len = name.len();
    RawServer::answering(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{name}"
    ))
    .await
}

async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

fn settings(addrs: &[SocketAddr]) -> ProxySettings {
    ProxySettings {
        servers: addrs.iter().map(|addr| format!("http://{addr}")).collect(),
        connect_timeout: Duration::from_secs(10),
        response_timeout: Duration::from_secs(10),
        ..ProxySettings::default()
    }
}

/// Returns the state of the server at this address.
fn state(proxy: &Proxy, addr: SocketAddr) -> ServerState {
    let mut states = proxy.servers().into_iter();
    states
        .find(|state| state.url == format!("http://{addr}/"))
        .unwrap()
}

async fn at_rest(proxy: &Proxy, addr: SocketAddr) {
    eventually_async("no request is in flight", async || {
        state(proxy, addr).in_flight == 0
    })
    .await;
}

async fn healthy(proxy: &Proxy, addr: SocketAddr, expected: bool) {
    eventually_async("the server's health is updated", async || {
        state(proxy, addr).is_healthy == expected
    })
    .await;
}

#[tokio::test]
async fn requests_are_shared_among_servers() {
    let (one, two) = (named("one").await, named("two").await);
    let front = ProxyServer::serve_proxy(
        listen_settings(),
        proxy_with(settings(&[one.addr, two.addr])),
    )
    .await;
    let mut client = RawClient::connect(front.addr).await;
    let mut answers = BTreeMap::new();
    for _ in 0..100 {
        client.send(GET).await;
        let answer = client.response().await;
        *answers.entry(body(&answer).to_owned()).or_insert(0) += 1;
    }
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(one.requests().len() + two.requests().len(), 100);
}

#[tokio::test]
async fn a_busy_server_gets_no_more_than_its_share() {
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let slow = RawServer::start(move |mut connection| {
        let wait = Arc::clone(&wait);
        async move {
            while connection.request().await.is_some() {
                wait.notified().await;
                connection
                    .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
                    .await;
            }
        }
    })
    .await;
    let fast = named("fast").await;
    let proxy = proxy_with(settings(&[slow.addr, fast.addr]));
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    let addr = front.addr;
    let tasks = TaskTracker::new();
    // Until one request hangs, either server may get each request.
    eventually_async("one request hangs", async || {
        tasks.spawn(async move {
            assert_eq!(status(&exchange(addr, GET).await), 200);
        });
        state(&proxy, slow.addr).in_flight > 0
    })
    .await;
    at_rest(&proxy, fast.addr).await;
    for _ in 0..20 {
        assert_eq!(body(&exchange(addr, GET).await), "fast");
        at_rest(&proxy, fast.addr).await;
    }
    go_on.notify_one();
    tasks.close();
    soon(tasks.wait()).await;
    at_rest(&proxy, slow.addr).await;
}

#[tokio::test]
async fn an_unreachable_server_loses_no_request() {
    let gone = nobody().await;
    let there = named("there").await;
    let proxy = proxy_with(settings(&[gone, there.addr]));
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    for number in 0..40 {
        let request = if number % 2 == 0 { GET } else { POST };
        let answer = exchange(front.addr, request).await;
        assert_eq!((status(&answer), body(&answer)), (200, "there"));
    }
    assert_eq!(there.requests().len(), 40);
    let gone = state(&proxy, gone);
    assert!(!gone.is_healthy && gone.failures >= 3, "{gone:?}");
    assert!(gone.last_error.unwrap().contains("refused"));
    // The server was excluded after three failures: three attempts, and a few after pauses.
    assert!(gone.requests < 20, "{}", gone.requests);
    assert!(state(&proxy, there.addr).is_healthy);
}

#[tokio::test]
async fn without_a_reachable_server_the_response_is_a_bad_gateway() {
    let gone = [
        nobody().await,
        nobody().await,
        nobody().await,
        nobody().await,
    ];
    let proxy = proxy_with(settings(&gone));
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    for _ in 0..10 {
        assert_eq!(status(&exchange(front.addr, GET).await), 502);
    }
    // The last server is never excluded: all are still tried, three for each request.
    let tried: u64 = proxy.servers().iter().map(|server| server.requests).sum();
    assert_eq!(tried, 30);
    assert!(proxy.servers().iter().all(|server| !server.is_healthy));
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_to_another_server() {
    // Reads a request and closes without a response.
    let broken = RawServer::start(|mut connection| async move {
        connection.request().await;
    })
    .await;
    let there = named("there").await;
    let proxy = proxy_with(settings(&[broken.addr, there.addr]));
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    let mut failed = 0;
    for _ in 0..60 {
        match status(&exchange(front.addr, POST).await) {
            502 => failed += 1,
            other => assert_eq!(other, 200),
        }
    }
    assert_eq!(failed, broken.requests().len());
    assert_eq!(there.requests().len(), 60 - failed);
    // Three in a row, and one attempt after each pause.
    assert!((3..10).contains(&failed), "{failed}");
}

#[tokio::test]
async fn a_recovered_server_gets_requests_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let there = named("there").await;
    let proxy = proxy_with(settings(&[addr, there.addr]));
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    soon(async {
        while state(&proxy, addr).is_healthy {
            exchange(front.addr, GET).await;
        }
    })
    .await;
    let listener = TcpListener::bind(addr).await.unwrap();
    let back = RawServer::with(listener, |mut connection| async move {
        while connection.request().await.is_some() {
            connection
                .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback")
                .await;
        }
    });
    // After its pause a request tries the server again, at no cost for the client.
    eventually_async("the server is tried again", async || {
        let answer = exchange(front.addr, GET).await;
        assert_eq!(status(&answer), 200);
        body(&answer) == "back"
    })
    .await;
    healthy(&proxy, back.addr, true).await;
    assert_eq!(state(&proxy, back.addr).failures, 0);
}

/// A server with an adjustable `/health` that responds to all other requests.
async fn checked(is_well: Arc<AtomicBool>) -> RawServer {
    RawServer::start(move |mut connection| {
        let is_well = Arc::clone(&is_well);
        async move {
            while let Some(request) = connection.request().await {
                let fails = request.starts_with("GET /health ") && !is_well.load(Ordering::SeqCst);
                let status = if fails { "503 No" } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
                connection.send(answer).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_server_with_a_failing_check_is_excluded_until_the_check_succeeds() {
    let is_well = Arc::new(AtomicBool::new(true));
    let (sick, well) = (
        checked(Arc::clone(&is_well)).await,
        checked(Arc::new(AtomicBool::new(true))).await,
    );
    let check = HealthCheck::new("/health", Duration::from_millis(20)).unwrap();
    let proxy = proxy_with(ProxySettings {
        health_check: Some(check),
        ..settings(&[sick.addr, well.addr])
    });
    let asked = |server: &RawServer| {
        let requests = server.requests();
        requests.iter().filter(|r| r.starts_with("GET / ")).count()
    };
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    is_well.store(false, Ordering::SeqCst);
    exchange(front.addr, GET).await; // The first request starts the checks.
    healthy(&proxy, sick.addr, false).await;
    let before = asked(&sick);
    for _ in 0..20 {
        assert_eq!(status(&exchange(front.addr, GET).await), 200);
    }
    assert_eq!(asked(&sick), before);
    assert!(
        state(&proxy, sick.addr)
            .last_error
            .unwrap()
            .contains("/health returned 503")
    );
    assert!(proxy.check().await.unwrap_err().to_string().contains("503"));
    is_well.store(true, Ordering::SeqCst);
    healthy(&proxy, sick.addr, true).await;
    for _ in 0..60 {
        assert_eq!(status(&exchange(front.addr, GET).await), 200);
    }
    assert!(asked(&sick) > before);
    let checks = sick.requests();
    let check = checks
        .iter()
        .find(|r| r.starts_with("GET /health "))
        .unwrap();
    assert!(
        check.contains(&format!("host: {}\r\n", sick.addr)),
        "{check}"
    );
    proxy.check().await.unwrap();
    soon(proxy.close()).await;
}

#[tokio::test]
async fn checks_stop_when_the_proxy_is_dropped() {
    let server = checked(Arc::new(AtomicBool::new(true))).await;
    let check = HealthCheck::new("/health", Duration::from_millis(5)).unwrap();
    let proxy = proxy_with(ProxySettings {
        health_check: Some(check),
        ..settings(&[server.addr])
    });
    proxy.start_checks();
    eventually_async("checks arrive", async || server.requests().len() > 2).await;
    drop(proxy);
    // A running check ends, then the count stays the same.
    let (mut last, mut looks) = (0, 0);
    eventually_async("no more checks arrive", async || {
        let now = server.requests().len();
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
        looks == 20
    })
    .await;
}

#[test]
fn connections_stay_on_their_thread() {
    let main = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let server = main.block_on(named("one"));
    let proxy = proxy_with(settings(&[server.addr]));
    let ask = async |client: &mut RawClient| {
        for _ in 0..5 {
            client.send(GET).await;
            assert_eq!(status(&client.response().await), 200);
            at_rest(&proxy, server.addr).await;
        }
    };
    let turn = AtomicUsize::new(0);
    // Three threads, each with a runtime, send requests in turn, twice.
    let thread = |number: usize| {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            // A thread that waits for its turn serves nothing meanwhile.
            let listen = ListenSettings {
                header_timeout: DEADLINE,
                ..listen_settings()
            };
            let front = ProxyServer::serve_proxy(listen, proxy.clone()).await;
            let mut client = RawClient::connect(front.addr).await;
            for mine in [number, number + 3] {
                eventually("it is this thread's turn", || {
                    turn.load(Ordering::SeqCst) == mine
                });
                ask(&mut client).await;
                turn.store(mine + 1, Ordering::SeqCst);
            }
            // The thread's connection lives as long as its runtime.
            eventually("all threads have run", || turn.load(Ordering::SeqCst) == 6);
        });
    };
    std::thread::scope(|scope| {
        for number in 0..3 {
            let thread = &thread;
            scope.spawn(move || thread(number));
        }
    });
    assert_eq!(server.requests().len(), 30);
    assert_eq!(server.connections(), 3);
    // Their runtimes have ended with their connections, which must not be used again.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
                assert_eq!(status(&exchange(front.addr, GET).await), 200);
            });
        });
    });
}

#[test]
fn an_invalid_set_of_servers_is_rejected() {
    for (servers, reason) in [
        (&[][..], "needs at least one server"),
        (&["http://a", "http://b/app"], "different path"),
        (&["http://a", "ftp://b"], "the scheme"),
        (&["http://a"; 65], "at most 64 servers, but 65"),
    ] {
        let error = Proxy::new(ProxySettings {
            servers: servers.iter().map(|&url| url.to_owned()).collect(),
            ..ProxySettings::default()
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains(reason), "{text}");
    }
}
