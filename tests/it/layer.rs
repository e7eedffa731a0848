//! The layer in front of real servers over loopback, and around services that misbehave.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    convert::Infallible,
    fmt,
    future::{Future, Ready, ready},
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header},
    middleware,
    response::IntoResponse,
    routing::{any, get},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use robot_detection::{
    clock::Clock,
    detect::{Detector, SharedDetector, Verdict},
    layer::{ClaimedRequest, Identification, Outcome, RobotDetectionLayer, SiteRobotKey, Verdicts},
    policy::{Action, EnforcementMode, Policy, PolicyBuilder, Rule, SharedPolicy, Spoofed},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
    robots_txt::{Dialect, RobotsTxt},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::TaskTracker;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const MEMBERS: &str = "/members-only-stuff/reports/";
const HEADER: HeaderName = HeaderName::from_static("x-robot-detection");

/// Response as received.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    fn all(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    fn body(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Sends bytes on a new connection and reads to its end.
async fn exchange(addr: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    Reply {
        status: status.parse().unwrap(),
        headers: lines
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_ascii_lowercase(), value.to_owned())
            })
            .collect(),
        body: bytes[end + 4..].to_vec(),
    }
}

/// Sends a request with the given header lines, each ended by CRLF.
async fn send(addr: SocketAddr, method: &str, target: &str, lines: &[u8]) -> Reply {
    let mut request = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n").into_bytes();
    if !lines.to_ascii_lowercase().starts_with(b"host:") {
        request.extend_from_slice(b"host: site.example\r\n");
    }
    request.extend_from_slice(lines);
    request.extend_from_slice(b"\r\n");
    exchange(addr, &request).await
}

async fn visit(addr: SocketAddr, method: &str, target: &str, user_agent: &str) -> Reply {
    let line = format!("user-agent: {user_agent}\r\n");
    send(addr, method, target, line.as_bytes()).await
}

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    TaskTracker::new().spawn(axum::serve(listener, app).into_future());
    addr
}

