//! Tests for signatures and key directories, verified by the prover.

use std::time::Duration;

use http::{HeaderMap, Method};
use sfv::ListEntry;
use url::Url;

use super::{ED_KEY, get, key, signature, signer::Signer};
use crate::verify::Finding;
use crate::verify::web_bot_auth::{
    SignatureProver, SignatureSettings, SignedRequest,
    key::keys,
    possession::{self, DirectoryRequest, Possession},
};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::registry::{Robot, Source};

fn signer(clock: &Clock) -> Signer {
    Signer::new("https://robot.example", clock)
}

#[tokio::test]
async fn signatures_are_verified_once() {
    let clock = Clock::manual(1_800_000_000_000);
    let signer = signer(&clock);

    let served = signer.directory();
    let published = keys(served.body()).unwrap();
    assert_eq!(published[0].keyid, signer.keyid());
    let input = served.headers()["signature-input"].to_str().unwrap();
    let (input, bytes) = signature(input, served.headers()["signature"].to_str().unwrap());
    let params = sfv::FieldType::serialize(&vec![ListEntry::InnerList(input)]).unwrap();
    let digest = served.headers()["content-digest"].to_str().unwrap();
    let base = format!(
        "\"@authority\";req: robot.example\n\"content-digest\": {digest}\n\"@signature-params\": {params}"
    );
    assert!(published[0].verifies(base.as_bytes(), &bytes), "{base}");

    let prover = SignatureProver::new(SignatureSettings::default(), clock.clone());
    prover.learn("https://robot.example", published);
    let mut robot = Robot::new("ours", Source::manual());
    robot.signature_agents = vec!["robot.example".to_owned()];
    let url = Url::parse("https://www.example.com:8443/a%20b/?q=ä&r").unwrap();
    let mut headers = HeaderMap::new();
    signer.sign(&Method::GET, &url, &mut headers);
    let request = SignedRequest {
        authority: "www.example.com:8443",
        ..get(&headers, "/a%20b/?q=%C3%A4&r")
    };
    let first = prover.prove_now(&request, &robot).unwrap();
    assert!(matches!(first, Finding::Confirmed(_)), "{first:?}");
    let second = prover.prove(&request, &robot).await;
    assert!(matches!(second, Finding::Replayed(_)), "{second:?}");
    clock.advance(Duration::from_secs(91));
    let mut fresh = HeaderMap::new();
    signer.sign(&Method::GET, &url, &mut fresh);
    clock.advance(Duration::from_secs(91));
    let request = SignedRequest {
        headers: &fresh,
        ..request
    };
    let late = prover.prove_now(&request, &robot).unwrap();
    assert!(
        matches!(&late, Finding::Contradicted(it) if it.text.contains("expired 31 s ago")),
        "{late:?}"
    );
}

#[test]
fn signed_directory_proves_possession_of_its_key() {
    let clock = Clock::manual(1_800_000_000_000);
    let served = signer(&clock).directory();
    let told = |headers: &HeaderMap, authority, now_s| {
        let mut keys = keys(served.body()).unwrap();
        keys.push(key(ED_KEY));
        let asked = DirectoryRequest {
            authority,
            now_s,
            skew_s: 30,
        };
        possession::record(&mut keys, headers, asked);
        let [own, other] = &*keys else {
            panic!("two keys");
        };
        assert_eq!(
            other.possession,
            Possession::NotSigned,
            "key without a signature"
        );
        own.possession
    };
    let (host, now_s) = ("robot.example", 1_800_000_000);
    let signed = served.headers();
    assert_eq!(told(signed, host, now_s), Possession::Proven);
    assert_eq!(told(signed, "other.example", now_s), Possession::Failed);
    assert_eq!(told(signed, host, now_s - 31), Possession::Failed);
    assert_eq!(told(signed, host, now_s + 86_400), Possession::Proven);
    assert_eq!(told(signed, host, now_s + 86_431), Possession::Failed);
    let mut altered = signed.clone();
    altered.insert("content-digest", "sha-256=:AAAA:".parse().unwrap());
    assert_eq!(told(&altered, host, now_s), Possession::Failed);
    altered.remove("content-digest");
    assert_eq!(told(&altered, host, now_s), Possession::Failed);
    for name in ["signature", "signature-input"] {
        let mut without = signed.clone();
        without.remove(name);
        assert_eq!(told(&without, host, now_s), Possession::NotSigned, "{name}");
    }
    let input = signed["signature-input"].to_str().unwrap();
    let mut elsewhere = signed.clone();
    let input = input.replace("\"@authority\";req ", "");
    elsewhere.insert("signature-input", input.parse().unwrap());
    assert_eq!(
        told(&elsewhere, host, now_s),
        Possession::Failed,
        "host not covered"
    );
}
