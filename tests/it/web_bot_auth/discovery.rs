//! Locations of keys: a directory, a key set at a URL, a client's metadata document.

use super::*;

const SET: &str = "/keys/set.json";
const CARD: &str = "/robot/card";

/// An operator with a server that responds to each path as a test specifies.
struct Site {
    operator: Operator,
}

impl Site {
    fn new(answer: impl Fn(&Operator, &str) -> Option<Reply>) -> Self {
        let operator = Operator::new();
        let replies = [DIRECTORY, SET, CARD, "/other.json"]
            .map(|path| (path.to_owned(), answer(&operator, path)));
        operator.server.answer(move |seen| {
            let path = seen.path.split('?').next().unwrap_or_default();
            let found = replies.iter().find(|(known, _)| known == path);
            found
                .and_then(|(_, reply)| reply.clone())
                .unwrap_or_else(|| Reply::status(404))
        });
        Self { operator }
    }

    fn robot(&self, path: &str) -> Robot {
        let mut robot = self.operator.robot();
        robot.signature_agents[0].push_str(path);
        robot
    }

    /// Returns a draft for the agent at a path, with a type of key discovery.
    fn draft(&self, path: &str, kind: &str) -> Draft {
        Draft {
            agent: Some(format!("{}{path}", self.operator.agent())),
            kind: (!kind.is_empty()).then(|| kind.to_owned()),
            nonce: None,
            ..self.operator.draft()
        }
    }

    async fn prove(&self, draft: &Draft, robot: &Robot) -> Finding {
        let headers = self.operator.sign(draft);
        prover().prove(&draft.request(&headers), robot).await
    }
}

fn card(operator: &Operator, keys: &str) -> String {
    let id = format!("{}{CARD}", operator.agent());
    format!(r#"{{"client_id":"{id}","client_name":"Quill",{keys}}}"#)
}

#[tokio::test]
async fn a_key_set_is_fetched_from_the_registered_url() {
    let site = Site::new(|operator, path| {
        (path == SET).then(|| Reply::typed("application/json", operator.jwks("")))
    });
    let robot = site.robot(SET);
    let finding = site.prove(&site.draft(SET, "jwks_uri"), &robot).await;
    check(
        &finding,
        "confirmed",
        &format!("{}{SET}", site.operator.agent()),
    );
    // Another path of the same host must be a directory, which only the host's operator controls.
    let other = site
        .prove(&site.draft("/other.json", "jwks_uri"), &robot)
        .await;
    check(
        &other,
        "nothing",
        "which the registry does not list as an agent of this robot",
    );
    let of_host = site.operator.robot();
    let other = site.prove(&site.draft(SET, "jwks_uri"), &of_host).await;
    check(
        &other,
        "nothing",
        "which the registry does not list as an agent of this robot",
    );
    let as_directory = site.prove(&site.draft(SET, ""), &robot).await;
    check(
        &as_directory,
        "nothing",
        "is not the https origin of a key directory",
    );
    let asked = site.operator.server.seen();
    assert!(asked.iter().all(|seen| seen.path == SET), "{asked:?}");
}

#[tokio::test]
async fn a_different_query_is_a_different_key_set() {
    let site = Site::new(|operator, path| {
        (path == SET).then(|| Reply::typed("application/json", operator.jwks("")))
    });
    let draft = site.draft(&format!("{SET}?x=1"), "jwks_uri");
    let finding = site.prove(&draft, &site.robot(SET)).await;
    check(
        &finding,
        "nothing",
        "which the registry does not list as an agent of this robot",
    );
    assert_eq!(
        site.operator.times_asked(),
        0,
        "an unregistered URL must not be fetched"
    );
}

#[tokio::test]
async fn a_metadata_document_contains_the_keys_or_their_url() {
    let inline = Site::new(|operator, path| {
        let keys = format!("\"jwks\":{}", operator.jwks(""));
        (path == CARD).then(|| Reply::typed("application/json", card(operator, &keys)))
    });
    let finding = inline
        .prove(&inline.draft(CARD, "cimd"), &inline.robot(CARD))
        .await;
    check(
        &finding,
        "confirmed",
        &format!("{}{CARD}", inline.operator.agent()),
    );
    let named = Site::new(|operator, path| match path {
        CARD => {
            let keys = format!("\"jwks_uri\":\"{}{SET}\"", operator.agent());
            Some(Reply::typed("application/json", card(operator, &keys)))
        }
        SET => Some(Reply::typed("application/jwk-set+json", operator.jwks(""))),
        _ => None,
    });
    let finding = named
        .prove(&named.draft(CARD, "cimd"), &named.robot(CARD))
        .await;
    check(&finding, "confirmed", "signed with the key");
    assert_eq!(named.operator.times_asked(), 2);
}

#[tokio::test]
async fn an_implausible_metadata_document_proves_nothing() {
    type ContentBuilder = fn(&Operator) -> String;
    let documents: [(ContentBuilder, &str); 6] = [
        (
            |operator| format!(r#"{{"jwks":{}}}"#, operator.jwks("")),
            "client_id is not the document's URL",
        ),
        (
            |operator| {
                let id = format!("{}/other", operator.agent());
                format!(r#"{{"client_id":"{id}","jwks":{}}}"#, operator.jwks(""))
            },
            "client_id is not the document's URL",
        ),
        (
            |operator| {
                let (agent, keys) = (operator.agent(), operator.jwks(""));
                card(
                    operator,
                    &format!(r#""jwks":{keys},"jwks_uri":"{agent}{SET}""#),
                )
            },
            "both jwks and jwks_uri",
        ),
        (
            |operator| card(operator, "\"x\":1"),
            "neither jwks nor jwks_uri",
        ),
        (
            |operator| card(operator, r#""jwks_uri":"ftp://x.example/keys""#),
            "jwks_uri is not an https URL",
        ),
        (|_| "[]".to_owned(), "not a client metadata document"),
    ];
    for (made, reason) in documents {
        let site = Site::new(move |operator, path| {
            (path == CARD).then(|| Reply::typed("application/json", made(operator)))
        });
        let finding = site
            .prove(&site.draft(CARD, "cimd"), &site.robot(CARD))
            .await;
        check(&finding, "nothing", reason);
    }
}

#[tokio::test]
async fn an_unknown_type_is_reported() {
    let site = Site::new(|_, _| None);
    let finding = site
        .prove(&site.draft("", "did"), &site.operator.robot())
        .await;
    check(&finding, "nothing", "type \"did\", which is not supported");
    assert_eq!(site.operator.times_asked(), 0);
}
