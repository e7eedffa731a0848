//! Robots' signed requests, against real key directories over loopback.
//!
//! Signature bases are written out by hand here: no code of the product signs.

mod directories;
mod discovery;
mod lasting;
mod peers;
mod schemes;
mod verifying;

use std::{sync::Mutex, time::Duration};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderMap, HeaderValue, Method};
use ring::{
    digest,
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use robot_detection::{
    clock::Clock,
    registry::{Robot, Source},
    verify::{self, Finding, SignatureProver, SignatureSettings, SignedRequest},
};

use crate::support::http::{Reply, TestServer};

const NOW_S: i64 = 1_800_000_000;
const DIRECTORY: &str = "/.well-known/http-message-signatures-directory";
const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";

/// Operator of a robot, with a key and a directory.
struct Operator {
    pair: Ed25519KeyPair,
    server: TestServer,
}

/// Request to sign, and the parameters of its signature.
#[derive(Clone)]
struct Draft {
    agent: Option<String>,
    /// Whether `Signature-Agent` is a string, as in older drafts.
    is_string: bool,
    /// Value of the parameter `type`.
    kind: Option<String>,
    label: &'static str,
    covered: Vec<&'static str>,
    created: Option<i64>,
    expires: Option<i64>,
    keyid: Option<String>,
    alg: Option<&'static str>,
    nonce: Option<&'static str>,
    tag: Option<&'static str>,
    method: Method,
    scheme: &'static str,
    authority: &'static str,
    target: &'static str,
}

fn thumbprint(x: &str) -> String {
    let json = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, json.as_bytes()))
}

impl Operator {
    fn new() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let operator = Self {
            pair: Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap(),
            server: TestServer::new(Reply::status(500)),
        };
        operator
            .server
            .set(Reply::typed(MEDIA_TYPE, operator.jwks("")));
        operator
    }

    fn x(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    fn keyid(&self) -> String {
        thumbprint(&self.x())
    }

    /// Returns the key set, with additional members of the key.
    fn jwks(&self, more: &str) -> String {
        let x = self.x();
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"{more}}}]}}"#)
    }

    fn agent(&self) -> String {
        self.server.url("")
    }

    fn robot(&self) -> Robot {
        let mut robot = Robot::new("quill", Source::manual());
        robot.signature_agents = vec![self.agent().replace("http://", "")];
        robot
    }

    fn draft(&self) -> Draft {
        Draft {
            agent: Some(self.agent()),
            is_string: false,
            kind: None,
            label: "sig1",
            covered: vec![
                "\"@method\"",
                "\"@authority\"",
                "\"@path\"",
                "\"@query\"",
                "\"signature-agent\";key=\"sig1\"",
            ],
            created: Some(NOW_S),
            expires: Some(NOW_S + 60),
            keyid: Some(self.keyid()),
            alg: Some("ed25519"),
            nonce: Some("b3k2pp5k7z-50gnwp.yemd"),
            tag: Some("web-bot-auth"),
            method: Method::GET,
            scheme: "https",
            authority: "www.example.com",
            target: "/members/a?b=c",
        }
    }

    fn times_asked(&self) -> usize {
        self.server.seen().len()
    }

    /// Returns the header fields of a signed request.
    fn sign(&self, draft: &Draft) -> HeaderMap {
        let input = draft.input();
        let lines = draft.covered.iter();
        let mut lines: Vec<_> = lines
            .map(|component| format!("{component}: {}", draft.value(component)))
            .collect();
        lines.push(format!("\"@signature-params\": {input}"));
        let base = lines.join("\n");
        let signature = STANDARD.encode(self.pair.sign(base.as_bytes()));
        let label = draft.label;
        let mut headers = HeaderMap::new();
        let mut add = |name: &'static str, value: String| {
            headers.append(name, HeaderValue::try_from(value).unwrap());
        };
        if let Some(agent) = &draft.agent {
            let prefix = if draft.is_string { "" } else { "sig1=" };
            add(
                "signature-agent",
                format!("{prefix}\"{agent}\"{}", draft.kind()),
            );
        }
        add("signature-input", format!("{label}={input}"));
        add("signature", format!("{label}=:{signature}:"));
        headers
    }
}

