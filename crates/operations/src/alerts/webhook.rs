//! Delivery of alert messages.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use ring::hmac;
use url::Url;

use super::{Alert, Message, Secret, WebhookUrl, body::body};
use robot_detection_store::fetch::{DirectClient, DirectSettings, FetchError};

/// Timeout for a message and its response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes read from a response.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;
/// Number of characters of the receiver's response that are shown after a test message.
const SHOWN_CHARS: usize = 300;

const SIGNATURE: HeaderName = HeaderName::from_static("x-robot-detection-signature");
const TIMESTAMP: HeaderName = HeaderName::from_static("x-robot-detection-timestamp");

/// A webhook that receives alert messages.
#[derive(Clone, Debug)]
pub struct Webhook {
    url: WebhookUrl,
    secret: Option<Secret>,
    client: DirectClient,
}

/// The response of a receiver that accepted a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Receipt {
    /// Status of the receiver's response, from 200 to 299.
    pub status: u16,
    /// Beginning of the receiver's response, with control characters removed.
    pub text: String,
}

impl Webhook {
    /// Creates a webhook; private addresses are refused unless `is_private` is `true`.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be created.
    pub fn new(
        url: WebhookUrl,
        secret: Option<Secret>,
        is_private: bool,
    ) -> Result<Self, FetchError> {
        let client = DirectClient::new(DirectSettings {
            connect_timeout: TIMEOUT,
            idle_timeout: TIMEOUT,
            timeout: TIMEOUT,
            max_body_bytes: MAX_ANSWER_BYTES,
            is_public_only: !is_private,
            ..DirectSettings::default()
        })?;
        Ok(Self {
            url,
            secret,
            client,
        })
    }

    /// Returns the scheme and host of the URL for display; the rest of the URL is a secret.
    pub fn redacted_url(&self) -> String {
        self.url.to_string()
    }

    /// Sends a message about an alert.
    ///
    /// # Errors
    ///
    /// Returns the reason why the delivery failed; the reason does not contain the URL.
    pub async fn send(&self, alert: &Alert, message: &Message) -> Result<Receipt, String> {
        let (value, other) = body(alert, self.url.full_url(), message);
        let url = other.as_ref().unwrap_or(self.url.full_url());
        let body = Bytes::from(value.to_string());
        let headers = self.headers(&body, message.at_ms);
        let sent = self.client.post(url, headers, body, MAX_ANSWER_BYTES);
        // The client's own timeouts each limit only a single wait.
        let Ok(sent) = tokio::time::timeout(TIMEOUT, sent).await else {
            return Err(too_slow());
        };
        let answer = sent.map_err(|error| delivery_error(&error, url))?;
        let text = String::from_utf8_lossy(&answer.body);
        match answer.status {
            200..300 => Ok(Receipt {
                status: answer.status,
                text: shown(&text, url),
            }),
            // The target of a redirect might belong to a third party, which would receive the
            // message.
            300..400 => Err(format!(
                "status {}: redirects are not followed; set the final URL",
                answer.status
            )),
            status => Err(format!("status {status}: {}", shown(&text, url))),
        }
    }

    fn headers(&self, body: &[u8], at_ms: i64) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let Some(secret) = &self.secret else {
            return headers;
        };
        let timestamp = at_ms.div_euclid(1_000).to_string();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
        let mut signing = hmac::Context::with_key(&key);
        // The timestamp is signed too, so that a replayed message can be recognised as old.
        signing.update(timestamp.as_bytes());
        signing.update(b".");
        signing.update(body);
        let signature = format!("sha256={}", hex::encode(signing.sign().as_ref()));
        for (name, value) in [(TIMESTAMP, timestamp), (SIGNATURE, signature)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

fn too_slow() -> String {
    format!("no response within {} s", TIMEOUT.as_secs())
}

/// Returns the reason for a failed delivery; unlike the error's own text, the reason never contains
/// the URL.
fn delivery_error(error: &FetchError, url: &Url) -> String {
    match error {
        FetchError::Connect { reason, .. } => format!("could not connect: {}", shown(reason, url)),
        FetchError::Tls { reason, .. } => format!("TLS failed: {}", shown(reason, url)),
        FetchError::Timeout { .. } => too_slow(),
        FetchError::Reset { reason, .. } => {
            format!("the connection was closed: {}", shown(reason, url))
        }
        _ => "the response is malformed".to_owned(),
    }
}

/// Returns the beginning of a text, with all parts of the URL removed.
fn shown(text: &str, url: &Url) -> String {
    let mut text = text.to_owned();
    // Some receivers repeat the URL, which contains a secret key, in their error messages.
    let secrets = [
        Some(url.as_str()),
        Some(url.path()),
        url.query(),
        url.password(),
    ];
    let segments = url.path_segments().into_iter().flatten();
    for secret in secrets.into_iter().flatten().chain(segments) {
        if secret.len() > 3 {
            text = text.replace(secret, "***");
        }
    }
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean
        .take(SHOWN_CHARS)
        .collect::<String>()
        .trim()
        .to_owned()
}
