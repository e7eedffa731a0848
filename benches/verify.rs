//! Cost of looking up an address in a published list.
//!
//! `contains` goes through the shared handle, as for each request: first the list is found by URL
//! among thirty, then the address among its prefixes. The addresses differ, and half of them are in
//! the list; divide by their number.

use std::{
    fmt::Write as _,
    hint::black_box,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use divan::{AllocProfiler, Bencher, counter::BytesCount, counter::ItemsCount};
use ipnet::IpNet;
use robot_detection::{
    clock::Clock,
    verify::{PublishedRanges, RangeSet, Ranges},
};

#[path = "support/inner.rs"]
mod inner;

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the tests use more of the server than this benchmark"
)]
#[path = "../tests/it/dns_server.rs"]
mod dns_server;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

const URL: &str = "https://robots.example/crawling/ipranges/common-crawlers.json";
const COUNTS: [u32; 3] = [100, 10_000, 100_000];
const ASKED: u32 = 4_096;

fn main() {
    divan::main();
}

#[divan::bench(args = COUNTS)]
fn contains_v4(bencher: Bencher<'_, '_>, count: u32) {
    ask(bencher, (0..count).map(v4), &asked(count, v4));
}

#[divan::bench(args = COUNTS)]
fn contains_v6(bencher: Bencher<'_, '_>, count: u32) {
    ask(bencher, (0..count).map(v6), &asked(count, v6));
}

/// Measures the verdict with its explanation.
#[divan::bench(args = COUNTS)]
fn find_v4(bencher: Bencher<'_, '_>, count: u32) {
    let ranges = at_hand((0..count).map(v4));
    let asked = asked(count, v4);
    bencher
        .counter(ItemsCount::new(asked.len()))
        .bench_local(|| {
            for address in &asked {
                black_box(ranges.find(black_box(URL), *address));
            }
        });
}

#[divan::bench(args = COUNTS)]
fn build_a_set(bencher: Bencher<'_, '_>, count: u32) {
    let prefixes: Vec<IpNet> = (0..count).rev().map(v4).collect();
    bencher
        .counter(ItemsCount::new(prefixes.len()))
        .bench_local(|| prefixes.iter().copied().collect::<RangeSet>());
}

#[divan::bench(args = COUNTS)]
fn parse(bencher: Bencher<'_, '_>, count: u32) {
    let mut json = r#"{"creationTime": "2026-11-20T10:00:00", "prefixes": ["#.to_owned();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(json, "{comma}{{\"ipv4Prefix\":\"{}\"}}", v4(number));
    }
    json.push_str("]}");
    assert!(PublishedRanges::parse(URL, json.as_bytes()).is_ok());
    bencher
        .counter(BytesCount::of_str(&json))
        .bench_local(|| PublishedRanges::parse(URL, black_box(json.as_bytes())));
}

/// Measures a rule's list, as queried for each request.
#[divan::bench(args = COUNTS)]
fn chosen_v4(bencher: Bencher<'_, '_>, count: u32) {
    ask_chosen(bencher, (0..count).map(v4), &asked(count, v4));
}

#[divan::bench(args = COUNTS)]
fn chosen_v6(bencher: Bencher<'_, '_>, count: u32) {
    ask_chosen(bencher, (0..count).map(v6), &asked(count, v6));
}

/// Measures parsing a rule's list, the cost of a restart or a new copy.
#[divan::bench(args = COUNTS)]
fn load_chosen(bencher: Bencher<'_, '_>, count: u32) {
    let lines: String = (0..count).fold(String::new(), |mut lines, number| {
        let _ = writeln!(lines, "{} ; SBL{number}", v4(number));
        lines
    });
    assert!(PublishedRanges::parse_chosen(URL, lines.as_bytes()).is_ok());
    bencher
        .counter(BytesCount::of_str(&lines))
        .bench_local(|| PublishedRanges::parse_chosen(URL, black_box(lines.as_bytes())));
}

fn ask_chosen(bencher: Bencher<'_, '_>, prefixes: impl Iterator<Item = IpNet>, asked: &[IpAddr]) {
    let list = at_hand(prefixes).list(URL);
    let hits = asked.iter().filter(|address| list.contains(**address));
    assert_eq!(hits.count() * 2, asked.len(), "half of them are listed");
    bencher
        .counter(ItemsCount::new(asked.len()))
        .bench_local(|| {
            for address in asked {
                black_box(list.contains(*address));
            }
        });
}

fn ask(bencher: Bencher<'_, '_>, prefixes: impl Iterator<Item = IpNet>, asked: &[IpAddr]) {
    let ranges = at_hand(prefixes);
    let hits = asked
        .iter()
        .filter(|address| ranges.contains(URL, **address) == Some(true));
    assert_eq!(hits.count() * 2, asked.len(), "half of them are listed");
    bencher
        .counter(ItemsCount::new(asked.len()))
        .bench_local(|| {
            for address in asked {
                black_box(ranges.contains(black_box(URL), *address));
            }
        });
}

fn at_hand(prefixes: impl Iterator<Item = IpNet>) -> Ranges {
    let ranges = Ranges::new(Clock::system());
    for other in 0..30 {
        let url = format!("{URL}?{other}");
        ranges.put(&url, PublishedRanges::new([v4(other)]));
    }
    ranges.put(URL, PublishedRanges::new(prefixes));
    ranges
}

/// Returns the prefix with this number: a /28 in each /27 from 32.0.0.0 on.
fn v4(number: u32) -> IpNet {
    let start = Ipv4Addr::from_bits((32 << 24) + (number << 5));
    IpNet::new(start.into(), 28).expect("28 bits fit into IPv4")
}