impl Draft {
    fn input(&self) -> String {
        let mut input = vec![format!("({})", self.covered.join(" "))];
        let mut add = |name: &str, value: Option<String>| {
            input.extend(value.map(|value| format!("{name}={value}")));
        };
        let text = |text: &str| format!("\"{text}\"");
        add("created", self.created.map(|it| it.to_string()));
        add("expires", self.expires.map(|it| it.to_string()));
        add("keyid", self.keyid.as_deref().map(text));
        add("alg", self.alg.map(text));
        add("nonce", self.nonce.map(text));
        add("tag", self.tag.map(text));
        input.join(";")
    }

    fn kind(&self) -> String {
        let kind = self.kind.as_deref();
        kind.map_or_else(String::new, |kind| format!(";type={kind}"))
    }

    fn value(&self, component: &str) -> String {
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        match component {
            "\"@method\"" => self.method.to_string(),
            "\"@authority\"" => self.authority.to_owned(),
            "\"@target-uri\"" => format!("{}://{}{}", self.scheme, self.authority, self.target),
            "\"@scheme\"" => self.scheme.to_owned(),
            "\"@path\"" => path.to_owned(),
            "\"@query\"" => format!("?{query}"),
            agent if agent.starts_with("\"signature-agent\"") => {
                let agent = self.agent.as_deref().unwrap_or_default();
                format!("\"{agent}\"{}", self.kind())
            }
            other => format!("the value of {other}"),
        }
    }

    fn request<'r>(&'r self, headers: &'r HeaderMap) -> SignedRequest<'r> {
        SignedRequest {
            method: &self.method,
            scheme: Some(self.scheme),
            authority: self.authority,
            target: self.target,
            headers,
        }
    }
}

fn settings() -> SignatureSettings {
    SignatureSettings {
        allow_http: true,
        allow_private_networks: true,
        ..SignatureSettings::default()
    }
}

fn clock() -> Clock {
    Clock::manual(NOW_S * 1_000)
}

fn prover() -> SignatureProver {
    SignatureProver::new(settings(), clock())
}

/// Returns the word for a finding, and its evidence.
fn told(finding: &Finding) -> (&'static str, &str) {
    let (word, evidence) = match finding {
        Finding::Confirmed(evidence) => ("confirmed", evidence),
        Finding::Contradicted(evidence) => ("contradicted", evidence),
        Finding::Nothing(evidence) => ("nothing", evidence),
        Finding::Replayed(evidence) => ("replayed", evidence),
    };
    assert_eq!(evidence.method, verify::Method::WebBotAuth);
    (word, &evidence.text)
}

#[track_caller]
fn check(finding: &Finding, word: &str, text: &str) {
    let found = told(finding);
    assert!(
        found.0 == word && found.1.contains(text),
        "expected {word} {text:?}, got {found:?}"
    );
}

#[tokio::test]
async fn a_signed_request_is_confirmed_and_the_next_immediately() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let draft = operator.draft();
    let headers = operator.sign(&draft);
    assert!(SignatureProver::is_signed(&headers));
    assert!(!SignatureProver::is_signed(&HeaderMap::new()));
    assert!(prover.prove_now(&draft.request(&headers), &robot).is_none());
    assert_eq!(operator.times_asked(), 0);
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "confirmed", &operator.keyid());
    assert!(told(&finding).1.contains(&operator.agent()), "{finding:?}");
    let seen = operator.server.seen();
    assert_eq!(seen[0].path, DIRECTORY);
    assert_eq!(seen[0].header("accept"), Some(MEDIA_TYPE));

    let second = Draft {
        nonce: Some("another"),
        ..draft
    };
    let headers = operator.sign(&second);
    let finding = prover.prove_now(&second.request(&headers), &robot).unwrap();
    check(&finding, "confirmed", "signed with the key");
    assert_eq!(operator.times_asked(), 1);
}

