//! Lifetime of a signature: repeatable until it expires without a nonce, once with a nonce.

use std::{net::IpAddr, sync::Arc};

use axum::body::Body;
use http::{Request, Response, StatusCode, header::RETRY_AFTER};
use robot_detection::{
    detect::{Detector, Verdict},
    layer::RobotDetectionLayer,
    policy::{Action, Policy, Rule},
    registry::{Pattern, PatternKind},
    verify::{ACCEPT_SIGNATURE, ClaimedRequest, Methods, Verifier},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{Layer as _, ServiceExt as _, service_fn};

use super::*;

#[tokio::test]
async fn a_signature_without_a_nonce_is_valid_for_its_lifetime_and_what_it_covers() {
    let operator = Operator::new();
    let robot = operator.robot();
    let clock = clock();
    let settings = SignatureSettings {
        max_remembered: 1,
        ..settings()
    };
    let prover = SignatureProver::new(settings, clock.clone());
    let draft = Draft {
        nonce: None,
        covered: vec!["\"@authority\"", "\"signature-agent\";key=\"sig1\""],
        ..operator.draft()
    };
    let headers = operator.sign(&draft);
    for target in ["/members/a?b=c", "/members/a?b=c", "/elsewhere", "/"] {
        let other = Draft {
            target,
            ..draft.clone()
        };
        let finding = prover.prove(&other.request(&headers), &robot).await;
        check(&finding, "confirmed", "signed with the key");
    }
    let narrow = Draft {
        nonce: None,
        ..operator.draft()
    };
    let headers = operator.sign(&narrow);
    for _ in 0..40 {
        let finding = prover.prove(&narrow.request(&headers), &robot).await;
        check(&finding, "confirmed", "signed with the key");
    }
    let elsewhere = Draft {
        target: "/elsewhere",
        ..narrow.clone()
    };
    let finding = prover.prove(&elsewhere.request(&headers), &robot).await;
    check(&finding, "contradicted", "does not match the request");
    clock.advance(Duration::from_secs(91));
    let finding = prover.prove(&narrow.request(&headers), &robot).await;
    check(&finding, "contradicted", "expired 31 s ago");
}

/// A layer that refuses members' pages to unverified robots.
struct House {
    operator: Operator,
    prover: SignatureProver,
    layer: RobotDetectionLayer,
}

impl House {
    fn new() -> Self {
        let operator = Operator::new();
        let mut robot = operator.robot();
        robot.patterns = vec![Pattern::new(PatternKind::Token, "quill")];
        let (mut methods, prover) = (Methods::default(), prover());
        methods.web_bot_auth = Some(prover.clone());
        let verifier = Verifier::new(
            methods,
            clock(),
            TaskTracker::new(),
            CancellationToken::new(),
        );
        let unverified = [Verdict::Unverifiable, Verdict::Spoofed];
        let policy = Policy::builder()
            .rule(
                Rule::builder(Action::Refuse)
                    .paths(["/members/*"])
                    .verdicts(unverified),
            )
            .rule(Rule::builder(Action::Refuse).paths(["/never/*"]));
        let layer = RobotDetectionLayer::builder()
            .policy(|_| policy)
            .bundled_registry(false)
            .add_robots([robot])
            .build()
            .unwrap()
            .verdicts(Arc::new(verifier))
            .client_address(|_| Some(IpAddr::from([66, 249, 66, 1])))
            .accept_signature(HeaderValue::from_static(ACCEPT_SIGNATURE));
        Self {
            operator,
            prover,
            layer,
        }
    }

    async fn ask(&self, target: &str, headers: &HeaderMap) -> Response<Body> {
        let application = service_fn(|_: Request<Body>| async {
            Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
        });
        let mut request = Request::get(target).body(Body::empty()).unwrap();
        *request.headers_mut() = headers.clone();
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_static("www.example.com"));
        headers.insert("user-agent", HeaderValue::from_static("quill/1"));
        self.layer
            .layer(application)
            .oneshot(request)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn a_repeated_nonce_is_answered_429_where_a_new_signature_would_help() {
    let house = House::new();
    let sign = |nonce| {
        let draft = Draft {
            nonce: Some(nonce),
            covered: vec!["\"@authority\"", "\"signature-agent\";key=\"sig1\""],
            ..house.operator.draft()
        };
        house.operator.sign(&draft)
    };
    // Fetches the keys, so that the layer has them for the next request.
    let draft = house.operator.draft();
    let headers = house.operator.sign(&draft);
    let robot = house.operator.robot();
    let finding = house.prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "confirmed", "signed with the key");
    let signed = sign("second");
    let answer = house.ask("/members/a", &signed).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let again = house.ask("/members/a", &signed).await;
    assert_eq!(again.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(again.headers()[RETRY_AFTER], "1");
    assert_eq!(again.headers()["accept-signature"], ACCEPT_SIGNATURE);
    // The request passes where no proof is needed, and stays refused where no robot may go.
    let open = house.ask("/open", &signed).await;
    assert_eq!(open.status(), StatusCode::OK);
    let never = house.ask("/never/a", &signed).await;
    assert_eq!(never.status(), StatusCode::FORBIDDEN);
    let unsigned = house.ask("/members/a", &HeaderMap::new()).await;
    assert_eq!(unsigned.status(), StatusCode::FORBIDDEN);
    assert!(!unsigned.headers().contains_key(RETRY_AFTER));
}

#[tokio::test]
async fn without_a_nonce_several_requests_may_wait_for_the_keys() {
    let operator = Operator::new();
    let mut robot = operator.robot();
    robot.patterns = vec![Pattern::new(PatternKind::Token, "quill")];
    let mut methods = Methods::default();
    methods.web_bot_auth = Some(prover());
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let verifier = Verifier::new(methods, clock(), tasks, stop);
    let detector = Detector::new([Arc::new(robot)]).unwrap();
    let claim = detector.identify(b"quill/1").unwrap();
    let plain = Draft {
        nonce: None,
        ..operator.draft()
    };
    let uri: http::Uri = "https://www.example.com/members/a?b=c".parse().unwrap();
    let headers = operator.sign(&plain);
    let request = ClaimedRequest::new(&claim, None, &plain.method, &uri, &headers);
    // Without a nonce both may wait for the keys.
    assert_eq!(verifier.verdict_now(&request), Verdict::Pending);
    assert_eq!(verifier.verdict_now(&request), Verdict::Pending);
    assert_eq!(verifier.settled(&request).await, Verdict::Verified);
    assert_eq!(verifier.verdict_now(&request), Verdict::Verified);
}
