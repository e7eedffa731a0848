//! Signatures over the scheme, behind a TLS-terminating proxy that does not report the scheme.

use robot_detection::verify::SignedRequest;

use super::{AGENT, Draft, Operator, check, prover, told};

const OVER_THE_SCHEME: [&str; 2] = ["\"@scheme\"", "\"@target-uri\""];

/// Returns a signed draft that covers a component that depends on the scheme.
fn draft(operator: &Operator, component: &'static str, scheme: &'static str) -> Draft {
    Draft {
        covered: vec!["\"@authority\"", component, AGENT],
        scheme,
        nonce: None,
        ..operator.draft()
    }
}

#[tokio::test]
async fn an_unknown_scheme_may_be_either_and_the_evidence_names_it() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    for component in OVER_THE_SCHEME {
        for scheme in ["https", "http"] {
            let draft = draft(&operator, component, scheme);
            let headers = operator.sign(&draft);
            let request = SignedRequest {
                scheme: None,
                ..draft.request(&headers)
            };
            let finding = prover.prove(&request, &robot).await;
            check(
                &finding,
                "confirmed",
                &format!("assuming a URL with {scheme}:"),
            );
        }
    }
    let plain = operator.draft();
    let headers = operator.sign(&plain);
    let request = SignedRequest {
        scheme: None,
        ..plain.request(&headers)
    };
    let finding = prover.prove(&request, &robot).await;
    check(&finding, "confirmed", "signed with the key");
    assert!(!told(&finding).1.contains("assuming a URL"), "{finding:?}");
}

#[tokio::test]
async fn a_known_scheme_is_the_only_one_accepted() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    for component in OVER_THE_SCHEME {
        for (signed, known) in [("http", "https"), ("https", "http")] {
            let draft = draft(&operator, component, signed);
            let headers = operator.sign(&draft);
            let request = SignedRequest {
                scheme: Some(known),
                ..draft.request(&headers)
            };
            let finding = prover.prove(&request, &robot).await;
            check(&finding, "contradicted", "does not match the request");
            assert!(!told(&finding).1.contains("neither"), "{finding:?}");
        }
    }
}

#[tokio::test]
async fn a_signature_that_fits_neither_scheme_is_rejected() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    for component in OVER_THE_SCHEME {
        let draft = draft(&operator, component, "https");
        let headers = operator.sign(&draft);
        let altered = [
            SignedRequest {
                target: "/members/b",
                ..draft.request(&headers)
            },
            SignedRequest {
                authority: "other.example.com",
                ..draft.request(&headers)
            },
        ];
        for request in altered {
            let request = SignedRequest {
                scheme: None,
                ..request
            };
            // Path and query are not part of the scheme.
            if component == "\"@scheme\"" && request.authority == draft.authority {
                continue;
            }
            let finding = prover.prove(&request, &robot).await;
            check(
                &finding,
                "contradicted",
                "neither with https: nor with http:",
            );
        }
        let foreign = Operator::new();
        let forged = foreign.sign(&Draft {
            agent: Some(operator.agent()),
            keyid: Some(operator.keyid()),
            ..draft.clone()
        });
        let request = SignedRequest {
            scheme: None,
            ..draft.request(&forged)
        };
        let finding = prover.prove(&request, &robot).await;
        check(
            &finding,
            "contradicted",
            "neither with https: nor with http:",
        );
    }
}