fn robot(id: &str, token: &str) -> Robot {
    let mut robot = Robot::new(id, Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
    robot.purpose = Purpose::Search;
    robot
}

fn detector(robots: impl IntoIterator<Item = Robot>) -> Detector {
    Detector::new(robots.into_iter().map(Arc::new)).unwrap()
}

fn layer(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> RobotDetectionLayer {
    let mut curl = robot("curl", "curl");
    curl.purpose = Purpose::Library;
    let detector = detector([robot("googlebot", "Googlebot"), curl]);
    let policy = change(Policy::builder()).build().unwrap();
    RobotDetectionLayer::new(SharedDetector::new(detector), SharedPolicy::new(policy))
}

/// Returns the visitor's identity, as found in the extension and in the header.
async fn who(robot: Option<Identification>, headers: HeaderMap) -> String {
    let robot = robot.map_or_else(|| "nobody".to_owned(), |it| it.id().to_owned());
    let told: Vec<_> = headers
        .iter()
        .filter(|(name, _)| name.as_str().contains("detection"))
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect();
    format!("{robot} {}", told.join(" "))
}

/// Greets robots; the extractor rejects other visitors.
async fn for_robots(robot: Identification) -> String {
    format!("welcome, {}", robot.id())
}

fn site(layer: RobotDetectionLayer) -> Router {
    Router::new()
        .route("/", any(who))
        .route("/robot-heaven/", get(async || "static heaven"))
        .route("/robot-heaven/{page}", get(who))
        .route("/robots.txt", get(async || "User-agent: *\n"))
        .route("/for-robots", get(for_robots))
        .fallback(any(who))
        .layer(layer)
}

#[tokio::test]
async fn a_handler_for_robots_rejects_people() {
    let addr = serve(site(layer(|policy| policy))).await;
    let robot = visit(addr, "GET", "/for-robots", GOOGLEBOT).await;
    assert_eq!(
        (robot.status, &*robot.body),
        (200, &b"welcome, googlebot"[..])
    );
    let person = visit(addr, "GET", "/for-robots", FIREFOX).await;
    assert_eq!(person.status, 403);
    assert_eq!(person.body, b"this page is for robots\n");
}

#[tokio::test]
async fn robot_on_a_filtered_path_is_redirected_and_not_cached() {
    let addr = serve(site(layer(|policy| policy))).await;
    let reply = visit(addr, "GET", &format!("{MEMBERS}?a=b"), GOOGLEBOT).await;
    assert_eq!(reply.status, 302);
    assert_eq!(reply.all("location"), ["/robot-heaven/"]);
    assert_eq!(reply.all("vary"), ["User-Agent"]);
    assert_eq!(reply.all("cache-control"), ["no-store"]);
    assert_eq!(reply.all("content-length"), ["0"]);
    assert_eq!(reply.body(), "");
}

#[tokio::test]
async fn person_on_a_filtered_path_gets_the_page_with_vary() {
    let addr = serve(site(layer(|policy| policy))).await;
    let reply = visit(addr, "GET", MEMBERS, FIREFOX).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body(), "nobody ");
    assert_eq!(reply.all("vary"), ["User-Agent"]);
    assert!(reply.all("cache-control").is_empty());
}

#[tokio::test]
async fn on_other_paths_robots_and_people_get_the_same_page_without_vary() {
    let addr = serve(site(layer(|policy| policy))).await;
    for user_agent in [GOOGLEBOT, FIREFOX] {
        let reply = visit(addr, "GET", "/", user_agent).await;
        assert_eq!(reply.status, 200);
        assert!(reply.all("vary").is_empty());
    }
}

#[tokio::test]
async fn head_is_redirected_like_get_and_other_methods_pass() {
    let addr = serve(site(layer(|policy| policy))).await;
    let get = visit(addr, "GET", MEMBERS, GOOGLEBOT).await;
    let head = visit(addr, "HEAD", MEMBERS, GOOGLEBOT).await;
    assert_eq!((get.status, head.status), (302, 302));
    let without_date = |reply: &Reply| {
        let mut headers = reply.headers.clone();
        headers.retain(|(name, _)| name != "date");
        headers.sort();
        headers
    };
    assert_eq!(without_date(&get), without_date(&head));
    for method in [
        "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get",
    ] {
        let lines = format!("user-agent: {GOOGLEBOT}\r\ncontent-length: 0\r\n");
        let reply = send(addr, method, MEMBERS, lines.as_bytes()).await;
        assert_ne!(reply.status, 302, "{method}");
        assert!(reply.all("vary").is_empty(), "{method}");
    }
}

#[tokio::test]
async fn paths_are_compared_after_decoding() {
    let addr = serve(site(layer(|policy| policy))).await;
    for (target, status) in [
        ("/members-only-stuff", 200),
        ("/members-only-stuff/", 302),
        ("/%6dembers-only-stuff/a", 302),
        ("//members-only-stuff/a", 302),
        ("/./members-only-stuff/a", 302),
        ("/a/../members-only-stuff/a", 302),
        ("/members-only-stuff/../a", 200),
        ("/members-only-stuff/%2e%2e/x", 200),
        ("/members-only-stuff/%252e%252e/x", 302),
        ("/members-only-stuff%2Fa", 302),
        ("/members-only-stuff/%zz", 302),
        ("/Members-Only-Stuff/a", 200),
        ("http://other.example/members-only-stuff/a", 302),
        ("/robots.txt", 200),
    ] {
        let reply = visit(addr, "GET", target, GOOGLEBOT).await;
        assert_eq!(reply.status, status, "{target}");
    }
}

#[tokio::test]
async fn heaven_can_be_a_static_page_or_a_script() {
    let addr = serve(site(layer(|policy| policy))).await;
    let page = visit(addr, "GET", "/robot-heaven/", GOOGLEBOT).await;
    assert_eq!((page.status, page.body()), (200, "static heaven"));
    let script = visit(addr, "GET", "/robot-heaven/reports", GOOGLEBOT).await;
    assert_eq!((script.status, script.body()), (200, "googlebot "));
}

#[tokio::test]
async fn heaven_below_a_filter_pattern_causes_no_loop() {
    let addr = serve(site(layer(|policy| {
        policy.filter_patterns(["*"]).redirect_url("/robot-heaven/")
    })))
    .await;
    assert_eq!(visit(addr, "GET", "/", GOOGLEBOT).await.status, 302);
    for target in ["/robot-heaven", "/robot-heaven/", "/robot-heaven/a"] {
        assert_eq!(visit(addr, "GET", target, GOOGLEBOT).await.status, 200);
    }
    let reply = visit(addr, "GET", "/robot-heavenly", GOOGLEBOT).await;
    assert_eq!(reply.status, 302);
}

#[tokio::test]
async fn absolute_heaven_url_applies_only_to_its_own_host() {
    let addr = serve(site(layer(|policy| {
        policy
            .filter_patterns(["*"])
            .redirect_url("http://heaven.example/robot-heaven/")
    })))
    .await;
    for (host, status) in [
        ("heaven.example", 200),
        ("Heaven.Example.:80", 200),
        ("site.example", 302),
        ("heaven.example:8080", 302),
    ] {
        let lines = format!("host: {host}\r\nuser-agent: {GOOGLEBOT}\r\n");
        let reply = send(addr, "GET", "/robot-heaven/a", lines.as_bytes()).await;
        assert_eq!(reply.status, status, "{host}");
    }
    let lines = format!("host: evil.example\r\nuser-agent: {GOOGLEBOT}\r\n");
    let reply = send(addr, "GET", MEMBERS, lines.as_bytes()).await;
    assert_eq!(
        reply.all("location"),
        ["http://heaven.example/robot-heaven/"]
    );
}

#[tokio::test]
async fn status_of_the_redirect_is_configurable() {
    for status in [301, 302, 303, 307, 308] {
        let addr = serve(site(layer(|policy| policy.status(status)))).await;
        assert_eq!(visit(addr, "GET", MEMBERS, GOOGLEBOT).await.status, status);
    }
}

#[tokio::test]
async fn nothing_is_redirected_without_patterns_or_url() {
    for layer in [
        layer(|policy| policy.filter_patterns([""])),
        layer(|policy| policy.redirect_url("")),
    ] {
        let addr = serve(site(layer)).await;
        let reply = visit(addr, "GET", MEMBERS, GOOGLEBOT).await;
        assert_eq!((reply.status, reply.body()), (200, "googlebot "));
        assert!(reply.all("vary").is_empty());
    }
}

#[tokio::test]
async fn upstream_gets_robot_headers_that_clients_cannot_forge() {
    let addr = serve(site(layer(|policy| policy).identification_header(HEADER))).await;
    let forged = "X-Robot-Detection: forged\r\nx_robot_detection: forged\r\n\
        X.Robot.Detection: forged\r\nx-robot_detection: forged\r\nx-robot-detection: again\r\n";
    for (user_agent, body) in [
        (GOOGLEBOT, "googlebot x-robot-detection=googlebot"),
        (FIREFOX, "nobody "),
    ] {
        let lines = format!("user-agent: {user_agent}\r\n{forged}");
        let reply = send(addr, "POST", MEMBERS, lines.as_bytes()).await;
        assert_eq!(reply.body(), body);
    }
}

#[tokio::test]
async fn forged_identification_from_an_outer_service_is_removed() {
    let claimed = detector([robot("forged", "x")]);
    let mut outer = RobotDetectionLayer::new(
        SharedDetector::new(claimed),
        SharedPolicy::new(Policy::builder().build().unwrap()),
    )
    .layer(
        layer(|policy| policy).layer(service_fn(async |request: Request<Body>| {
            let is_known = request.extensions().get::<Identification>().is_some();
            Ok::<_, Infallible>(Response::new(is_known.to_string()))
        })),
    );
    let request = Request::builder()
        .header(header::USER_AGENT, "x")
        .body(Body::empty())
        .unwrap();
    let response = outer.ready().await.unwrap().call(request).await.unwrap();
    assert_eq!(response.body(), "false");
}

#[tokio::test]
async fn odd_user_agents_do_no_harm_and_match_nothing_by_accident() {
    let layer = layer(|policy| policy);
    let addr = serve(site(layer.clone())).await;
    let long = format!("user-agent: {}\r\n", "a".repeat(64 << 10));
    for lines in [
        &b""[..],
        b"user-agent:\r\n",
        b"user-agent:    \r\n",
        b"user-agent: \xff\xfe\x80\r\n",
        b"user-agent: Google\xffbot\r\n",
        b"user-agent: Google\tbot\r\n",
        b"x-user-agent: Googlebot/2.1\r\n",
        b"user_agent: Googlebot/2.1\r\n",
        b"user-agent: Google\r\nuser-agent: bot\r\n",
        long.as_bytes(),
    ] {
        let reply = send(addr, "GET", MEMBERS, lines).await;
        assert_eq!(reply.status, 200, "{}", lines.escape_ascii());
    }
    // Five of them are empty, or use another header than User-Agent.
    assert_eq!(layer.stats().people.load(Ordering::Relaxed), 5);
    assert_eq!(layer.stats().nameless_passed.load(Ordering::Relaxed), 5);
}

#[tokio::test]
async fn robot_is_found_among_other_bytes_and_in_any_of_several_headers() {
    let addr = serve(site(layer(|policy| policy))).await;
    for lines in [
        &b"user-agent: \xff Googlebot/2.1 \xfe\r\n"[..],
        b"user-agent: gOOGLEBOT\r\n",
        b"user-agent: Firefox\r\nuser-agent: Googlebot/2.1\r\n",
        b"user-agent: Googlebot/2.1\r\nuser-agent: Firefox\r\n",
        b"user-agent:\r\nuser-agent: Googlebot/2.1\r\n",
    ] {
        let reply = send(addr, "GET", MEMBERS, lines).await;
        assert_eq!(reply.status, 302, "{}", lines.escape_ascii());
    }
}

#[tokio::test]
async fn robot_of_a_purpose_that_is_not_redirected_passes_with_its_identity() {
    let addr = serve(site(layer(|policy| policy))).await;
    let reply = visit(addr, "GET", MEMBERS, "curl/8.5.0").await;
    assert_eq!((reply.status, reply.body()), (200, "curl "));
    assert_eq!(reply.all("vary"), ["User-Agent"]);
}

#[tokio::test]
async fn layer_outside_the_login_responds_first() {
    async fn login(
        State(()): State<()>,
        request: axum::extract::Request,
        next: middleware::Next,
    ) -> axum::response::Response {
        if request.headers().contains_key(header::COOKIE) {
            next.run(request).await
        } else {
            (StatusCode::UNAUTHORIZED, "log in").into_response()
        }
    }
    let app = Router::new()
        .route("/members-only-stuff/{*page}", get(async || "for members"))
        .route_layer(middleware::from_fn_with_state((), login))
        .layer(layer(|policy| policy));
    let addr = serve(app).await;
    assert_eq!(visit(addr, "GET", MEMBERS, GOOGLEBOT).await.status, 302);
    let person = visit(addr, "GET", MEMBERS, FIREFOX).await;
    assert_eq!(person.status, 401);
    assert_eq!(person.all("vary"), ["User-Agent"]);
    let lines = format!("user-agent: {FIREFOX}\r\ncookie: session=1\r\n");
    let member = send(addr, "GET", MEMBERS, lines.as_bytes()).await;
    assert_eq!((member.status, member.body()), (200, "for members"));
}

#[tokio::test]
async fn another_policy_or_detector_applies_from_the_next_request() {
    let layer = layer(|policy| policy);
    let addr = serve(site(layer.clone())).await;
    let newbot = async || visit(addr, "GET", MEMBERS, "NewBot/1.0").await;
    assert_eq!(newbot().await.status, 200);
    layer.detector().replace(detector([robot("new", "NewBot")]));
    assert_eq!(newbot().await.all("location"), ["/robot-heaven/"]);
    assert_eq!(visit(addr, "GET", MEMBERS, GOOGLEBOT).await.status, 200);

    let moved = Policy::builder()
        .redirect_url("/elsewhere/")
        .status(307)
        .build();
    layer.policy().replace(moved.unwrap());
    let reply = newbot().await;
    assert_eq!(
        (reply.status, reply.all("location")),
        (307, vec!["/elsewhere/"])
    );

    let disabled = Policy::builder().redirect_url("").build();
    layer.policy().replace(disabled.unwrap());
    assert_eq!(newbot().await.status, 200);
}

#[tokio::test]
async fn visits_are_counted() {
    let layer = layer(|policy| policy);
    let addr = serve(site(layer.clone())).await;
    for (target, user_agent) in [
        (MEMBERS, GOOGLEBOT),
        (MEMBERS, GOOGLEBOT),
        ("/", GOOGLEBOT),
        (MEMBERS, FIREFOX),
        ("/", FIREFOX),
        ("/", FIREFOX),
    ] {
        visit(addr, "GET", target, user_agent).await;
    }
    let stats = layer.stats();
    assert_eq!(
        stats.robots.get(Action::Redirect).load(Ordering::Relaxed),
        2
    );
    assert_eq!(stats.robots.get(Action::Pass).load(Ordering::Relaxed), 1);
    assert_eq!(stats.people.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn standalone_layer_detects_the_bundled_robots() {
    let layer = RobotDetectionLayer::builder()
        .filter_patterns(["/members-only-stuff/*"])
        .redirect_url("/robot-heaven/")
        .never("/members-only-stuff/open")
        .identification_header(HEADER)
        .build()
        .unwrap();
    assert!(!layer.detector().load().robots().is_empty());
    assert!(layer.policy().load().redirect().is_some());
    let refused = RobotDetectionLayer::builder().redirect_url("//a").build();
    assert!(refused.unwrap_err().to_string().contains("one slash"));
}

/// Serves without axum: hyper's server, with any body that has a default.
async fn serve_hyper(layer: RobotDetectionLayer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let tasks = TaskTracker::new();
    let service = ServiceBuilder::new().layer(layer).service(service_fn(
        async |request: Request<hyper::body::Incoming>| {
            Ok::<_, Infallible>(Response::new(format!("page {}", request.uri().path())))
        },
    ));
    tasks.clone().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tasks.spawn(async move {
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    addr
}

#[tokio::test]
async fn plain_hyper_service_works_too() {
    let addr = serve_hyper(layer(|policy| policy)).await;
    let robot = visit(addr, "GET", MEMBERS, GOOGLEBOT).await;
    assert_eq!(
        (robot.status, robot.all("location")),
        (302, vec!["/robot-heaven/"])
    );
    assert_eq!(robot.all("vary"), ["User-Agent"]);
    assert_eq!(robot.all("cache-control"), ["no-store"]);
    assert_eq!(robot.all("content-length"), ["0"]);
    let head = visit(addr, "HEAD", MEMBERS, GOOGLEBOT).await;
    assert_eq!((head.status, head.body()), (302, ""));
    let person = visit(addr, "GET", MEMBERS, FIREFOX).await;
    assert_eq!(
        (person.status, person.all("vary")),
        (200, vec!["User-Agent"])
    );
    let post = visit(addr, "POST", MEMBERS, GOOGLEBOT).await;
    assert_eq!(post.status, 200);
    let heaven = visit(addr, "GET", "/robot-heaven/", GOOGLEBOT).await;
    assert_eq!(heaven.body(), "page /robot-heaven/");
}

#[tokio::test]
async fn an_applications_vary_is_kept_and_not_repeated() {
    let app = Router::new()
        .route(
            "/members-only-stuff/accept",
            get(async || [(header::VARY, "Accept")]),
        )
        .route(
            "/members-only-stuff/both",
            get(async || [(header::VARY, "accept, user-agent")]),
        )
        .layer(layer(|policy| policy));
    let addr = serve(app).await;
    let accept = visit(addr, "GET", "/members-only-stuff/accept", FIREFOX).await;
    assert_eq!(accept.all("vary"), ["Accept", "User-Agent"]);
    let both = visit(addr, "GET", "/members-only-stuff/both", FIREFOX).await;
    assert_eq!(both.all("vary"), ["accept, user-agent"]);
}

/// Error of an application that is neither boxed nor accepted by a server.
#[derive(Debug, Eq, PartialEq)]
struct OutOfPaper(u8);

impl fmt::Display for OutOfPaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of paper")
    }
}

/// Service that is ready on demand, and then fails.
#[derive(Clone, Debug)]
struct Printer {
    readiness: Poll<Result<(), u8>>,
}

impl Service<Request<()>> for Printer {
    type Response = Response<String>;
    type Error = OutOfPaper;
    type Future = Ready<Result<Response<String>, OutOfPaper>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OutOfPaper>> {
        self.readiness.map_err(OutOfPaper)
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Err(OutOfPaper(2)))
    }
}

fn request(path: &str, user_agent: &'static str) -> Request<()> {
    let mut request = Request::new(());
    *request.uri_mut() = path.parse().unwrap();
    let user_agent = HeaderValue::from_static(user_agent);
    request.headers_mut().insert(header::USER_AGENT, user_agent);
    request
}

fn poll_ready(readiness: Poll<Result<(), u8>>) -> Poll<Result<(), OutOfPaper>> {
    let mut service = layer(|policy| policy).layer(Printer { readiness });
    service.poll_ready(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn layer_is_ready_if_the_application_is() {
    assert_eq!(poll_ready(Poll::Pending), Poll::Pending);
    assert_eq!(poll_ready(Poll::Ready(Ok(()))), Poll::Ready(Ok(())));
    assert_eq!(
        poll_ready(Poll::Ready(Err(1))),
        Poll::Ready(Err(OutOfPaper(1)))
    );
}

#[tokio::test]
async fn error_of_the_application_is_passed_unchanged() {
    let mut service = layer(|policy| policy).layer(Printer {
        readiness: Poll::Ready(Ok(())),
    });
    let failed: Result<Response<String>, OutOfPaper> =
        service.call(request(MEMBERS, FIREFOX)).await;
    assert_eq!(failed.unwrap_err(), OutOfPaper(2));
    let redirected = service.call(request(MEMBERS, GOOGLEBOT)).await.unwrap();
    assert_eq!(redirected.status(), StatusCode::FOUND);
}

/// Polls an immediately ready response; returns its number of allocations.
fn allocations<S>(service: &mut S, request: Request<()>) -> (u64, Response<String>)
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible>,
{
    let mut response = None;
    let counted = allocation_counter::measure(|| {
        let future = pin!(service.call(request));
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(Ok(ready)) = future.poll(&mut context) {
            response = Some(ready);
        }
    });
    (counted.count_total, response.unwrap())
}

#[test]
fn passing_person_allocates_nothing() {
    let mut service = layer(|policy| policy.never("/admin").filter_patterns(["/m/*,*.pdf"]))
        .identification_header(HEADER)
        .layer(service_fn(|_| ready(Ok(Response::new(String::new())))));
    // The first request in a thread registers the thread with the snapshot's swap.
    allocations(&mut service, request("/", FIREFOX));
    for path in ["/", "/a%20b/../c//d?e", "/admin/%2e", "/robot-heaven/"] {
        let (count, response) = allocations(&mut service, request(path, FIREFOX));
        assert_eq!((count, response.status()), (0, StatusCode::OK), "{path}");
    }
    // The counter works: here the response allocates for its first header.
    let (count, response) = allocations(&mut service, request("/%6d/a", FIREFOX));
    assert!(count > 0);
    assert_eq!(response.headers()[header::VARY], "User-Agent");
}

#[test]
fn redirect_and_identification_allocate_little() {
    let mut service =
        layer(|policy| policy).layer(service_fn(|_| ready(Ok(Response::new(String::new())))));
    let (first, _) = allocations(&mut service, request(MEMBERS, GOOGLEBOT));
    let (second, response) = allocations(&mut service, request(MEMBERS, GOOGLEBOT));
    assert_eq!(response.status(), StatusCode::FOUND);
    assert!(second < first && second <= 2, "{first}, then {second}");
    let (passed, response) = allocations(&mut service, request("/", GOOGLEBOT));
    assert_eq!(response.status(), StatusCode::OK);
    assert!(passed <= 5, "{passed}");
}

/// Returns a layer in front of a page that shows whether the page sees our robot's signature.
fn behind_own_robot(own: Option<SiteRobotKey>, clock: &Clock) -> Router {
    let layer = RobotDetectionLayer::builder().build().unwrap();
    let layer = layer.clock(clock.clone());
    let layer = match own {
        Some(own) => layer.own_robot(own),
        None => layer,
    };
    let shown =
        |headers: HeaderMap| async move { headers.contains_key(SiteRobotKey::HEADER).to_string() };
    Router::new()
        .route("/{*path}", any(shown))
        .layer(layer.identification_header(HEADER))
}

async fn ask_as_own_robot(
    app: &Router,
    line: (&str, &str, &str),
    signature: &str,
) -> (u16, String) {
    let (method, host, target) = line;
    let request = Request::builder().method(method).uri(target);
    let request = request
        .header(header::HOST, host)
        .header(header::USER_AGENT, GOOGLEBOT)
        .header(SiteRobotKey::HEADER, signature)
        .body(Body::empty());
    let response = app.clone().oneshot(request.unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 100);
    (
        status,
        String::from_utf8(body.await.unwrap().to_vec()).unwrap(),
    )
}

#[tokio::test]
async fn our_site_robot_passes_by_a_signature_that_is_useless_for_other_requests() {
    let (own, clock) = (
        SiteRobotKey::new(&[7; 32]),
        Clock::manual(1_800_000_000_000),
    );
    let app = behind_own_robot(Some(own.clone()), &clock);
    let line = ("GET", "www.example.com", "/members-only-stuff/a?b=c");
    let sign = |(method, host, target): (&str, &str, &str)| {
        let method = method.parse().unwrap();
        let signature = own.signature(&method, host, target, clock.now_ms());
        signature.to_str().unwrap().to_owned()
    };
    let captured = sign(line);
    let passes = (200, "false".to_owned());
    assert_eq!(ask_as_own_robot(&app, line, &captured).await, passes);
    // Requests with another method, host, path or query.
    for other in [
        ("HEAD", line.1, line.2),
        ("GET", "other.example", line.2),
        ("GET", line.1, "/members-only-stuff/b?b=c"),
        ("GET", line.1, "/members-only-stuff/a?b=d"),
        ("GET", line.1, "/members-only-stuff/a"),
    ] {
        let replayed = ask_as_own_robot(&app, other, &captured).await.0;
        assert_eq!(replayed, 302, "{other:?}");
        assert_eq!(ask_as_own_robot(&app, other, &sign(other)).await.0, 200);
    }
    clock.advance(Duration::from_mins(1));
    assert_eq!(ask_as_own_robot(&app, line, &captured).await, passes);
    clock.advance(Duration::from_mins(1));
    assert_eq!(ask_as_own_robot(&app, line, &captured).await.0, 302);
    assert_eq!(ask_as_own_robot(&app, line, &sign(line)).await, passes);

    // On paths without redirects, an invalid signature is removed too.
    let elsewhere = ("GET", line.1, "/a");
    assert_eq!(ask_as_own_robot(&app, elsewhere, "wrong").await, passes);
    let stranger = behind_own_robot(None, &clock);
    assert_eq!(ask_as_own_robot(&stranger, line, &sign(line)).await.0, 302);
}

/// Counts its calls.
#[derive(Debug, Default)]
struct CountingVerifier(AtomicU64);

impl Verdicts for CountingVerifier {
    fn verdict(&self, _: &ClaimedRequest<'_>) -> Verdict {
        self.0.fetch_add(1, Ordering::Relaxed);
        Verdict::Spoofed
    }
}

/// Returns a layer that counts, slows, refuses and verifies every visit.
fn strict_layer(asked: &Arc<CountingVerifier>, own: SiteRobotKey) -> RobotDetectionLayer {
    let file = RobotsTxt::parse(b"User-agent: *\nDisallow: /\n", Dialect::default());
    let slow = Rule::builder(Action::Slow);
    let slow = slow.requests(1).per(Duration::from_hours(1));
    RobotDetectionLayer::builder()
        .policy(|policy| policy.spoofed(Spoofed::Refuse))
        .rule(slow)
        .robots_txt(file)
        .enforce_robots_txt(EnforcementMode::On)
        .build()
        .unwrap()
        .verdicts(Arc::clone(asked) as Arc<dyn Verdicts>)
        .report_outcome(true)
        .internal_path("/robot-detection/admin")
        .own_robot(own)
}

/// Returns the number of requests that a layer has counted.
fn counted(layer: &RobotDetectionLayer) -> u64 {
    let stats = layer.stats();
    let counters = [
        &stats.people,
        stats.robots.get(Action::Pass),
        stats.robots.get(Action::Refuse),
        stats.robots.get(Action::Slow),
    ];
    let numbers = counters.map(|counter| counter.load(Ordering::Relaxed));
    numbers.iter().sum()
}

#[tokio::test]
async fn our_site_robot_and_our_own_pages_are_not_visits() {
    let own = SiteRobotKey::new(&[7; 32]);
    let asked = Arc::new(CountingVerifier::default());
    let layer = strict_layer(&asked, own.clone());
    let app = Router::new()
        .fallback(get(async || ""))
        .layer(layer.clone());
    let ask = async |path: &str, user_agent: &str, is_ours: bool| {
        let mut request = Request::get(path).header(header::USER_AGENT, user_agent);
        if is_ours {
            request = request.extension(own.clone());
        }
        let request = request.body(Body::empty()).unwrap();
        app.clone().oneshot(request).await.unwrap()
    };
    for (path, is_ours, cause) in [
        ("/", true, "own-robot"),
        (MEMBERS, true, "own-robot"),
        ("/robot-detection/admin", false, "own-page"),
        ("/robot-detection/admin/robots", false, "own-page"),
    ] {
        for user_agent in [
            GOOGLEBOT,
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        ] {
            let response = ask(path, user_agent, is_ours).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            let outcome = response.extensions().get::<Outcome>().unwrap();
            assert!(outcome.is_internal(), "{path}");
            assert_eq!((outcome.robot(), outcome.cause()), (None, cause), "{path}");
        }
    }
    assert_eq!(counted(&layer), 0);
    assert_eq!(asked.0.load(Ordering::Relaxed), 0, "a claim was verified");
    assert!(layer.robots_txt().violations().rules.is_empty());

    for path in ["/", "/robot-detection/administrators"] {
        let before = counted(&layer);
        let response = ask(path, GOOGLEBOT, false).await;
        let outcome = response.extensions().get::<Outcome>().unwrap();
        assert!(!outcome.is_internal(), "{path}");
        assert_eq!(counted(&layer), before + 1, "{path}");
    }
}
