//! Our own site robot, run as a program: it signs, and its key directory is served.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;

use super::{DIRECTORY, MEDIA_TYPE, thumbprint};
use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, Server, succeed},
};

const PAGE: &str = "<title>Home</title><p>A page with words enough to be one.";

#[test]
fn the_site_robot_signs_and_its_key_is_served() {
    let site = TestServer::with(|seen| match seen.path.as_str() {
        "/start?q=1" => Reply::typed("text/html", PAGE),
        _ => Reply::status(404),
    });
    let directory = tempfile::tempdir().unwrap();
    let settings = format!(
        "web_robots_db = ''\n[site_robot]\nstarting_points = '{}'\nsigning_key = 'robot.key'\n\
         signature_agent = 'https://robot.example'\n",
        site.url("/start?q=1")
    );
    std::fs::write(directory.path().join("c.toml"), settings).unwrap();
    succeed(
        directory.path(),
        &["--config", "c.toml", "site-robot", "run"],
    );
    let server = Server::start(directory.path(), &["--config", "c.toml", "serve", "--demo"]);
    let answer = server.get(DIRECTORY, FIREFOX);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), MEDIA_TYPE);
    assert!(
        answer
            .header("signature-input")
            .contains("\"@authority\";req")
    );
    let jwks: Value = serde_json::from_slice(&answer.body).unwrap();
    let x = jwks["keys"][0]["x"].as_str().unwrap();
    let keyid = thumbprint(x);
    assert_eq!(jwks["keys"][0]["kid"], keyid);
    assert_eq!(jwks["keys"][0].get("d"), None);

    let seen = site.seen();
    assert!(seen.iter().any(|it| it.path == "/start?q=1"), "{seen:?}");
    for seen in seen {
        let header = |name: &str| seen.header(name).unwrap_or_default().to_owned();
        let agent = "sig1=\"https://robot.example\"";
        assert_eq!(header("signature-agent"), agent, "{seen:?}");
        let input = header("signature-input").replacen("sig1=", "", 1);
        assert!(input.contains(&format!("keyid=\"{keyid}\"")), "{input}");
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        let base = format!(
            "\"@authority\": {}\n\"@method\": GET\n\"@path\": {path}\n\"@query\": ?{query}\n\
             \"signature-agent\";key=\"sig1\": \"https://robot.example\"\n\
             \"@signature-params\": {input}",
            header("host")
        );
        let signature = header("signature");
        let signature = signature.trim_start_matches("sig1=:").trim_end_matches(':');
        let signature = STANDARD.decode(signature).unwrap();
        let key = UnparsedPublicKey::new(&ED25519, URL_SAFE_NO_PAD.decode(x).unwrap());
        assert!(key.verify(base.as_bytes(), &signature).is_ok(), "{base}");
    }
}
