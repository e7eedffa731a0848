//! Tests for unlisted signers with valid signatures.

use std::time::Duration;

use http::{HeaderMap, Method};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

use super::{get, signer::Signer};
use crate::verify::web_bot_auth::{SignatureProver, SignatureSettings, SignedRequest};
use crate::verify::{ClaimedRequest, Methods, Verifier};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::{Claim, Detector};

const NOW_MS: i64 = 1_800_000_000_000;

/// Signs a request for `https://www.example.com/` as the robot of the given agent.
fn signed(agent: &str, clock: &Clock) -> (Signer, HeaderMap) {
    let signer = Signer::new(agent, clock);
    let mut headers = HeaderMap::new();
    let url = Url::parse("https://www.example.com/").unwrap();
    signer.sign(&Method::GET, &url, &mut headers);
    (signer, headers)
}

fn prover(clock: &Clock) -> SignatureProver {
    SignatureProver::new(SignatureSettings::default(), clock.clone())
}

fn request(headers: &HeaderMap) -> SignedRequest<'_> {
    SignedRequest {
        authority: "www.example.com",
        ..get(headers, "/")
    }
}

#[test]
fn signer_is_the_host_of_the_directory() {
    let clock = Clock::manual(NOW_MS);
    let (signer, headers) = signed("https://agent.example", &clock);
    let keys = String::from_utf8(signer.directory().into_body().to_vec()).unwrap();
    let prover = prover(&clock);
    assert_eq!(
        prover.signer_now(&request(&headers)),
        None,
        "directory found without a fetch"
    );
    prover.learn_unlisted("https://agent.example", &keys);
    let host = Some(Ok("agent.example".to_owned()));
    assert_eq!(prover.signer_now(&request(&headers)), host);
    let again = prover.signer_now(&request(&headers)).unwrap().unwrap_err();
    assert_eq!(again, "the signature's nonce was used before");

    let (_, mut forged) = signed("https://agent.example", &clock);
    forged.insert(
        "signature-agent",
        "sig1=\"https://other.example\"".parse().unwrap(),
    );
    prover.learn_unlisted("https://other.example", &keys);
    let refused = prover.signer_now(&request(&forged)).unwrap();
    assert!(
        refused.unwrap_err().contains("does not match"),
        "agent of another signer"
    );
    let (_, late) = signed("https://agent.example", &clock);
    clock.advance(Duration::from_mins(10));
    assert!(prover.signer_now(&request(&late)).unwrap().is_err());
}

#[test]
fn only_directories_of_named_hosts_are_fetched() {
    let clock = Clock::manual(NOW_MS);
    for agent in [
        "https://192.0.2.1",
        "https://[2001:db8::1]",
        "https://localhost",
        "https://agent.example:8443",
    ] {
        let (_, headers) = signed(agent, &clock);
        let refused = prover(&clock).signer_now(&request(&headers));
        assert!(matches!(refused, Some(Err(_))), "{agent}: {refused:?}");
    }
}

#[test]
fn verifier_names_signers_with_valid_signatures() {
    let clock = Clock::manual(NOW_MS);
    let agent = "https://agent.example";
    let (signer, headers) = signed(agent, &clock);
    let keys = String::from_utf8(signer.directory().into_body().to_vec()).unwrap();
    let prover = prover(&clock);
    let methods = Methods {
        web_bot_auth: Some(prover.clone()),
        ..Methods::default()
    };
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let verifier = Verifier::new(methods, clock, tasks, stop);
    let detector = Detector::new([]).unwrap().recognise_unlisted(true);
    let claim = detector.claim_signed(b"", [&b"sig1=\"https://agent.example\""[..]]);
    let claim = claim.unwrap();
    assert!(matches!(claim, Claim::Signed(_)));
    let uri = "https://www.example.com/".parse().unwrap();
    let asked = ClaimedRequest::new(&claim, None, &Method::GET, &uri, &headers).scheme("https");
    assert_eq!(verifier.signer(&asked), None);
    prover.learn_unlisted(agent, &keys);
    let name = verifier.signer(&asked).unwrap();
    assert_eq!(name.host(), Some("agent.example"));
    assert_eq!(verifier.signer(&asked), None, "nonce accepted twice");
}
