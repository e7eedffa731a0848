//! The layer with a source of verdicts, over HTTP and in an application.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Ready, pending, ready},
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::{
    Extension, Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response},
    routing::any,
};
use robot_detection::{
    clock::Clock,
    detect::{Detector, SharedDetector, Verdict},
    layer::{
        ClaimedRequest, Identification, Outcome, RobotDetectionLayer, SiteRobotKey, VerdictFuture,
        Verdicts,
    },
    policy::{Action, Policy, PolicyBuilder, Rule, SharedPolicy, Spoofed as Treatment},
};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

use super::universe::{
    GOOGLEBOT, MEMBERS, MONITOR, Pending, Spoofed, Unverifiable, Verified, robots,
};
use crate::support::program::{Answer, FIREFOX, request};

const UNLISTED: &str = "Mozilla/5.0 (compatible; MysteryCrawler/0.1; +https://mystery.example/)";
const HEADER: HeaderName = HeaderName::from_static("x-robot-detection");

/// Verdicts by robot, and the recorded queries.
#[derive(Default)]
struct VerdictTable {
    verdicts: HashMap<String, Verdict>,
    asked: Mutex<Vec<String>>,
}

impl Verdicts for VerdictTable {
    fn verdict(&self, visit: &ClaimedRequest<'_>) -> Verdict {
        let client = visit.client.map(|client| client.to_string());
        let host = visit.headers.get("host");
        let host = host.map_or("no host", |host| host.to_str().unwrap());
        self.asked.lock().unwrap().push(format!(
            "{} {} {} of {host} by {}",
            visit.method,
            visit.uri,
            client.unwrap_or_default(),
            visit.claim.id()
        ));
        self.verdicts[visit.claim.id()]
    }

    fn settled(&self, _: &ClaimedRequest<'_>) -> Option<VerdictFuture> {
        Some(Box::pin(pending()))
    }
}

fn known(googlebot: Verdict) -> Arc<VerdictTable> {
    let verdicts = [("googlebot", googlebot), ("uptimebot", Unverifiable)];
    let verdicts = verdicts.map(|(id, verdict)| (id.to_owned(), verdict));
    Arc::new(VerdictTable {
        verdicts: verdicts.into(),
        ..VerdictTable::default()
    })
}

fn layer(policy: PolicyBuilder) -> RobotDetectionLayer {
    let detector = Detector::new(robots()).unwrap().recognise_unlisted(true);
    let policy = SharedPolicy::new(policy.build().unwrap());
    RobotDetectionLayer::new(SharedDetector::new(detector), policy).clock(Clock::manual(0))
}

/// Returns the visitor's identity as reported to handlers and upstreams.
async fn who(robot: Option<Extension<Identification>>, headers: HeaderMap) -> String {
    let verdict = robot.map(|Extension(robot)| robot.verdict().as_str());
    let told = headers
        .iter()
        .filter(|(name, _)| name.as_str().contains("detection"))
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()));
    let mut told: Vec<_> = told.collect();
    told.sort();
    [&[verdict.unwrap_or("nobody").to_owned()], &*told]
        .concat()
        .join(" ")
}

async fn serve(layer: RobotDetectionLayer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let layer = layer.client_address(|extensions| {
        let info = extensions.get::<ConnectInfo<SocketAddr>>();
        info.map(|ConnectInfo(addr)| addr.ip())
    });
    let app = Router::new().fallback(any(who)).layer(layer);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    TaskTracker::new().spawn(axum::serve(listener, app).into_future());
    addr
}

async fn visit(addr: SocketAddr, path: &'static str, user_agent: &'static str) -> Answer {
    let visiting = move || request(addr, "GET", path, &[("User-Agent", user_agent)]);
    tokio::task::spawn_blocking(visiting).await.unwrap()
}

#[tokio::test]
async fn the_verifier_is_queried_once_for_each_listed_robots_request() {
    let known = known(Verified);
    let verdicts = Arc::clone(&known) as Arc<dyn Verdicts>;
    let addr = serve(layer(Policy::builder()).verdicts(verdicts)).await;
    for user_agent in [GOOGLEBOT, FIREFOX, UNLISTED, "", MONITOR] {
        visit(addr, "/a?b=c", user_agent).await;
    }
    visit(addr, MEMBERS, GOOGLEBOT).await;
    assert_eq!(
        *known.asked.lock().unwrap(),
        [
            "GET /a?b=c 127.0.0.1 of example.org by googlebot",
            "GET /a?b=c 127.0.0.1 of example.org by uptimebot",
            "GET /members-only-stuff/a 127.0.0.1 of example.org by googlebot",
        ]
    );
}

