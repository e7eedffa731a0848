use std::{
    convert::Infallible,
    fmt::Write as _,
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    sync::{Notify, Semaphore},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::super::{
    arrival::Arrival,
    client_addr::TrustedProxies,
    connection::{self, Shared},
    counts::ConnectionCounts,
    http_service::{Answer, HttpService},
    listener::ListenSettings,
    places::{Addresses, Place},
    stream::{Accepted, Peer},
    workers::Crew,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

const LAST: &str = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
/// Far more than anything takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// Service whose answer is told by the path; the body tells what it was asked.
#[derive(Clone, Default)]
struct Site<const IS_PLAIN: bool>(Arc<Seen>);

#[derive(Default)]
struct Seen {
    requests: AtomicUsize,
    /// Those of which hyper knew nothing.
    plain: AtomicUsize,
    pieces: AtomicUsize,
    was_cancelled: AtomicBool,
    cancelled: Notify,
    go: Notify,
}

/// Future that tells when it is dropped.
struct Told(Arc<Seen>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.was_cancelled.store(true, SeqCst);
        self.0.cancelled.notify_one();
    }
}

impl<const IS_PLAIN: bool> HttpService for Site<IS_PLAIN> {
    type ResponseBody = AnyBody;
    type Future = Pin<Box<dyn Future<Output = Response<AnyBody>> + Send>>;

    const TAKES_BODILESS: bool = IS_PLAIN;

    fn answer(&self, request: Request<Arrival>) -> Answer<AnyBody, Self::Future> {
        let seen = Arc::clone(&self.0);
        seen.requests.fetch_add(1, SeqCst);
        if request.body().body.is_none() {
            seen.plain.fetch_add(1, SeqCst);
        }
        let path = request.uri().path().to_owned();
        match path.as_str() {
            "/never" => Answer::Later(Box::pin(async move {
                let _told = Told(seen);
                pending().await
            })),
            "/later" => Answer::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                echo(&request)
            })),
            "/go" => Answer::Later(Box::pin(async move {
                seen.go.notified().await;
                echo(&request)
            })),
            "/large" => Answer::Now(large(seen)),
            path => Answer::Now(by_path(path, &request)),
        }
    }
}

fn by_path(path: &str, request: &Request<Arrival>) -> Response<AnyBody> {
    let mut response = echo(request);
    let headers = response.headers_mut();
    match path {
        "/chunks" => *response.body_mut() = pieces(&["ab", "", "cdefghijklmnopqrst"], false),
        "/cut-chunks" => *response.body_mut() = pieces(&["ab", "cd"], true),
        "/cut-length" | "/short" => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("10"));
            *response.body_mut() = pieces(&["ab", "cd"], path == "/cut-length");
        }
        "/long" => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("3"));
            *response.body_mut() = pieces(&["ab", "cd"], false);
        }
        "/trailers" => {
            headers.insert(header::TRAILER, HeaderValue::from_static("x-sum"));
            *response.body_mut() = trailers();
        }
        "/empty" => *response.body_mut() = nothing(),
        "/none" => *response.status_mut() = StatusCode::NO_CONTENT,
        "/unmodified" => *response.status_mut() = StatusCode::NOT_MODIFIED,
        "/odd-status" => *response.status_mut() = StatusCode::from_u16(799).unwrap(),
        "/interim" => *response.status_mut() = StatusCode::EARLY_HINTS,
        "/wrong-length" => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("x"));
            *response.body_mut() = pieces(&["ab"], false);
        }
        "/head-length" => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("123"));
            *response.body_mut() = nothing();
        }
        "/closes" => drop(headers.insert(header::CONNECTION, HeaderValue::from_static("close"))),
        "/connection" => {
            headers.append(header::CONNECTION, HeaderValue::from_static("x"));
            headers.append(header::CONNECTION, HeaderValue::from_static("y, z"));
        }
        "/dated" => {
            let date = HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT");
            headers.insert(header::DATE, date);
            headers.append("x-two", HeaderValue::from_static("1"));
            headers.append("x-two", HeaderValue::from_static("2"));
        }
        _ => {}
    }
    response
}

