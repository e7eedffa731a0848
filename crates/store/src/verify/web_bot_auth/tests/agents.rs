//! Tests for selecting the `Signature-Agent` member that belongs to a signature.

use http::HeaderValue;

use super::headers;
use crate::verify::web_bot_auth::{agent::Agents, refusal::Refusal, signature::signatures};

/// Returns the agent for a signature that covers `input`.
fn agent(agents: &str, input: &str) -> Result<String, Refusal> {
    let input = format!("sig1=(\"@authority\" {input});tag=\"web-bot-auth\"");
    let headers = headers(&[
        ("signature-agent", agents),
        ("signature-input", &input),
        ("signature", "sig1=:AA==:"),
    ]);
    let found = signatures(&headers).unwrap().remove(0);
    let agents = Agents::read(&headers)?;
    let agent = agents.covered_by(&found, false)?.unwrap();
    Ok(agent.as_str().to_owned())
}

#[test]
fn agent_must_be_covered_by_the_signature() {
    let two = r#"sig1="https://a.example/", other="https://b.example:8443""#;
    for (agents, input, expected) in [
        (two, r#""signature-agent";key="sig1""#, "https://a.example"),
        (
            two,
            r#""signature-agent";key="other""#,
            "https://b.example:8443",
        ),
        (
            two,
            r#""signature-agent";key="other" "signature-agent";key="sig1""#,
            "https://a.example",
        ),
        (two, r#""signature-agent""#, "https://a.example"),
        (
            r#"x="https://A.Example:443";type=directory"#,
            r#""signature-agent";sf"#,
            "https://a.example",
        ),
        (
            r#""https://a.example""#,
            r#""signature-agent""#,
            "https://a.example",
        ),
    ] {
        assert_eq!(agent(agents, input), Ok(expected.to_owned()), "{input}");
    }
    for (agents, input) in [
        (two, ""),
        (two, r#""signature-agent";key="third""#),
        (r#""https://a.example""#, ""),
        (r#""https://a.example""#, r#""signature-agent";key="a""#),
        (
            r#"a="https://a.example", b="https://b.example""#,
            r#""signature-agent""#,
        ),
    ] {
        assert_eq!(
            agent(agents, input),
            Err(Refusal::AgentNotCovered),
            "{input}"
        );
    }
}

#[test]
fn agent_is_the_origin_of_a_directory() {
    let own = r#""signature-agent";key="sig1""#;
    for url in [
        "http://a.example",
        "https://a.example/keys",
        "https://a.example/?q",
        "https://user@a.example",
        "data:application/http-message-signatures-directory+json,{}",
        "a.example",
        "",
    ] {
        let refusal = agent(&format!("sig1=\"{url}\""), own).unwrap_err();
        assert!(matches!(refusal, Refusal::NoOrigin(_)), "{url}: {refusal}");
    }
    let refusal = agent(r#"sig1="https://a.example/jwks";type=did"#, own).unwrap_err();
    assert!(matches!(refusal, Refusal::OtherType(_)), "{refusal}");
    let url = "http://a.example/jwks";
    let refusal = agent(&format!("sig1=\"{url}\";type=jwks_uri"), own).unwrap_err();
    assert!(matches!(refusal, Refusal::NoUrl(_)), "{refusal}");
    for text in [
        "sig1=token",
        "sig1=(\"https://a.example\")",
        "sig1=",
        "\"",
        "\u{1}",
    ] {
        let headers = HeaderValue::from_str(text);
        let refusal = headers.ok().map(|_| agent(text, own).unwrap_err());
        assert!(refusal.is_none_or(|it| it == Refusal::Malformed("signature-agent")));
    }
}