#[tokio::test]
async fn handlers_and_the_upstream_get_the_verdict_and_clients_cannot_forge_it() {
    let forged = [
        ("X-Robot-Detection-Verdict", "verified"),
        ("x_robot_detection_verdict", "verified"),
        ("X.Robot.Detection-Verdict", "verified"),
        ("X-Robot-Detection", "googlebot"),
    ];
    let ask = async |layer: RobotDetectionLayer, user_agent: &'static str| {
        let addr = serve(layer.identification_header(HEADER)).await;
        let asking = move || {
            let headers = [&forged[..], &[("User-Agent", user_agent)]].concat();
            request(addr, "GET", "/", &headers).text()
        };
        tokio::task::spawn_blocking(asking).await.unwrap()
    };
    for &verdict in Verdict::ALL {
        let layer = || layer(Policy::builder()).verdicts(known(verdict));
        assert_eq!(
            ask(layer(), GOOGLEBOT).await,
            format!("{verdict} x-robot-detection-verdict={verdict} x-robot-detection=googlebot")
        );
        assert_eq!(
            ask(layer(), UNLISTED).await,
            "unverifiable x-robot-detection-verdict=unverifiable x-robot-detection=unlisted"
        );
        assert_eq!(ask(layer(), FIREFOX).await, "nobody");
    }
    let nobody_asked = ask(layer(Policy::builder()), GOOGLEBOT).await;
    assert_eq!(nobody_asked, "unverifiable x-robot-detection=googlebot");
}

#[tokio::test]
async fn impostors_are_refused_if_configured_and_invited_to_sign() {
    let policy = Policy::builder().spoofed(Treatment::Refuse);
    let accept = HeaderValue::from_static("sig1=(\"@authority\");tag=\"web-bot-auth\"");
    let layer = layer(policy)
        .verdicts(known(Spoofed))
        .accept_signature(accept);
    let stats = Arc::clone(layer.stats());
    let addr = serve(layer).await;
    for path in ["/", MEMBERS] {
        let answer = visit(addr, path, GOOGLEBOT).await;
        assert_eq!(answer.status, 403);
        assert_eq!(
            answer.text(),
            "This request does not come from the robot that its User-Agent claims.\n"
        );
        for (name, value) in [
            ("vary", "User-Agent"),
            ("cache-control", "no-store"),
            (
                "accept-signature",
                "sig1=(\"@authority\");tag=\"web-bot-auth\"",
            ),
        ] {
            assert_eq!(answer.header(name), value, "{name}");
        }
    }
    let exempt = visit(addr, "/robots.txt", GOOGLEBOT).await;
    assert_eq!(
        (exempt.status, &*exempt.header("accept-signature")),
        (200, "")
    );
    for user_agent in [FIREFOX, UNLISTED, MONITOR] {
        let answer = visit(addr, "/", user_agent).await;
        assert_eq!((answer.status, &*answer.header("vary")), (200, ""));
    }
    assert_eq!(
        stats
            .robots
            .get(Action::Refuse)
            .load(std::sync::atomic::Ordering::Relaxed),
        2
    );
}

#[tokio::test]
async fn only_refused_and_unverified_clients_are_invited_to_sign() {
    let refuse = Rule::builder(Action::Refuse).paths(["/private/*"]);
    for (verdict, path, status, asked) in [
        (Verified, "/private/a", 403, ""),
        (Unverifiable, "/private/a", 403, "sig"),
        (Pending, "/private/a", 403, "sig"),
        (Unverifiable, MEMBERS, 302, ""),
        (Unverifiable, "/", 200, ""),
    ] {
        let layer = layer(Policy::builder().rule(refuse.clone()))
            .verdicts(known(verdict))
            .accept_signature(HeaderValue::from_static("sig"));
        let answer = visit(serve(layer).await, path, GOOGLEBOT).await;
        let found = (answer.status, answer.header("accept-signature"));
        assert_eq!(found, (status, asked.to_owned()), "{verdict} {path}");
    }
}

/// Calls the layer without a network; returns the status and the reported outcome.
async fn told(layer: &RobotDetectionLayer, path: &str, user_agent: &str) -> String {
    let request = Request::get(path).header("user-agent", user_agent);
    let request = request.body(Body::empty()).unwrap();
    let app =
        service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
    let response = layer.layer(app).oneshot(request).await.unwrap();
    let outcome = response.extensions().get::<Outcome>().cloned();
    let outcome = outcome.unwrap_or_default();
    format!(
        "{} {} {} {}",
        response.status().as_u16(),
        outcome.verdict().map_or("-", Verdict::as_str),
        outcome.decision(),
        outcome.cause()
    )
}