fn echo(request: &Request<Arrival>) -> Response<AnyBody> {
    let mut text = format!(
        "{} {:?} {:?}\n",
        request.method(),
        request.uri(),
        request.version()
    );
    for (name, value) in request.headers() {
        writeln!(text, "{name}: {value:?}").unwrap();
    }
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    Response::new(body.boxed_unsync())
}

fn nothing() -> AnyBody {
    let body = Empty::new().map_err(|never: Infallible| match never {});
    body.boxed_unsync()
}

/// A body whose length nobody knows, and which may break.
fn pieces(pieces: &[&'static str], is_cut: bool) -> AnyBody {
    let pieces = pieces
        .iter()
        .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
    let pieces = stream::iter(pieces.collect::<Vec<Result<_, BoxError>>>());
    let end = stream::iter(is_cut.then(|| Err("broken".into())));
    let waits = stream::once(tokio::task::yield_now()).filter_map(|()| async { None });
    StreamBody::new(pieces.chain(waits).chain(end)).boxed_unsync()
}

fn trailers() -> AnyBody {
    let mut trailers = http::HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("1"));
    let frames = [
        Ok(Frame::data(Bytes::from_static(b"body"))),
        Ok::<_, BoxError>(Frame::trailers(trailers)),
    ];
    StreamBody::new(stream::iter(frames)).boxed_unsync()
}

/// More than anybody holds in between.
fn large(seen: Arc<Seen>) -> Response<AnyBody> {
    let piece = Bytes::from(vec![b'x'; 64 * 1024]);
    let pieces = stream::iter(0..1024).map(move |_| {
        seen.pieces.fetch_add(1, SeqCst);
        Ok(Frame::data(piece.clone()))
    });
    Response::new(StreamBody::new(pieces).boxed_unsync())
}

/// A connection, from the client's side.
struct Talk {
    client: UnixStream,
    seen: Arc<Seen>,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

impl Talk {
    fn begin<const IS_PLAIN: bool>(settings: ListenSettings) -> Self {
        let (client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let site = Site::<IS_PLAIN>::default();
        let seen = Arc::clone(&site.0);
        let shared = shared(settings);
        let stop = shared.stop.clone();
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let crew = Crew::here();
        let (seat, _) = crew.seat(&crew.members()[0]);
        let place = Place::new(permit, seat, shared.counts.accept());
        let stream = Accepted::Unix(server).into();
        let serving = connection::serve(Arc::clone(&shared), stream, Peer::Unix, place, site);
        Self {
            client: UnixStream::from_std(client).unwrap(),
            seen,
            stop,
            done: shared.tasks.spawn(serving),
        }
    }

    fn plain() -> Self {
        Self::begin::<true>(ListenSettings::default())
    }

    async fn send(&mut self, bytes: &[u8]) {
        // Who is refused may not be heard to the end.
        let _ = self.client.write_all(bytes).await;
    }

    /// Everything until the end of the connection.
    async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let reading = self.client.read_to_end(&mut bytes);
        let _ = timeout(PATIENCE, reading).await.expect("it ends");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything until what has been read ends with `end`.
    async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let read = self.client.read_buf(&mut bytes);
            let read = timeout(PATIENCE, read).await.expect("it comes").unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
        }
        String::from_utf8(bytes).unwrap()
    }

    async fn end(self) {
        drop(self.client);
        timeout(PATIENCE, self.done)
            .await
            .expect("it ends")
            .unwrap();
    }

    fn plain_requests(&self) -> usize {
        self.seen.plain.load(SeqCst)
    }
}