#[tokio::test]
async fn older_string_agents_missing_agents_and_target_uri_are_accepted() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let draft = operator.draft();
    for (nonce, draft) in [
        (
            "1",
            Draft {
                is_string: true,
                covered: vec!["\"@authority\"", "\"signature-agent\""],
                ..draft.clone()
            },
        ),
        (
            "2",
            Draft {
                covered: vec!["\"@target-uri\"", "\"signature-agent\";key=\"sig1\""],
                ..draft.clone()
            },
        ),
        (
            "3",
            Draft {
                agent: None,
                covered: vec!["\"@authority\""],
                ..draft.clone()
            },
        ),
        (
            "4",
            Draft {
                label: "relabelled",
                alg: None,
                ..draft
            },
        ),
    ] {
        let draft = Draft {
            nonce: Some(nonce),
            ..draft
        };
        let headers = operator.sign(&draft);
        let finding = prover.prove(&draft.request(&headers), &robot).await;
        check(&finding, "confirmed", "signed with the key");
    }
}

#[tokio::test]
async fn a_changed_request_is_contradicted() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let draft = operator.draft();
    let headers = operator.sign(&draft);
    for altered in [
        Draft {
            target: "/members/b?b=c",
            ..draft.clone()
        },
        Draft {
            target: "/members/a?b=d",
            ..draft.clone()
        },
        Draft {
            method: Method::POST,
            ..draft.clone()
        },
        Draft {
            authority: "other.example.com",
            ..draft.clone()
        },
    ] {
        let finding = prover.prove(&altered.request(&headers), &robot).await;
        check(&finding, "contradicted", "does not match the request");
    }
    // The same bytes with another agent of the robot, which the signature covers.
    let mut other = headers.clone();
    let agent = format!("sig1=\"{}\";type=directory", operator.agent());
    other.insert("signature-agent", HeaderValue::try_from(agent).unwrap());
    let finding = prover.prove(&draft.request(&other), &robot).await;
    check(&finding, "contradicted", "does not match the request");
    // None of these attempts has used up the nonce.
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "confirmed", "signed with the key");
}

/// A change of a draft, and the expected reason for its contradiction.
type Fault = (fn(&mut Draft), &'static str);

const AGENT: &str = "\"signature-agent\";key=\"sig1\"";

const FAULTS: &[Fault] = &[
    (|it| it.tag = Some("other"), "no signature has the tag"),
    (|it| it.tag = None, "no signature has the tag"),
    (|it| it.created = None, "has no created"),
    (|it| it.expires = None, "has no expires"),
    (|it| it.keyid = None, "has no keyid"),
    (
        |it| (it.created, it.expires) = (Some(NOW_S - 600), Some(NOW_S - 31)),
        "expired 31 s ago",
    ),
    (
        |it| (it.created, it.expires) = (Some(NOW_S + 31), Some(NOW_S + 60)),
        "created 31 s ahead",
    ),
    (
        |it| it.expires = Some(NOW_S + 86_401),
        "for 86401 s, but at most 86400 s",
    ),
    (
        |it| it.expires = Some(NOW_S),
        "expires before it was created",
    ),
    (
        |it| it.covered = vec!["\"@path\"", AGENT],
        "neither @authority nor @target-uri",
    ),
    (
        |it| it.covered = vec!["\"@authority\""],
        "does not cover Signature-Agent",
    ),
    (
        |it| it.covered = vec!["\"@authority\"", AGENT, "\"@status\""],
        "which is unknown",
    ),
    (
        |it| it.covered = vec!["\"@authority\"", AGENT, "\"date\""],
        "which does not occur exactly once in the request",
    ),
    (
        |it| it.alg = Some("rsa-pss-sha512"),
        "alg is \"rsa-pss-sha512\", but the key's is ed25519",
    ),
    (|it| it.alg = Some("hmac-sha256"), "alg is \"hmac-sha256\""),
];

#[tokio::test]
async fn each_fault_is_rejected_with_its_own_reason() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    for (change, text) in FAULTS {
        let mut draft = operator.draft();
        change(&mut draft);
        let headers = operator.sign(&draft);
        let finding = prover.prove(&draft.request(&headers), &robot).await;
        check(&finding, "contradicted", text);
    }
    // A small clock difference is accepted.
    let draft = Draft {
        created: Some(NOW_S - 60),
        expires: Some(NOW_S - 30),
        ..operator.draft()
    };
    let headers = operator.sign(&draft);
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "confirmed", "signed with the key");
}