#[tokio::test]
async fn the_outcome_contains_the_verdict() {
    let reporting = |policy, verdict| {
        let layer = layer(policy).verdicts(known(verdict));
        layer.report_outcome(true)
    };
    let refusing = || Policy::builder().spoofed(Treatment::Refuse);
    let redirecting = Policy::builder().spoofed(Treatment::Redirect);
    for (layer, user_agent, expected) in [
        (
            reporting(refusing(), Spoofed),
            GOOGLEBOT,
            "403 spoofed refuse spoofed",
        ),
        (
            reporting(refusing().dry_run(true), Spoofed),
            GOOGLEBOT,
            "200 spoofed refuse spoofed",
        ),
        (
            reporting(refusing(), Verified),
            GOOGLEBOT,
            "302 verified redirect purpose",
        ),
        (
            reporting(redirecting, Spoofed),
            GOOGLEBOT,
            "302 spoofed redirect spoofed",
        ),
        (
            reporting(refusing(), Spoofed),
            UNLISTED,
            "302 unverifiable redirect purpose",
        ),
        (
            reporting(refusing(), Spoofed),
            FIREFOX,
            "200 - pass not-a-robot",
        ),
        (
            layer(refusing()).report_outcome(true),
            GOOGLEBOT,
            "302 - redirect purpose",
        ),
    ] {
        assert_eq!(told(&layer, MEMBERS, user_agent).await, expected);
    }
}

#[tokio::test]
async fn the_layer_alone_does_not_wait() {
    let rule = Rule::builder(Action::Refuse).verdicts([Pending]);
    let policy = Policy::builder().rule(rule.wait(Duration::from_secs(10)));
    let layer = layer(policy).verdicts(known(Pending)).report_outcome(true);
    let told = told(&layer, MEMBERS, GOOGLEBOT).await;
    assert_eq!(told, "403 pending refuse rule 1");
}

#[tokio::test]
async fn our_site_robot_passes_even_if_taken_for_an_impostor() {
    let layer = layer(Policy::builder().spoofed(Treatment::Refuse)).verdicts(known(Spoofed));
    let (own, clock) = (
        SiteRobotKey::new(b"a key"),
        Clock::manual(1_800_000_000_000),
    );
    let layer = layer.clock(clock.clone()).own_robot(own.clone());
    let app =
        service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
    for (path, status) in [("/", 200), ("/other", 403)] {
        let signature = own.signature(&Method::GET, "h.example", path, clock.now_ms());
        let request = Request::get("/")
            .header("user-agent", GOOGLEBOT)
            .header("host", "h.example")
            .header(SiteRobotKey::HEADER, signature)
            .body(Body::empty())
            .unwrap();
        let response = layer.layer(app).oneshot(request).await.unwrap();
        assert_eq!(response.status(), status);
    }
}

/// Verdicts with a lookup that costs nothing.
struct Fixed(IpAddr, Verdict);

impl Verdicts for Fixed {
    fn verdict(&self, visit: &ClaimedRequest<'_>) -> Verdict {
        if visit.client == Some(self.0) {
            self.1
        } else {
            Unverifiable
        }
    }
}

/// Returns the number of allocations of a passed request.
fn allocations(layer: &RobotDetectionLayer, user_agent: &str) -> u64 {
    let inner = |request: Request<()>| -> Ready<Result<Response<String>, Infallible>> {
        drop(request);
        ready(Ok(Response::new(String::new())))
    };
    let mut service = layer.layer(service_fn(inner));
    let asked = || {
        let mut asked = Request::get("/a")
            .header("user-agent", user_agent)
            .body(())
            .unwrap();
        asked.extensions_mut().insert(IpAddr::from([192, 0, 2, 7]));
        asked
    };
    let mut call = |asked| {
        let future = pin!(service.call(asked));
        let answer = future.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(answer, Poll::Ready(Ok(_))));
    };
    call(asked());
    let asked = asked();
    allocation_counter::measure(|| call(asked)).count_total
}

#[test]
fn a_verdict_costs_no_allocation_and_a_person_none_either() {
    let policy = || Policy::builder().rule(Rule::builder(Action::Pass).verdicts([Verified]));
    let alone = layer(policy());
    let client = IpAddr::from([192, 0, 2, 7]);
    let asking = layer(policy())
        .verdicts(Arc::new(Fixed(client, Verified)))
        .client_address(|extensions| extensions.get::<IpAddr>().copied());
    assert_eq!(allocations(&asking, FIREFOX), 0);
    assert!(allocations(&alone, GOOGLEBOT) > 0, "the counter works");
    for user_agent in [GOOGLEBOT, UNLISTED] {
        let cost = allocations(&alone, user_agent);
        assert_eq!(allocations(&asking, user_agent), cost, "{user_agent}");
    }
}
