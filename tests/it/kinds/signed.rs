//! Requests signed as robots sign them come from a robot, whatever the User-Agent.

use std::{fs, net::IpAddr, path::Path, sync::Arc};

use http::{Request, Response};
use robot_detection::{
    detect::{Claim, Kind, SigningHost, Verdict},
    layer::{ClaimedRequest, Identification, Outcome, RobotDetectionLayer, Verdicts},
    policy::{Action, Policy, Rule},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};
use serde_json::Value;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::support::program::{Server, eventually, request, succeed};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const INPUT: &str = "sig1=(\"@authority\" \"signature-agent\";key=\"sig1\");created=1;expires=2;keyid=\"k\";tag=\"web-bot-auth\"";

fn signed(agent: &str) -> [(&'static str, String); 3] {
    [
        ("signature-agent", format!("sig1=\"{agent}\"")),
        ("signature-input", INPUT.to_owned()),
        ("signature", "sig1=:AA==:".to_owned()),
    ]
}

/// Accepts the signature of one host, and no other.
struct AcceptOneHost;

impl Verdicts for AcceptOneHost {
    fn verdict(&self, _: &ClaimedRequest<'_>) -> Verdict {
        Verdict::Verified
    }

    fn signer(&self, visit: &ClaimedRequest<'_>) -> Option<SigningHost> {
        assert!(matches!(visit.claim, Claim::Signed(_)));
        let agent = visit.headers["signature-agent"].to_str().unwrap();
        agent
            .contains("holds.example")
            .then(|| SigningHost::new("holds.example").unwrap())
    }
}

fn layer(policy: robot_detection::policy::PolicyBuilder) -> RobotDetectionLayer {
    let mut agent = Robot::new("chatgpt-agent", Source::manual());
    agent.patterns = vec![Pattern::new(PatternKind::Token, "ChatGPT Agent")];
    agent.signature_agents = vec!["chatgpt.example".to_owned()];
    agent.purpose = Purpose::AiUser;
    RobotDetectionLayer::builder()
        .policy(|_| policy)
        .bundled_registry(false)
        .add_robots([agent])
        .build()
        .unwrap()
        .report_outcome(true)
        .client_address(|extensions| extensions.get::<IpAddr>().copied())
}

/// Returns the status, outcome and identity reported to the application.
async fn ask(
    layer: &RobotDetectionLayer,
    path: &str,
    headers: &[(&'static str, String)],
) -> (u16, Outcome, Option<Identification>) {
    let application = service_fn(async |request: Request<()>| {
        let mut response = Response::new(String::new());
        if let Some(told) = request.extensions().get::<Identification>() {
            response.extensions_mut().insert(told.clone());
        }
        Ok::<_, std::convert::Infallible>(response)
    });
    let mut request = Request::get(path).header("user-agent", CHROME);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let mut request = request.body(()).unwrap();
    request
        .extensions_mut()
        .insert(IpAddr::from([192, 0, 2, 7]));
    let response = layer.layer(application).oneshot(request).await.unwrap();
    let extensions = response.extensions();
    (
        response.status().as_u16(),
        extensions.get::<Outcome>().cloned().unwrap_or_default(),
        extensions.get::<Identification>().cloned(),
    )
}

#[tokio::test]
async fn a_signer_is_a_robot_whatever_its_user_agent() {
    let layer = layer(Policy::builder());
    let without = |gone: &str| -> Vec<_> {
        let all = signed("https://chatgpt.example").into_iter();
        all.filter(|(name, _)| *name != gone).collect()
    };
    let other_tag = [
        (
            "signature-agent",
            "sig1=\"https://chatgpt.example\"".to_owned(),
        ),
        ("signature-input", INPUT.replace("web-bot-auth", "other")),
    ];
    for (headers, kind, robot) in [
        (
            signed("https://chatgpt.example").to_vec(),
            Kind::Listed,
            Some("chatgpt-agent"),
        ),
        (
            signed("https://other.example").to_vec(),
            Kind::Unlisted,
            Some("unlisted"),
        ),
        (
            signed("nonsense").to_vec(),
            Kind::Unlisted,
            Some("unlisted"),
        ),
        // A missing signature proves nothing, but does not make the client a browser either.
        (without("signature"), Kind::Listed, Some("chatgpt-agent")),
        (without("signature-agent"), Kind::Person, None),
        (without("signature-input"), Kind::Person, None),
        (other_tag.to_vec(), Kind::Person, None),
        (Vec::new(), Kind::Person, None),
    ] {
        let (status, outcome, told) = ask(&layer, "/members-only-stuff/a", &headers).await;
        assert_eq!(outcome.kind(), Some(kind), "{headers:?}");
        assert_eq!(outcome.robot(), robot, "{headers:?}");
        assert_eq!(status, if kind == Kind::Person { 200 } else { 302 });
        assert_eq!(told, None);
    }
    let (_, _, told) = ask(&layer, "/", &signed("https://chatgpt.example")).await;
    let Some(Identification::Listed(listed)) = told else {
        panic!("{told:?}");
    };
    assert_eq!((&*listed.robot.id, listed.pattern), ("chatgpt-agent", None));
}

#[tokio::test]
async fn an_unknown_signer_has_a_name_once_its_signature_is_verified() {
    let rules = Policy::builder()
        .rule(
            Rule::builder(Action::Refuse)
                .paths(["/a"])
                .robots(["holds.example"]),
        )
        .rule(
            Rule::builder(Action::Refuse)
                .paths(["/b"])
                .robots(["unlisted"]),
        );
    let layer = layer(rules).verdicts(Arc::new(AcceptOneHost));
    for (agent, path, status, robot) in [
        ("https://holds.example", "/a", 403, "holds.example"),
        ("https://holds.example", "/b", 403, "holds.example"),
        ("https://fails.example", "/a", 200, "unlisted"),
        ("https://fails.example", "/b", 403, "unlisted"),
    ] {
        let (answered, outcome, _) = ask(&layer, path, &signed(agent)).await;
        assert_eq!(answered, status, "{agent} {path}");
        assert_eq!(outcome.robot(), Some(robot), "{agent}");
        assert_eq!(outcome.kind(), Some(Kind::Unlisted));
        assert_eq!(outcome.verdict(), Some(Verdict::Unverifiable));
    }
    let (_, outcome, told) = ask(&layer, "/", &signed("https://holds.example")).await;
    assert_eq!(outcome.signer().unwrap().host(), Some("holds.example"));
    assert_eq!(told.unwrap().id(), "holds.example");
}

#[tokio::test]
async fn a_host_with_a_verified_signature_has_its_own_pace() {
    let slow = Rule::builder(Action::Slow).paths(["/*"]).requests(2);
    let layer = layer(Policy::builder().rule(slow)).verdicts(Arc::new(AcceptOneHost));
    let mut statuses = Vec::new();
    for agent in ["fails", "other", "fails", "holds", "holds", "holds"] {
        let headers = signed(&format!("https://{agent}.example"));
        statuses.push(ask(&layer, "/", &headers).await.0);
    }
    assert_eq!(statuses, [200, 200, 429, 200, 200, 429]);
}

fn serve(directory: &Path, text: &str) -> Server {
    let text = format!("web_robots_db = ''\n{text}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

fn get(server: &Server, path: &str, agent: &str) -> u16 {
    let headers = signed(agent);
    let mut headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    headers.push(("user-agent", CHROME));
    request(server.addr, "GET", path, &headers).status
}

#[test]
fn the_server_treats_signers_as_robots() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(
        directory.path(),
        "[access_log]\npath = 'access.log'\nformat = 'json'\n[verify]\nmethods = ['ranges']\n\
         [[rule]]\npath = '/refused/*'\nvisitors = 'unlisted'\naction = 'refuse'\n",
    );
    assert_eq!(
        get(&server, "/members-only-stuff/", "https://chatgpt.com"),
        302
    );
    assert_eq!(
        get(&server, "/members-only-stuff/", "https://agent.invalid"),
        302
    );
    assert_eq!(get(&server, "/refused/a", "https://agent.invalid"), 403);
    assert_eq!(server.get("/members-only-stuff/", CHROME).status, 200);
    let text = server.metrics();
    for expected in [
        "visitor=\"listed\",decision=\"redirect\"} 1",
        "visitor=\"unlisted\",decision=\"redirect\"} 1",
        "robot=\"chatgpt-agent\",decision=\"redirect\"} 1",
        "robot=\"unlisted\",decision=\"refuse\"} 1",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let log = directory.path().join("access.log");
    eventually("the access log", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let robots: Vec<_> = lines.map(|line| line["robot"].clone()).collect();
        // Requests for metrics are not visits.
        robots.starts_with(&[
            "chatgpt-agent".into(),
            "unlisted".into(),
            "unlisted".into(),
            Value::Null,
        ])
    });
}

#[test]
fn explain_accepts_the_headers_that_name_the_signer() {
    let directory = tempfile::tempdir().unwrap();
    let text = "web_robots_db = ''\n[verify]\nenabled = false\n";
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let explain = |agent: &str| {
        let agent = format!("Signature-Agent: sig1=\"{agent}\"");
        let input = format!("signature-input: {INPUT}");
        let arguments = [
            "explain",
            "--path",
            "/members-only-stuff/",
            "--user-agent",
            CHROME,
            "--header",
            &agent,
            "--header",
            &input,
        ];
        succeed(directory.path(), &arguments)
    };
    let told = explain("https://chatgpt.com");
    assert!(
        told.contains("claim     chatgpt-agent, by signature of the request"),
        "{told}"
    );
    assert!(
        told.contains("with the Signature-Agent of the robot \"chatgpt-agent\""),
        "{told}"
    );
    assert!(
        told.contains("decision  redirect 302 /robot-heaven/"),
        "{told}"
    );
    let told = explain("https://agent.invalid");
    assert!(
        told.contains("claim     unlisted, by signature of the request"),
        "{told}"
    );
    assert!(told.contains("the robot is unlisted"), "{told}");
}
