//! A known verdict costs a request no allocation.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::IpAddr,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use robot_detection::{
    detect::{Detector, SharedDetector, Verdict},
    layer::{RobotDetectionLayer, VisitSwitch},
    policy::{Policy, SharedPolicy},
};
use tower::{Layer as _, Service as _, service_fn};

use super::remembering::{ELSEWHERE, House, IN_LIST};

/// Number of measured requests.
const REQUESTS: usize = 101;

/// Returns a layer that detects the robots of the house.
fn layer(house: &House) -> RobotDetectionLayer {
    let detector = Detector::new(house.detector.robots().iter().cloned()).unwrap();
    let policy = SharedPolicy::new(Policy::builder().build().unwrap());
    RobotDetectionLayer::new(SharedDetector::new(detector), policy)
}

fn request(robot: &str, address: IpAddr) -> Request<()> {
    let request = Request::get("/a")
        .header("host", "www.example.com")
        .header("user-agent", robot)
        .extension(address);
    request.body(()).unwrap()
}

/// Returns the median number of allocations of a passed request. The median ignores the occasional
/// request during which the cache of verdicts cleans up.
fn allocations(layer: &RobotDetectionLayer, robot: &str, address: &str) -> u64 {
    let inner = |request: Request<()>| -> Ready<Result<Response<String>, Infallible>> {
        drop(request);
        ready(Ok(Response::new(String::new())))
    };
    let mut service = layer.layer(service_fn(inner));
    let mut counts = [(); REQUESTS].map(|()| {
        let asked = request(robot, address.parse().unwrap());
        let measured = allocation_counter::measure(|| {
            let future = pin!(service.call(asked));
            let answer = future.poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(answer, Poll::Ready(Ok(_))));
        });
        measured.count_total
    });
    counts.sort_unstable();
    counts[REQUESTS / 2]
}

#[tokio::test]
async fn a_known_verdict_costs_no_allocation() {
    let house = House::new().await;
    house.put_list();
    house.dns.host(ELSEWHERE, "a.robots.example");
    for robot in ["hostbot/1", "bothbot/1"] {
        assert_eq!(house.now(robot, ELSEWHERE), Verdict::Pending);
        assert_eq!(house.settled(robot, ELSEWHERE).await, Verdict::Verified);
    }
    let alone = layer(&house);
    let asking = layer(&house)
        .verdicts(Arc::new(house.verifier.clone()))
        .client_address(|extensions| extensions.get::<IpAddr>().copied());
    for (robot, address) in [
        ("listbot/1", IN_LIST),
        ("hostbot/1", ELSEWHERE),
        ("bothbot/1", IN_LIST),
        ("bothbot/1", ELSEWHERE),
    ] {
        assert_eq!(house.now(robot, address), Verdict::Verified);
        let cost = allocations(&alone, robot, address);
        assert!(cost > 0, "the counter works");
        let with_verdict = allocations(&asking, robot, address);
        assert_eq!(with_verdict, cost, "{robot} from {address}");
    }
    // An unknown verdict allocates, which shows that the count would notice it.
    let impostor = allocations(&asking, "listbot/1", ELSEWHERE);
    assert!(impostor > allocations(&alone, "listbot/1", ELSEWHERE));
}

#[tokio::test]
async fn describing_visits_costs_passed_requests_nothing() {
    let house = House::new().await;
    house.put_list();
    let asking = || {
        layer(&house)
            .verdicts(Arc::new(house.verifier.clone()))
            .client_address(|extensions| extensions.get::<IpAddr>().copied())
            .report_outcome(true)
    };
    let switch = VisitSwitch::default();
    let (plain, noting) = (asking(), asking().visit_switch(switch.clone()));
    switch.describe_noteworthy(true);
    for (robot, address) in [("listbot/1", IN_LIST), ("Firefox/1", ELSEWHERE)] {
        let cost = allocations(&plain, robot, address);
        assert_eq!(allocations(&noting, robot, address), cost, "{robot}");
    }
    let (impostor, of_plain) = (
        ("listbot/1", ELSEWHERE),
        allocations(&plain, "listbot/1", ELSEWHERE),
    );
    assert!(allocations(&noting, impostor.0, impostor.1) > of_plain);
}
