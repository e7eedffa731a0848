//! Key directories that are signed themselves.

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
async fn a_directory_s_own_signature_is_told_and_decides_nothing() {
    let operator = Operator::new();
    let robot = operator.robot();
    let host = operator.agent().replace("http://", "");
    let plain = Reply::typed(MEDIA_TYPE, operator.jwks(""));
    for (reply, words) in [
        (plain, ""),
        (
            signed_for(&operator, &host),
            ", with which its directory is signed too",
        ),
        (
            signed_for(&operator, "other.example"),
            ", whose directory has a signature with it that does not hold",
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