/// Returns the prefix with this number: a /64 in each /63 from `2a00::` on.
fn v6(number: u32) -> IpNet {
    let start = Ipv6Addr::from_bits((0x2a00 << 112) + (u128::from(number) << 65));
    IpNet::new(start.into(), 64).expect("64 bits fit into IPv6")
}

/// Returns addresses in random order, alternately inside and outside of a prefix.
fn asked(count: u32, prefix: fn(u32) -> IpNet) -> Vec<IpAddr> {
    (0..ASKED)
        .flat_map(|number| {
            let net = prefix(number.wrapping_mul(2_654_435_761) % count);
            [net.network(), next(net.broadcast())]
        })
        .collect()
}

fn next(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() + 1).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() + 1).into(),
    }
}

/// Cost of a robot's request with a known verdict, compared with none.
mod verdicts {
    use std::{
        hint::black_box,
        net::IpAddr,
        pin::pin,
        sync::Arc,
        task::{Context, Waker},
    };

    use divan::Bencher;
    use http::{HeaderMap, Method, Request, Uri, header};
    use robot_detection::{
        clock::Clock,
        detect::{Detector, SharedDetector, Verdict},
        layer::RobotDetectionLayer,
        policy::{Policy, SharedPolicy},
        registry::{Pattern, PatternKind, Robot, Source},
        verify::{
            ClaimedRequest, DnsProver, DnsSettings, Methods, PublishedRanges, Ranges, Verifier,
        },
    };
    use tokio::runtime::Runtime;
    use tokio_util::{sync::CancellationToken, task::TaskTracker};
    use tower_layer::Layer as _;
    use tower_service::Service;

    use super::{dns_server::DnsServer, inner::Inner};

    const URL: &str = "https://robots.example/ranges.json";
    const HOME: &str = "66.249.66.1";

    /// Method that verifies the robot.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    enum By {
        /// A list that contains the address.
        List,
        /// A cached DNS response.
        Dns,
    }

    #[divan::bench(args = [By::List, By::Dns])]
    fn known(bencher: Bencher<'_, '_>, by: By) {
        let runtime = Runtime::new().expect("failed to start a runtime");
        let (verifier, detector) = runtime.block_on(knowing(by));
        let claim = detector.identify(b"examplebot/1.0").expect("a known robot");
        let client = HOME.parse().ok();
        let (method, uri, headers) = (Method::GET, Uri::from_static("/a"), HeaderMap::new());
        let request = ClaimedRequest::new(&claim, client, &method, &uri, &headers);
        assert_eq!(verifier.verdict_now(&request), Verdict::Verified);
        bencher.bench_local(|| verifier.verdict_now(black_box(&request)));
    }

    #[divan::bench]
    fn request_without_verdict(bencher: Bencher<'_, '_>) {
        run(bencher, &layer(detector()));
    }

    #[divan::bench(args = [By::List, By::Dns])]
    fn request_with_verdict(bencher: Bencher<'_, '_>, by: By) {
        let runtime = Runtime::new().expect("failed to start a runtime");
        let (verifier, detector) = runtime.block_on(knowing(by));
        let layer = layer(detector)
            .verdicts(Arc::new(verifier))
            .client_address(|extensions| extensions.get::<IpAddr>().copied());
        run(bencher, &layer);
    }

    fn run(bencher: Bencher<'_, '_>, layer: &RobotDetectionLayer) {
        let mut service = layer.layer(Inner);
        bencher.with_inputs(request).bench_local_values(|request| {
            let future = pin!(service.call(request));
            future.poll(&mut Context::from_waker(Waker::noop()))
        });
    }

    fn request() -> Request<()> {
        let request = Request::get("/a")
            .header(header::HOST, "www.example.com")
            .header(header::USER_AGENT, "examplebot/1.0")
            .extension(HOME.parse::<IpAddr>().expect("valid address"));
        request.body(()).expect("a request")
    }

    fn layer(detector: Detector) -> RobotDetectionLayer {
        let policy = Policy::builder().build().expect("the defaults are valid");
        RobotDetectionLayer::new(SharedDetector::new(detector), SharedPolicy::new(policy))
    }

    fn detector() -> Detector {
        let mut robot = Robot::new("examplebot", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "examplebot")];
        robot.ranges_url = Some(URL.to_owned());
        robot.host_suffixes = vec!["robots.example".to_owned()];
        Detector::new([Arc::new(robot)]).expect("the detector accepts one robot")
    }

    /// Returns a verifier with the robot's verdict in its cache.
    async fn knowing(by: By) -> (Verifier, Detector) {
        let dns = DnsServer::start().await;
        dns.host(HOME, "a.robots.example");
        let mut settings = DnsSettings::default();
        settings.servers = vec![dns.address()];
        let mut methods = Methods::default();
        methods.reverse_dns = Some(DnsProver::new(settings));
        if by == By::List {
            let ranges = Ranges::new(Clock::system());
            let network = "66.249.64.0/19".parse().expect("a network");
            ranges.put(URL, PublishedRanges::new([network]));
            methods.ranges = Some(ranges);
        }
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let verifier = Verifier::new(methods, Clock::system(), tasks, stop);
        let detector = detector();
        {
            let claim = detector.identify(b"examplebot/1.0").expect("a known robot");
            let (uri, headers) = (Uri::from_static("/"), HeaderMap::new());
            let client = HOME.parse().ok();
            let request = ClaimedRequest::new(&claim, client, &Method::GET, &uri, &headers);
            let _ = verifier.verdict_now(&request);
            assert_eq!(verifier.settled(&request).await, Verdict::Verified);
        }
        (verifier, detector)
    }
}