fn shared(settings: ListenSettings) -> Arc<Shared> {
    Arc::new(Shared {
        trusted_proxies: Arc::new(TrustedProxies::default()),
        addresses: Arc::new(Addresses::new(0)),
        settings,
        counts: Arc::new(ConnectionCounts::default()),
        stop: CancellationToken::new(),
        cut: CancellationToken::new(),
        tasks: TaskTracker::new(),
        told_of_stranger: AtomicBool::new(false),
        hears_of_refused: None,
    })
}

/// What the client gets, without the dates; and how many requests were plain.
async fn said<const IS_PLAIN: bool>(input: &str, piece: usize) -> (String, usize) {
    let mut talk = Talk::begin::<IS_PLAIN>(ListenSettings::default());
    for bytes in input.as_bytes().chunks(piece) {
        talk.send(bytes).await;
        if piece < input.len() {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    }
    let said = talk.rest().await;
    let plain = talk.plain_requests();
    talk.end().await;
    let mut lines = Vec::new();
    for line in said.split("\r\n") {
        lines.push(if line.starts_with("date: ") {
            format!("date of {} bytes", line.len())
        } else {
            line.to_owned()
        });
    }
    (lines.join("\r\n"), plain)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn same_as_hyper(input: &str, piece: usize) -> usize {
    run(async {
        let (ours, plain) = said::<true>(input, piece).await;
        let (hypers, _) = said::<false>(input, piece).await;
        assert_eq!(ours, hypers, "{input:?} in pieces of {piece}");
        plain
    })
}

const PATHS: &[&str] = &[
    "/",
    "/later",
    "/chunks",
    "/cut-chunks",
    "/cut-length",
    "/short",
    "/long",
    "/trailers",
    "/empty",
    "/none",
    "/unmodified",
    "/odd-status",
    "/wrong-length",
    "/closes",
    "/connection",
    "/dated",
];

#[test]
fn every_answer_is_the_same_as_by_hyper() {
    for path in PATHS.iter().chain(&["/head-length"]) {
        for method in ["GET", "HEAD"] {
            if (method, *path) == ("GET", "/head-length") {
                continue;
            }
            for connection in ["", "Connection: close\r\n", "Connection: Keep-Alive\r\n"] {
                let input = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{connection}\r\n");
                let plain = same_as_hyper(&format!("{input}{LAST}"), usize::MAX);
                assert!(plain > 0, "{input}");
            }
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let usual = prop::sample::select(vec![
        "Host: b",
        "Host:",
        "Connection: close",
        "Connection: Keep-Alive",
        "Connection: keep-alive, x",
        "connection: CLOSE",
        "Connection: upgrade",
        "TE: trailers",
        "Content-Length: 0",
        "Content-Length: 00",
        "Expect: 100-continue",
        "Accept: */*",
        "accept: a",
        "Accept: b",
        "X-Empty:",
        "X-Space : 1",
        "X-Fold: 1\r\n 2",
        "X-Tab:\t1\t",
        "X-Blank: ",
        "X-Nul: \u{0}",
        "X-Del: \u{7f}",
        "X-Text: é",
        "Cookie: a=b; c=d",
        "Upgrade: h2c",
        "HTTP2-Settings: AA",
        "Trailer: x",
        "no colon",
        ": no name",
        "X-CR: a\rb",
        "(x): 1",
        "Transfer-Encoding: identity",
        "Keep-Alive: 5",
    ]);
    prop_oneof![
        4 => usual.prop_map(str::to_owned),
        2 => ("[A-Za-z][A-Za-z0-9_-]{0,12}", "[ -~é]{0,20}").prop_map(|(name, value)| format!("{name}: {value}")),
    ]
}

fn head() -> impl Strategy<Value = String> {
    let method = prop::sample::select(vec![
        "GET", "GET", "GET", "GET", "HEAD", "HEAD", "OPTIONS", "DELETE", "POST", "get", "G(T",
    ]);
    let path = prop_oneof![
        3 => prop::sample::select(PATHS).prop_map(str::to_owned),
        2 => "/[!-~]{0,12}",
        1 => prop::sample::select(vec!["*", "http://b/x", "/a b", "/é", "", "/#x", "//a", "/%zz"])
            .prop_map(str::to_owned),
    ];
    let version = prop::sample::select(vec![
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/1.2",
        "HTTP/1.1 ",
    ]);
    let host = prop::sample::select(vec![
        "Host: a",
        "Host: a",
        "Host: a",
        "host: a.example:80",
        "X: y",
    ]);
    let lines = prop::collection::vec(line(), 0..4);
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"]);
    let before = prop::sample::select(vec!["", "", "", "", "", "", "\r\n", "\n"]);
    (before, method, path, version, host, lines, end).prop_map(
        |(before, method, path, version, host, lines, end)| {
            let mut head = format!("{before}{method} {path} {version}{end}{host}{end}");
            for line in lines {
                head.push_str(&line);
                head.push_str(end);
            }
            head.push_str(end);
            head
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_comes_is_answered_as_by_hyper(
        heads in prop::collection::vec(head(), 1..4),
        piece in prop_oneof![3 => Just(usize::MAX), 1 => 1_usize..40],
    ) {
        let mut input: String = heads.concat();
        input.push_str(LAST);
        // What is left of a request that is refused must not be lost with its answer.
        prop_assume!(input.len() < 1000);
        same_as_hyper(&input, piece);
    }
}

#[test]
fn only_what_is_strictly_formed_and_asks_for_an_answer_is_plain() {
    for (head, is_plain) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        (
            "HEAD /a?b=c HTTP/1.1\r\nhost: a\r\nX:\r\nX: é\t1\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
                .replace("\r\n", "\n")
                .as_str(),
            false,
        ),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", false),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", false),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nX: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nTrailer: x\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHTTP2-Settings: x\r\n\r\n",
            false,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x\r\n\r\n",
            false,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: keep-alive\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a \r\n\r\n", false),
    ] {
        let input = format!("{head}{LAST}");
        let (_, plain) = run(said::<true>(&input, usize::MAX));
        let expected = if is_plain { 2 } else { 0 };
        assert_eq!(plain, expected, "{head:?}");
    }
}

#[test]
fn an_odd_request_between_plain_ones_is_answered_in_its_turn() {
    let plain = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /later HTTP/1.1\r\nHost: a\r\n\r\n";
    let odd = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for piece in [1, 7, usize::MAX] {
        assert_eq!(
            same_as_hyper(&format!("{plain}{odd}{plain}{LAST}"), piece),
            2
        );
    }
}

#[test]
fn an_answer_that_would_be_none_is_an_error() {
    let input = format!("GET /interim HTTP/1.1\r\nHost: a\r\n\r\n{LAST}");
    let (said, plain) = run(said::<true>(&input, usize::MAX));
    let expected = "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!((said.matches("HTTP/1.1 ").count(), plain), (1, 1));
}

#[test]
fn many_requests_sent_ahead_are_answered_in_order() {
    let mut input = String::new();
    for number in 0..100 {
        let path = if number % 3 == 0 { "later" } else { "now" };
        write!(input, "GET /{path}?{number} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    }
    input.push_str(LAST);
    let (said, plain) = run(said::<true>(&input, usize::MAX));
    let order: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("GET ")?.split_once('?'))
        .map(|(_, rest)| rest.split(' ').next().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!((order, plain), (expected, 101));
}

#[test]
fn a_head_is_plain_up_to_its_limits() {
    let max = 8 * 1024;
    let head = |len: usize, lines: usize| {
        let start = "GET / HTTP/1.1\r\nHost: a\r\n";
        let more = "X: y\r\n".repeat(lines);
        let rest = len.saturating_sub(start.len() + more.len() + "C: \r\n\r\n".len());
        format!("{start}{more}C: {}\r\n\r\n", "c".repeat(rest))
    };
    assert_eq!(head(max, 0).len(), max);
    for piece in [1, 1000, usize::MAX] {
        for (head, is_plain) in [
            (head(max, 0), true),
            (head(max + 1, 0), false),
            (head(1000, 62), true),
            (head(1000, 63), false),
        ] {
            let input = format!("{head}{LAST}");
            let (said, plain) = run(said::<true>(&input, piece));
            assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{piece}");
            assert_eq!(plain, if is_plain { 2 } else { 0 }, "{piece}");
        }
    }
}

#[tokio::test]
async fn an_answer_is_given_up_when_the_client_goes() {
    let mut talk = Talk::plain();
    talk.send(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while talk.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!talk.seen.was_cancelled.load(SeqCst));
    let seen = Arc::clone(&talk.seen);
    talk.end().await;
    timeout(PATIENCE, seen.cancelled.notified()).await.unwrap();
}

#[tokio::test]
async fn what_is_sent_ahead_while_an_answer_is_waited_for_is_answered_behind_it() {
    let mut talk = Talk::plain();
    talk.send(b"GET /go HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while talk.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    let odd = "DELETE /odd HTTP/1.1\r\nHost: a\r\n\r\n";
    for byte in format!("GET /second HTTP/1.1\r\nHost: a\r\n\r\n{odd}{LAST}").bytes() {
        talk.send(&[byte]).await;
        tokio::task::yield_now().await;
    }
    talk.seen.go.notify_one();
    let said = talk.rest().await;
    let order: Vec<_> = said
        .lines()
        .filter(|line| line.ends_with("HTTP/1.1"))
        .collect();
    let expected = ["GET /go", "GET /second", "DELETE /odd", "GET /last"];
    assert_eq!(order, expected.map(|line| format!("{line} HTTP/1.1")));
    assert_eq!(talk.plain_requests(), 2);
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_and_its_answer_is_not_made_ahead() {
    let mut talk = Talk::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(Duration::from_hours(1), &mut talk.done)
        .await
        .expect("it is cut")
        .unwrap();
    let made = talk.seen.pieces.load(SeqCst);
    assert!((1..64).contains(&made), "{made}");
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let mut talk = Talk::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    let said = talk.rest().await;
    assert_eq!(said.matches("10000\r\n").count(), 1024);
    assert!(said.ends_with("\r\n0\r\n\r\n"), "{}", said.len());
    assert_eq!(said.matches('x').count(), 64 * 1024 * 1024);
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_connection_before_a_request_and_after_one() {
    for first in [
        "",
        "GET / HT",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nG",
    ] {
        let mut talk = Talk::plain();
        talk.send(first.as_bytes()).await;
        timeout(Duration::from_hours(1), &mut talk.done)
            .await
            .expect("it ends")
            .unwrap();
    }
}

#[tokio::test]
async fn a_drain_ends_an_idle_connection_and_lets_an_answer_end() {
    let mut idle = Talk::plain();
    idle.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(
        !idle
            .until("host: \"a\"\n")
            .await
            .contains("connection: close")
    );
    idle.stop.cancel();
    assert_eq!(idle.rest().await, "");
    idle.end().await;
    let mut busy = Talk::plain();
    busy.send(b"GET /go HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while busy.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    busy.stop.cancel();
    tokio::time::sleep(Duration::from_millis(300)).await;
    busy.seen.go.notify_one();
    assert!(busy.rest().await.contains("\r\nconnection: close\r\n"));
    busy.end().await;
}

#[tokio::test]
async fn a_head_that_has_begun_before_a_drain_is_answered() {
    for (rest, plain) in [("\nHost: a\r\n\r\n", 1), ("\nHost: a\r\nTE: x\r\n\r\n", 0)] {
        let mut talk = Talk::plain();
        talk.send(b"GET / HTTP/1.1\r").await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        talk.stop.cancel();
        tokio::time::sleep(Duration::from_millis(300)).await;
        talk.send(rest.as_bytes()).await;
        let said = talk.rest().await;
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
        assert_eq!(talk.plain_requests(), plain);
        talk.end().await;
    }
}