#[tokio::test]
async fn no_nonce_is_accepted_twice() {
    let operator = Operator::new();
    let robot = operator.robot();
    let clock = clock();
    let prover = SignatureProver::new(settings(), clock.clone());
    let draft = operator.draft();
    let headers = operator.sign(&draft);
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "confirmed", "signed with the key");
    // Another request with the same nonce.
    let other = Draft {
        target: "/elsewhere",
        ..draft.clone()
    };
    for replayed in [&draft, &other] {
        let headers = operator.sign(replayed);
        let finding = prover.prove(&replayed.request(&headers), &robot).await;
        check(&finding, "replayed", "nonce was used before");
    }
    clock.advance(Duration::from_secs(91));
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "contradicted", "expired 31 s ago");
}

#[tokio::test]
async fn a_full_nonce_cache_confirms_no_request() {
    let operator = Operator::new();
    let settings = SignatureSettings {
        max_remembered: 16,
        ..settings()
    };
    let prover = SignatureProver::new(settings, clock());
    let mut words = Vec::new();
    for second in 0..60 {
        let draft = Draft {
            created: Some(NOW_S - second),
            nonce: Some(format!("number-{second}").leak()),
            ..operator.draft()
        };
        let headers = operator.sign(&draft);
        let finding = prover
            .prove(&draft.request(&headers), &operator.robot())
            .await;
        words.push(told(&finding).0);
        if words.last() == Some(&"nothing") {
            check(&finding, "nothing", "too many nonces are stored");
        }
    }
    let confirmed = words.iter().filter(|word| **word == "confirmed").count();
    assert!((1..=16).contains(&confirmed), "{confirmed}");
    assert!(!words.contains(&"contradicted"), "{words:?}");
}

#[tokio::test]
async fn only_the_robots_own_agents_are_requested() {
    let operator = Operator::new();
    let prover = prover();
    let draft = operator.draft();
    let mut stranger = Robot::new("stranger", Source::manual());
    stranger.signature_agents = vec!["keys.example".to_owned()];
    // A host suffix of the robot is not an agent.
    stranger.host_suffixes = vec!["0.0.1".to_owned()];
    let headers = operator.sign(&draft);
    let finding = prover.prove(&draft.request(&headers), &stranger).await;
    check(
        &finding,
        "nothing",
        "which the registry does not list as an agent of this robot",
    );
    let unnamed = Draft {
        agent: None,
        covered: vec!["\"@authority\""],
        ..draft.clone()
    };
    let headers = operator.sign(&unnamed);
    stranger.signature_agents.clear();
    let finding = prover.prove(&unnamed.request(&headers), &stranger).await;
    check(&finding, "nothing", "without Signature-Agent");
    let inline = Draft {
        agent: Some(format!("data:{MEDIA_TYPE},{{}}")),
        ..draft
    };
    let headers = operator.sign(&inline);
    let finding = prover
        .prove(&inline.request(&headers), &operator.robot())
        .await;
    check(
        &finding,
        "nothing",
        "is not the https origin of a key directory",
    );
    assert_eq!(operator.times_asked(), 0);
}

