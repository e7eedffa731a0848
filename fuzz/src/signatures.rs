//! Signature fields of requests: an unsigned request is never confirmed.
//!
//! `cargo +nightly fuzz run signatures fuzz/corpus`: the lines are Signature-Agent,
//! Signature-Input, Signature, and the target.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use robot_detection::{
    clock::Clock,
    detect::Detector,
    registry::{Robot, Source},
    verify::{Finding, SignatureProver, SignatureSettings, SignedRequest},
};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut headers = HeaderMap::new();
    for name in ["signature-agent", "signature-input", "signature"] {
        let value = HeaderValue::from_bytes(lines.next().unwrap_or_default());
        if let Ok(value) = value {
            headers.insert(name, value);
        }
    }
    let target = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let mut robot = Robot::new("a", Source::manual());
    robot.signature_agents = vec!["a.example".to_owned()];
    let clock = Clock::manual(1_800_000_000_000);
    let prover = SignatureProver::new(SignatureSettings::default(), clock);
    let request = SignedRequest {
        method: &Method::GET,
        scheme: Some("https"),
        authority: "www.example.com",
        target: &target,
        headers: &headers,
    };
    let finding = prover.prove_now(&request, &robot);
    assert!(!matches!(finding, Some(Finding::Confirmed(_))));
    assert!(!matches!(prover.signer_now(&request), Some(Ok(_))));
    let agents = headers.get_all("signature-agent").iter();
    let detector = Detector::new([Arc::new(robot)]).expect("the detector accepts one robot");
    let _ = detector.claim_signed(b"", agents.map(HeaderValue::as_bytes));
}
