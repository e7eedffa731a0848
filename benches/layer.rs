//! Cost of the layer for a request, in addition to the wrapped service.
//!
//! `inner` is the service alone; the difference to a case is the layer's cost.

#[path = "support/inner.rs"]
mod inner;

use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    net::IpAddr,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
};

use divan::{AllocProfiler, Bencher, black_box};
use http::{HeaderValue, Request, Response, header};
use robot_detection::{
    detect::{Detector, SharedDetector, Verdict},
    layer::{ClaimedRequest, RobotDetectionLayer, Verdicts},
    policy::{
        Action, Enforcement, EnforcementMode, Enforcer, Policy, Rule, SharedPolicy,
        SharedRobotsFiles,
    },
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
    robots_txt::{Dialect, RobotsTxt},
    suspect::{BrowserCheck, Transport},
};
use tower_layer::Layer;
use tower_service::Service;

use inner::Inner;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 \
     (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

fn main() {
    divan::main();
}

/// Returns a layer with 1,000 robots.
fn layer() -> RobotDetectionLayer {
    layer_of(detector())
}

/// Returns a layer without a cache of User-Agents.
fn searching_layer() -> RobotDetectionLayer {
    layer_of(detector().remember_user_agents(false))
}

fn detector() -> Detector {
    let robots = (0..1000).map(|number| match number {
        0 => robot("googlebot", "Googlebot"),
        _ => robot(&format!("robot{number}"), &format!("Robot{number}xyz")),
    });
    Detector::new(robots.map(Arc::new)).expect("the detector accepts a thousand robots")
}

fn layer_of(detector: Detector) -> RobotDetectionLayer {
    let policy = Policy::builder().build().expect("the defaults are valid");
    RobotDetectionLayer::new(SharedDetector::new(detector), SharedPolicy::new(policy))
}

/// Returns a layer that enforces a robots.txt of 200 groups, crawl-delay included.
fn strict_layer() -> RobotDetectionLayer {
    let group = |number: usize| format!("User-agent: Other{number}\nDisallow: /{number}/\n");
    let text = (0..200).map(group).collect::<String>()
        + "User-agent: Googlebot\nCrawl-delay: 0.001\nDisallow: /private/\nDisallow: /*?sort=\n";
    let files = SharedRobotsFiles::default();
    files.replace(RobotsTxt::parse(text.as_bytes(), Dialect::default()).into());
    let settings = Enforcement::default().rules(EnforcementMode::On);
    layer().enforcer(Enforcer::new(files, settings))
}

/// Verdicts of 10,000 addresses, as in a cache.
struct Cached(HashMap<IpAddr, Verdict>);

impl Verdicts for Cached {
    fn verdict(&self, visit: &ClaimedRequest<'_>) -> Verdict {
        let found = visit.client.and_then(|client| self.0.get(&client));
        found.copied().unwrap_or(Verdict::Pending)
    }
}

/// Returns a layer that decides by verdict, and finds each verdict in a cache.
fn asking_layer() -> RobotDetectionLayer {
    let address = |number: u16| {
        let [high, low] = number.to_be_bytes();
        IpAddr::from([192, 0, high, low])
    };
    let cached = (0..10_000).map(|number| (address(number), Verdict::Verified));
    let rule = Rule::builder(Action::Refuse).verdicts([Verdict::Spoofed]);
    let policy = Policy::builder().rule(rule.paths(["/*"])).build();
    let layer = layer();
    layer.policy().replace(policy.expect("the rule is valid"));
    layer
        .verdicts(Arc::new(Cached(cached.collect())))
        .client_address(|_| Some(IpAddr::from([192, 0, 2, 7])))
}

fn robot(id: &str, token: &str) -> Robot {
    let mut robot = Robot::new(id, Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
    robot.purpose = Purpose::Search;
    robot
}

/// Returns a request with typical headers of a browser.
fn request(path: &'static str, user_agent: &'static str) -> Request<()> {
    let mut request = Request::new(());
    *request.uri_mut() = http::Uri::from_static(path);
    for (name, value) in [
        (header::HOST, "www.example.com"),
        (header::USER_AGENT, user_agent),
        (header::ACCEPT, "text/html,*/*;q=0.8"),
        (header::ACCEPT_LANGUAGE, "en"),
        (header::ACCEPT_ENCODING, "gzip, br"),
        (header::COOKIE, "session=0123456789abcdef"),
    ] {
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(name, value);
    }
    request
}

fn run<S>(bencher: Bencher<'_, '_>, mut service: S, path: &'static str, user_agent: &'static str)
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible>,
{
    bencher
        .with_inputs(|| request(path, user_agent))
        .bench_local_values(|request| {
            let future = pin!(service.call(request));
            future.poll(&mut Context::from_waker(Waker::noop()))
        });
}

#[divan::bench]
fn inner(bencher: Bencher<'_, '_>) {
    run(bencher, Inner, "/a/page.html", CHROME);
}

#[divan::bench]
fn person_passes(bencher: Bencher<'_, '_>) {
    run(bencher, layer().layer(Inner), "/a/page.html", CHROME);
}

#[divan::bench]
fn person_passes_whose_user_agent_is_searched(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        searching_layer().layer(Inner),
        "/a/page.html",
        CHROME,
    );
}

/// Returns Chromium's headers of a page request over HTTPS.
fn page() -> Request<()> {
    let mut page = request("/a/page.html", CHROME);
    let headers = page.headers_mut();
    headers.clear();
    for (name, value) in [
        ("host", "www.example.com"),
        ("connection", "keep-alive"),
        ("sec-ch-ua", r#""Not:A-Brand";v="8", "Chromium";v="141""#),
        ("sec-ch-ua-mobile", "?0"),
        ("sec-ch-ua-platform", r#""Windows""#),
        ("upgrade-insecure-requests", "1"),
        ("user-agent", CHROME),
        (
            "accept",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        ),
        ("sec-fetch-site", "none"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-user", "?1"),
        ("sec-fetch-dest", "document"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("accept-language", "en-US,en;q=0.9"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    page
}

/// Runs only the check for suspects, on a request without any sign.
#[divan::bench]
fn person_is_no_suspect(bencher: Bencher<'_, '_>) {
    let (coherence, page) = (BrowserCheck::new(), page());
    let transport = Transport {
        is_https: true,
        is_direct: true,
        front: None,
        sender: None,
    };
    assert!(coherence.judge(&page, transport).is_empty());
    bencher.bench_local(|| coherence.judge(black_box(&page), transport));
}

#[divan::bench]
fn person_passes_with_a_path_that_is_rewritten(bencher: Bencher<'_, '_>) {
    run(bencher, layer().layer(Inner), "/a%20b//./page.html", CHROME);
}

#[divan::bench]
fn person_passes_on_a_filtered_path(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        layer().layer(Inner),
        "/members-only-stuff/a",
        CHROME,
    );
}

#[divan::bench]
fn robot_passes_identified(bencher: Bencher<'_, '_>) {
    run(bencher, layer().layer(Inner), "/a/page.html", GOOGLEBOT);
}

#[divan::bench]
fn robot_passes_with_a_cached_verdict(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        asking_layer().layer(Inner),
        "/a/page.html",
        GOOGLEBOT,
    );
}

#[divan::bench]
fn person_passes_where_verdicts_are_asked_for(bencher: Bencher<'_, '_>) {
    run(bencher, asking_layer().layer(Inner), "/a/page.html", CHROME);
}

#[divan::bench]
fn robot_is_redirected(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        layer().layer(Inner),
        "/members-only-stuff/a",
        GOOGLEBOT,
    );
}

#[divan::bench]
fn person_passes_where_robots_are_held(bencher: Bencher<'_, '_>) {
    run(bencher, strict_layer().layer(Inner), "/a/page.html", CHROME);
}

#[divan::bench]
fn robot_passes_held_to_robots_txt(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        strict_layer().layer(Inner),
        "/a/page.html",
        GOOGLEBOT,
    );
}

#[divan::bench]
fn robot_is_refused_by_robots_txt(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        strict_layer().layer(Inner),
        "/private/a",
        GOOGLEBOT,
    );
}
