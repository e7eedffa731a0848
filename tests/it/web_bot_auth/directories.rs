//! Key directories with their own signatures.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Draft, MEDIA_TYPE, NOW_S, Operator, check, prover, told};
use crate::support::http::Reply;

/// Returns the directory, signed for a host with the operator's key.
fn signed_for(operator: &Operator, host: &str) -> Reply {
    let input = format!(
        "(\"@authority\";req);created={NOW_S};expires={};keyid=\"{}\";alg=\"ed25519\";\
         tag=\"http-message-signatures-directory\"",
        NOW_S + 300,
        operator.keyid()
    );
    let base = format!("\"@authority\";req: {host}\n\"@signature-params\": {input}");
    let signature = STANDARD.encode(operator.pair.sign(base.as_bytes()));
    Reply::typed(MEDIA_TYPE, operator.jwks(""))
        .with("Signature-Input", format!("sig1={input}"))
        .with("Signature", format!("sig1=:{signature}:"))
}

#[tokio::test]
async fn the_directory_signature_is_reported_and_decides_nothing() {
    let operator = Operator::new();
    let robot = operator.robot();
    let host = operator.agent().replace("http://", "");
    let plain = Reply::typed(MEDIA_TYPE, operator.jwks(""));
    for (reply, words) in [
        (plain, ""),
        (
            signed_for(&operator, &host),
            ", which also signs its directory",
        ),
        (
            signed_for(&operator, "other.example"),
            ", whose signature of the directory is invalid",
        ),
    ] {
        operator.server.set(reply);
        let prover = prover();
        let draft: Draft = operator.draft();
        let headers = operator.sign(&draft);
        let finding = prover.prove(&draft.request(&headers), &robot).await;
        check(&finding, "confirmed", "signed with the key");
        let text = told(&finding).1;
        assert!(
            text.ends_with(&format!("{}{words}", operator.agent())),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_keys_of_an_unknown_signer_are_fetched_once_and_its_host_is_its_name() {
    let operator = Operator::new();
    let prover = prover();
    let mut draft = operator.draft();
    let headers = operator.sign(&draft);
    assert_eq!(prover.signer_now(&draft.request(&headers)), None);
    let fetch = prover.signer_fetch(&draft.request(&headers)).unwrap();
    assert!(
        prover.signer_fetch(&draft.request(&headers)).is_none(),
        "the fetch is running"
    );
    fetch.await;
    let host = Some(Ok("127.0.0.1".to_owned()));
    assert_eq!(prover.signer_now(&draft.request(&headers)), host);
    assert_eq!(operator.times_asked(), 1);
    draft.kind = Some("jwks_uri".to_owned());
    let headers = operator.sign(&draft);
    let refused = prover.signer_now(&draft.request(&headers)).unwrap();
    assert!(
        refused.is_err(),
        "a host's page may belong to any of its users: {refused:?}"
    );
}
