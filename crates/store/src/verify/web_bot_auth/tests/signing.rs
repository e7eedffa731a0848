//! Tests for the signer and its key, verified by the prover.

use std::time::Duration;

use http::{HeaderMap, Method};
use sfv::ListEntry;
use url::Url;

use super::{ED_KEY, get, key, signature};
use crate::verify::Finding;
use crate::verify::web_bot_auth::{
    SignatureProver, SignatureSettings, SignedRequest, Signer,
    key::{Key, keys},
    possession::{self, DirectoryRequest, Possession},
    signing_key,
};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::registry::{Robot, Source};

fn signer(directory: &std::path::Path, clock: &Clock) -> Signer {
    let path = directory.join("robot.key");
    Signer::open(&path, "https://robot.example/", clock.clone()).unwrap()
}

#[tokio::test]
async fn own_signatures_are_verified_once() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_800_000_000_000);
    let signer = signer(directory.path(), &clock);
    let again = Signer::open(
        &directory.path().join("robot.key"),
        "https://robot.example",
        clock.clone(),
    );
    assert_eq!(again.unwrap().keyid(), signer.keyid());

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
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_800_000_000_000);
    let served = signer(directory.path(), &clock).directory();
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

#[cfg(unix)]
#[test]
fn new_key_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    signer(directory.path(), &Clock::manual(0));
    let path = directory.path().join("robot.key");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn keys_of_other_programs_are_parsed() {
    // RFC 9421 §B.1.4, as PEM and as JWK.
    let pem = b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n";
    let jwk = br#"{"kty":"OKP","crv":"Ed25519","kid":"test-key-ed25519","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}"#;
    for bytes in [&pem[..], &jwk[..]] {
        let pair = signing_key::read(bytes).unwrap();
        let public = ring::signature::KeyPair::public_key(&pair);
        assert_eq!(Key::ed25519(public.as_ref()), key(ED_KEY));
    }
    for bytes in [
        &b""[..],
        b"{}",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        assert!(signing_key::read(bytes).is_none());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(&path, "no key").unwrap();
    for (agent, words) in [
        ("http://a.example", "is not the https origin"),
        ("https://a.example", "contains no private Ed25519 key"),
    ] {
        let error = Signer::open(&path, agent, Clock::manual(0)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let nowhere = directory.path().join("not/there");
    let error = Signer::open(&nowhere, "https://a.example", Clock::manual(0)).unwrap_err();
    assert!(
        error.to_string().contains("cannot create the signing key"),
        "{error}"
    );
}