#[tokio::test]
async fn an_unavailable_directory_proves_nothing() {
    let operator = Operator::new();
    let robot = operator.robot();
    let draft = operator.draft();
    let headers = operator.sign(&draft);
    let elsewhere = TestServer::new(Reply::typed(MEDIA_TYPE, operator.jwks("")));
    let large = format!("{}{}", operator.jwks(""), " ".repeat(64 * 1024));
    let many = format!(r#"{{"keys":[{}]}}"#, vec!["{}"; 33].join(","));
    for (reply, text) in [
        (Reply::status(404), "the server returned 404"),
        (
            Reply::redirect(elsewhere.url(DIRECTORY)),
            "the server returned 302, but only 200 is accepted",
        ),
        (Reply::typed(MEDIA_TYPE, large), "of 65536 bytes"),
        (
            Reply::typed(MEDIA_TYPE, many),
            "not a key set, or more than 32 keys",
        ),
        (
            Reply::typed(MEDIA_TYPE, "<html>"),
            "not a key set, or more than 32 keys",
        ),
        (
            Reply::typed("application/json", operator.jwks("")),
            "the media type is not",
        ),
        (Reply::Reset, "the key directory of"),
    ] {
        operator.server.set(reply);
        let finding = prover().prove(&draft.request(&headers), &robot).await;
        check(&finding, "nothing", "the key directory of");
        check(&finding, "nothing", text);
    }
    assert!(elsewhere.seen().is_empty());
    operator.server.set(Reply::Hang);
    let impatient = SignatureSettings {
        fetch_timeout: Duration::from_millis(200),
        ..settings()
    };
    let prover = SignatureProver::new(impatient, clock());
    let finding = prover.prove(&draft.request(&headers), &robot).await;
    check(&finding, "nothing", "took too long");
}

#[tokio::test]
async fn directories_in_private_networks_are_not_requested() {
    let operator = Operator::new();
    let settings = SignatureSettings {
        allow_private_networks: false,
        ..settings()
    };
    let port = operator.agent().rsplit(':').next().unwrap().to_owned();
    // Addresses, and a name that resolves to a private address.
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let mut robot = operator.robot();
        let authority = url::Url::parse(&format!("http://{host}:{port}")).unwrap();
        let agent = authority.origin().ascii_serialization();
        robot.signature_agents = vec![agent.replace("http://", "")];
        let draft = Draft {
            agent: Some(agent),
            ..operator.draft()
        };
        let headers = operator.sign(&draft);
        let prover = SignatureProver::new(settings.clone(), clock());
        let finding = prover.prove(&draft.request(&headers), &robot).await;
        check(&finding, "nothing", "the host has no public address");
    }
    assert_eq!(operator.times_asked(), 0);
    let safe = SignatureSettings {
        allow_http: false,
        ..settings
    };
    let (draft, prover) = (operator.draft(), SignatureProver::new(safe, clock()));
    let headers = operator.sign(&draft);
    let finding = prover
        .prove(&draft.request(&headers), &operator.robot())
        .await;
    check(&finding, "nothing", "is not the https origin");
}

