//! Verdicts on signed requests: immediate if the key is known, and for one request only.

use std::{net::IpAddr, sync::Arc};

use http::Uri;
use robot_detection::{
    detect::{Detector, Verdict},
    registry::{Pattern, PatternKind},
    verify::{ClaimedRequest, Methods, Verifier},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::*;

struct House {
    operator: Operator,
    verifier: Verifier,
    detector: Detector,
}

impl House {
    fn new() -> Self {
        let operator = Operator::new();
        let mut robot = operator.robot();
        robot.patterns = vec![Pattern::new(PatternKind::Token, "quill")];
        let mut methods = Methods::default();
        methods.web_bot_auth = Some(prover());
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self {
            operator,
            verifier: Verifier::new(methods, clock(), tasks, stop),
            detector: Detector::new([Arc::new(robot)]).unwrap(),
        }
    }

    fn draft(&self, nonce: &'static str) -> Draft {
        Draft {
            nonce: Some(nonce),
            ..self.operator.draft()
        }
    }

    /// Calls `ask` with a request from an address that proves nothing.
    fn with<R>(
        &self,
        draft: &Draft,
        headers: &HeaderMap,
        ask: impl FnOnce(&ClaimedRequest<'_>) -> R,
    ) -> R {
        let claim = self.detector.identify(b"quill/1").unwrap();
        let client = Some(IpAddr::from([66, 249, 66, 1]));
        let uri = format!("{}://{}{}", draft.scheme, draft.authority, draft.target);
        let uri: Uri = uri.parse().unwrap();
        ask(&ClaimedRequest::new(
            &claim,
            client,
            &draft.method,
            &uri,
            headers,
        ))
    }

    fn now(&self, draft: &Draft, headers: &HeaderMap) -> Verdict {
        self.with(draft, headers, |request| self.verifier.verdict_now(request))
    }

    /// Sends a first request, so that the key is fetched.
    async fn meet(&self) {
        let draft = self.draft("first");
        let headers = self.operator.sign(&draft);
        assert_eq!(self.now(&draft, &headers), Verdict::Pending);
        let settled = self.with(&draft, &headers, |request| self.verifier.settled(request));
        assert_eq!(settled.await, Verdict::Verified);
    }
}

#[tokio::test]
async fn the_first_signed_request_is_pending_and_the_next_verified_immediately() {
    let house = House::new();
    house.meet().await;
    let draft = house.draft("second");
    let headers = house.operator.sign(&draft);
    assert_eq!(house.now(&draft, &headers), Verdict::Verified);
    assert_eq!(house.operator.times_asked(), 1);
}

#[tokio::test]
async fn a_signature_proves_no_other_request_of_its_address() {
    let house = House::new();
    house.meet().await;
    let draft = house.draft("second");
    let nothing = HeaderMap::new();
    assert_eq!(house.now(&draft, &nothing), Verdict::Unverifiable);
    let headers = house.operator.sign(&draft);
    let other = Draft {
        target: "/elsewhere",
        ..draft.clone()
    };
    let spoofed = house.with(&other, &headers, |request| {
        house.verifier.finding_now(request)
    });
    assert_eq!(spoofed.verdict, Verdict::Spoofed);
    assert!(!spoofed.proof.unwrap().evidence().is_empty());
    assert_eq!(house.now(&draft, &headers), Verdict::Verified);
    assert_eq!(
        house.now(&draft, &headers),
        Verdict::Unverifiable,
        "the nonce was used twice"
    );
}

#[tokio::test]
async fn a_signature_repeated_while_its_key_is_fetched_is_rejected_as_a_repetition() {
    let house = House::new();
    let draft = house.draft("first");
    let headers = house.operator.sign(&draft);
    assert_eq!(house.now(&draft, &headers), Verdict::Pending);
    assert_eq!(house.now(&draft, &headers), Verdict::Unverifiable);
    let settled = house.with(&draft, &headers, |request| house.verifier.settled(request));
    assert_eq!(settled.await, Verdict::Verified, "the first is verified");
    assert_eq!(house.now(&draft, &headers), Verdict::Unverifiable);
}
