//! `[[alert]]` tables.

use robot_detection_site_robot::spelling::unknown_word;

use crate::alerts::{AlertFormat, Secret, Template, Trigger, WebhookUrl};
use crate::config::{
    Kind, Value,
    setting::Setting,
    table::{Reader, table},
};

const NEEDS: &str =
    "an [[alert]] needs a name, a url, and on = \"impostor\" (or another condition)";

table! {
    /// An `[[alert]]` table.
    pub struct AlertSettings, AlertKeys = "alert" needs NEEDS;
    /// Unique name of the alert, shown in messages and on the console page Alerts
    name: String;
    /// Condition that triggers the alert: spoofed robots; a robot that sends far more requests than
    /// usual; requests that violate robots.txt; sources that fail or are held for review; expiring
    /// certificates; site robot results that are held for review; heaven pages that differ from
    /// their originals; an unavailable database
    on: Trigger;
    /// URL of the webhook; treated as a secret, so only its scheme and host are shown
    url: WebhookUrl;
    /// Format of messages: json (all data), slack (incoming webhooks), matrix (generic webhooks of
    /// hookshot) or ntfy; default: json
    format: Option<AlertFormat>;
    /// JSON message to send instead of a message in the given format; the placeholders {name},
    /// {on}, {event}, {title}, {text}, {time} and {since} in its strings are replaced
    template: Option<Template>;
    /// Secret for signing messages (HMAC-SHA256 in the header X-Robot-Detection-Signature)
    secret: Option<Secret>;
    /// Whether the webhook may resolve to a private or local address
    private: Option<bool>;
    /// Threshold in requests per hour; defaults: impostor 20, robots_txt 100, crawl_spike 1,000
    above: Option<u32>;
    /// Threshold for crawl_spike, as a multiple of the robot's usual requests per hour in the last
    /// 7 days; default: 5
    times: Option<u32>, 2..=1_000;
    /// For certificate alerts: number of days before expiry at which to alert; default: 14
    days: Option<u32>, 1..=365;
}

impl AlertSettings {
    /// Reads an `[[alert]]` table, which must have a name, a URL and a condition.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let alert = Self::read(reader)?;
        if alert.name.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(alert)
    }
}

impl Setting for Trigger {
    const KIND: Kind = Kind::Word(|| Self::ALL.iter().map(|one| one.as_str()).collect());

    fn read(value: &Value) -> Result<Self, String> {
        let word = value.text()?;
        Self::from_word(word).ok_or_else(|| {
            let words = Self::ALL.iter().map(|one| one.as_str());
            unknown_word("condition", word, words)
        })
    }
}

impl Setting for AlertFormat {
    const KIND: Kind = Kind::Word(|| Self::ALL.iter().map(|one| one.as_str()).collect());

    fn read(value: &Value) -> Result<Self, String> {
        let word = value.text()?;
        Self::from_word(word).ok_or_else(|| {
            let words = Self::ALL.iter().map(|one| one.as_str());
            unknown_word("format", word, words)
        })
    }
}

impl Setting for WebhookUrl {
    const KIND: Kind = Kind::Text;
    const IS_SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        // `text` is not used, because its error would repeat a value of another type.
        match value {
            Value::Text(text) => Self::parse(text),
            _ => Err("a URL must be a string".to_owned()),
        }
    }

    fn shown(value: &Value) -> String {
        Self::read(value).map_or_else(|_| "***".to_owned(), |url| url.to_string())
    }
}

impl Setting for Secret {
    const KIND: Kind = Kind::Text;
    const IS_SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(Self::new(text)),
            _ => Err("a secret must be a string".to_owned()),
        }
    }

    fn shown(_: &Value) -> String {
        "***".to_owned()
    }
}

impl Setting for Template {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        Self::parse(value.text()?)
    }
}