#[tokio::test]
async fn keys_are_added_and_removed_with_their_directory() {
    let operator = Operator::new();
    let robot = operator.robot();
    let clock = clock();
    let prover = SignatureProver::new(settings(), clock.clone());
    let nonces = Mutex::new(0);
    let ask = async || {
        let now_s = clock.now_ms() / 1_000;
        *nonces.lock().unwrap() += 1;
        let draft = Draft {
            created: Some(now_s - *nonces.lock().unwrap()),
            expires: Some(now_s + 60),
            nonce: None,
            ..operator.draft()
        };
        let headers = operator.sign(&draft);
        prover.prove(&draft.request(&headers), &robot).await
    };
    let other = operator
        .jwks("")
        .replace(&operator.x(), &Operator::new().x());
    operator.server.set(Reply::typed(MEDIA_TYPE, other));
    check(&ask().await, "nothing", "has no key");
    // The directory has the key now, but is not requested again within the minute.
    let reply = Reply::typed(MEDIA_TYPE, operator.jwks(""));
    operator
        .server
        .set(reply.with("Cache-Control", "max-age=600"));
    check(&ask().await, "nothing", "has no key");
    assert_eq!(operator.times_asked(), 1);
    clock.advance(Duration::from_mins(1));
    check(&ask().await, "confirmed", "signed with the key");
    check(&ask().await, "confirmed", "signed with the key");
    assert_eq!(operator.times_asked(), 2);
    // After the directory has expired, an outage changes nothing,
    operator.server.set(Reply::status(503));
    clock.advance(Duration::from_mins(10));
    check(&ask().await, "confirmed", "signed with the key");
    assert_eq!(operator.times_asked(), 3);
    // but a response without the key does.
    operator
        .server
        .set(Reply::typed(MEDIA_TYPE, r#"{"keys":[]}"#));
    clock.advance(Duration::from_mins(1));
    check(&ask().await, "nothing", "has no key");
    // A key may have its own expiry time.
    let more = format!(r#","exp":{}"#, clock.now_ms() / 1_000);
    operator
        .server
        .set(Reply::typed(MEDIA_TYPE, operator.jwks(&more)));
    clock.advance(Duration::from_mins(2));
    check(
        &ask().await,
        "nothing",
        "is not currently valid according to its nbf or exp",
    );
}

#[tokio::test]
async fn many_requests_fetch_a_directory_once() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let drafts: Vec<_> = (0..50)
        .map(|second| Draft {
            created: Some(NOW_S - second),
            nonce: None,
            ..operator.draft()
        })
        .collect();
    let proofs = drafts.iter().map(|draft| {
        let headers = operator.sign(draft);
        let (prover, robot) = (&prover, &robot);
        async move { prover.prove(&draft.request(&headers), robot).await }
    });
    for finding in futures_util::future::join_all(proofs).await {
        check(&finding, "confirmed", "signed with the key");
    }
    assert_eq!(operator.times_asked(), 1);
}

#[tokio::test]
async fn of_several_signatures_one_valid_is_enough() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let good = operator.draft();
    let mut headers = operator.sign(&good);
    // Signatures of a proxy, and for another purpose, are not the robot's.
    for (name, line) in [
        (
            "signature-input",
            "proxy=(\"@authority\");created=1;expires=2;keyid=\"p\";tag=\"web-bot-auth\"",
        ),
        ("signature", "proxy=:AAAA:"),
        (
            "signature-input",
            "pay=();created=1;keyid=\"x\";tag=\"agent-payer-auth\"",
        ),
        ("signature", "pay=:AAAA:"),
    ] {
        headers.append(name, HeaderValue::from_static(line));
    }
    let finding = prover.prove(&good.request(&headers), &robot).await;
    check(&finding, "confirmed", "signed with the key");
    let finding = prover.prove(&good.request(&headers), &robot).await;
    check(&finding, "replayed", "nonce was used before");
    for label in ["a", "b", "c"] {
        let line = format!("{label}=();tag=\"web-bot-auth\"");
        headers.append("signature-input", HeaderValue::try_from(line).unwrap());
        let line = format!("{label}=:AAAA:");
        headers.append("signature", HeaderValue::try_from(line).unwrap());
    }
    let finding = prover.prove(&good.request(&headers), &robot).await;
    check(&finding, "contradicted", "more than 4 signatures");
}

#[tokio::test]
async fn unreadable_fields_are_distinguished() {
    let operator = Operator::new();
    let (prover, robot) = (prover(), operator.robot());
    let draft = operator.draft();
    let signed = operator.sign(&draft);
    let long = format!("sig1=:{}:", "A".repeat(8 * 1024));
    for (name, value, word, text) in [
        (
            "signature-input",
            "sig1=(",
            "contradicted",
            "signature-input cannot be parsed",
        ),
        (
            "signature",
            "sig1",
            "contradicted",
            "signature cannot be parsed",
        ),
        (
            "signature",
            "other=:AAAA:",
            "contradicted",
            "the label \"sig1\", but Signature does not",
        ),
        (
            "signature",
            &long,
            "contradicted",
            "signature is over 8192 bytes",
        ),
        (
            "signature-agent",
            "sig1=(",
            "nothing",
            "signature-agent cannot be parsed",
        ),
    ] {
        let mut headers = signed.clone();
        headers.insert(name, HeaderValue::try_from(value).unwrap());
        let finding = prover.prove(&draft.request(&headers), &robot).await;
        check(&finding, word, text);
    }
    assert_eq!(operator.times_asked(), 0);
}
