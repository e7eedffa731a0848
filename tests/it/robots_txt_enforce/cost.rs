//! Costs of checking robots.txt for a request.

use std::{
    convert::Infallible,
    fmt::Write as _,
    future::{Future, Ready, ready},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use robot_detection::{
    detect::{Detector, SharedDetector},
    layer::RobotDetectionLayer,
    policy::{
        self, Enforcement, EnforcementMode, Enforcer, RobotRequest, SharedPolicy,
        SharedRobotsFiles, Visitor,
    },
};
use tower::{Layer as _, Service, service_fn};

use super::site::{EXAMPLEBOT, FIREFOX, NEWSBOT, UNLISTED, file, policy, robots};

/// Returns a file with many groups and rules, wildcards among them.
fn large_file() -> String {
    let mut text = String::from("User-agent: *\nCrawl-delay: 0.001\nDisallow: /hidden/\n");
    for group in 0..200 {
        let _ = writeln!(text, "\nUser-agent: Robot{group}");
        for rule in 0..20 {
            let _ = writeln!(text, "Disallow: /{group}/*/{rule}$");
        }
    }
    text + "\nUser-agent: ExampleBot\nCrawl-delay: 0.001\nDisallow: /private/\nDisallow: /*?sort=\n"
}

fn enforcer() -> Enforcer {
    let files = SharedRobotsFiles::default();
    files.replace(file(&large_file()).into());
    let settings = Enforcement::default();
    let settings = settings
        .rules(EnforcementMode::On)
        .crawl_delay(EnforcementMode::On);
    Enforcer::new(files, settings)
}

#[test]
fn a_compliant_robot_costs_no_allocation() {
    let (enforcer, policy) = (enforcer(), policy().build().unwrap());
    let detector = Detector::new(robots().map(Arc::new)).unwrap();
    let detector = detector.recognise_unlisted(true);
    for user_agent in [EXAMPLEBOT, NEWSBOT, UNLISTED] {
        let claim = detector.identify(user_agent.as_bytes()).unwrap();
        let hold = |target: &str, now_ms: i64| {
            let visit = RobotRequest {
                request: policy::Request {
                    method: "GET",
                    host: Some("www.example.com"),
                    path: target.split('?').next().unwrap(),
                    query: None,
                },
                target,
                visitor: Visitor::from(&claim),
                user_agent: user_agent.as_bytes(),
                client: None,
            };
            enforcer.enforce(&policy, &visit, || now_ms).is_some()
        };
        let mut now_ms = 0;
        assert!(!hold("/", now_ms));
        for (path, most) in [
            ("/a?b=c", 0),
            ("/a/b/c", 0),
            ("/12/x/y/3", 0),
            ("/robots.txt", 0),
            // Escapes are decoded both for the exemption and for the rules.
            ("/a%20b/c", 2),
        ] {
            now_ms += 1_000;
            let counted = allocation_counter::measure(|| assert!(!hold(path, now_ms)));
            assert!(counted.count_total <= most, "{user_agent} {path}");
        }
        // The counter works: a violation is recorded, which allocates.
        let broken = if user_agent == EXAMPLEBOT {
            "/private/a"
        } else {
            "/hidden/a"
        };
        let counted = allocation_counter::measure(|| assert!(hold(broken, now_ms)));
        assert!(counted.count_total > 0);
    }
}

/// Polls an immediately ready response; returns its number of allocations.
fn allocations<S>(service: &mut S, path: &'static str, user_agent: &'static str) -> (u64, u16)
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible>,
{
    let request = Request::get(path).header("user-agent", user_agent);
    let request = request.body(()).unwrap();
    let mut status = 0;
    let counted = allocation_counter::measure(|| {
        let future = pin!(service.call(request));
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(Ok(ready)) = future.poll(&mut context) {
            status = ready.status().as_u16();
        }
    });
    (counted.count_total, status)
}

#[test]
fn the_layer_allocates_as_little_with_robots_txt_as_without() {
    let inner = || {
        service_fn(|_| -> Ready<Result<_, Infallible>> { ready(Ok(Response::new(String::new()))) })
    };
    let layer = || {
        let detector = SharedDetector::new(Detector::new(robots().map(Arc::new)).unwrap());
        RobotDetectionLayer::new(detector, SharedPolicy::new(policy().build().unwrap()))
    };
    let mut without = layer().layer(inner());
    let mut with = layer().enforcer(enforcer()).layer(inner());
    for user_agent in [FIREFOX, EXAMPLEBOT, NEWSBOT, UNLISTED] {
        // The first request of a thread and of a robot allocates more.
        allocations(&mut without, "/", user_agent);
        allocations(&mut with, "/", user_agent);
        let plain = allocations(&mut without, "/a?b", user_agent);
        let held = allocations(&mut with, "/a?b", user_agent);
        assert_eq!((plain, held.1), (held, 200), "{user_agent}");
    }
    assert_eq!(allocations(&mut with, "/private/a", EXAMPLEBOT).1, 403);
    assert_eq!(allocations(&mut with, "/private/a", FIREFOX), (0, 200));
}
