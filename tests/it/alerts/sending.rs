//! Delivery of a message: signature, formats, redirects, slow receivers, private addresses.

use std::time::Duration;

use ring::hmac;
use robot_detection::alerts::{
    Alert, AlertFormat, Message, Secret, Template, Watch, Webhook, WebhookUrl,
};

use super::receiver::{KEY, Manner, NOW_MS, PATH, Receiver};

async fn sent(alert: &Alert) -> Result<u16, String> {
    let message = Message::test(alert, NOW_MS);
    let receipt = alert.webhook.send(alert, &message).await?;
    Ok(receipt.status)
}

#[tokio::test]
async fn a_message_is_signed_with_its_time() {
    let receiver = Receiver::start(Manner::Takes).await;
    assert_eq!(sent(&receiver.alert(Watch::Heaven)).await, Ok(200));
    let told = &receiver.told()[0];
    assert_eq!(told.path, PATH);
    let header = |name| told.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "application/json");
    let timestamp = header("x-robot-detection-timestamp");
    assert_eq!(timestamp, (NOW_MS / 1_000).to_string());
    let signature = header("x-robot-detection-signature");
    let signature = signature.strip_prefix("sha256=").unwrap();
    let bytes: Vec<u8> = (0..signature.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap())
        .collect();
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY.as_bytes());
    let signed = [timestamp.as_bytes(), b".", &told.body].concat();
    hmac::verify(&key, &signed, &bytes).unwrap();
    assert!(hmac::verify(&key, &told.body, &bytes).is_err());
    assert_eq!(told.json()["event"], "test");
    assert_eq!(told.json()["time"], "2026-03-01T12:00:00Z");
}

#[tokio::test]
async fn each_format_matches_its_receiver() {
    let receiver = Receiver::start(Manner::Takes).await;
    let mut alert = receiver.alert(Watch::Heaven);
    for format in [AlertFormat::Slack, AlertFormat::Matrix, AlertFormat::Ntfy] {
        alert.format = format;
        assert_eq!(sent(&alert).await, Ok(200));
    }
    alert.template = Some(Template::parse(r#"{"msg": {"text": "{name}: {title}"}}"#).unwrap());
    assert_eq!(sent(&alert).await, Ok(200));
    let told = receiver.told();
    for one in [0, 1] {
        let text = told[one].json()["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("Test alert"), "{text}");
    }
    assert_eq!(told[2].path, "/services/T0SECRET/");
    assert_eq!(told[2].json()["topic"], "xyzzy");
    assert_eq!(
        told[3].json()["msg"]["text"],
        "the alert: Test alert from robot-detection"
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let receiver = Receiver::start(Manner::Redirects).await;
    let error = sent(&receiver.alert(Watch::Heaven)).await.unwrap_err();
    assert!(error.contains("status 302: redirects"), "{error}");
    assert_eq!(receiver.told().len(), 1);
}

#[tokio::test]
async fn a_receivers_response_is_reported_without_its_url() {
    let receiver = Receiver::start(Manner::Refuses).await;
    let error = sent(&receiver.alert(Watch::Heaven)).await.unwrap_err();
    assert!(error.contains("status 500: no: ***"), "{error}");
}

#[tokio::test]
async fn an_unresponsive_receiver_times_out_after_ten_seconds() {
    let receiver = Receiver::start(Manner::Hangs).await;
    let alert = receiver.alert(Watch::Heaven);
    let began = tokio::time::Instant::now();
    let error = sent(&alert).await.unwrap_err();
    assert_eq!(error, "no response within 10 s");
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_private_address_is_used_only_where_allowed() {
    let receiver = Receiver::start(Manner::Takes).await;
    let mut alert = receiver.alert(Watch::Heaven);
    let port = receiver.url.split(':').nth(2).unwrap();
    for url in [receiver.url.clone(), format!("http://localhost:{port}")] {
        let url = WebhookUrl::parse(&url).unwrap();
        alert.webhook = Webhook::new(url, Some(Secret::new(KEY)), false).unwrap();
        let error = sent(&alert).await.unwrap_err();
        assert!(error.contains("no public address"), "{error}");
    }
    assert!(receiver.told().is_empty());
}
