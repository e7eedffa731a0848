//! `[[alert]]`.

use robot_detection_site_robot::spelling::unknown;

use crate::alerts::{AlertFormat, Secret, Template, Trigger, WebhookUrl};
use crate::config::{
    Kind, Value,
    setting::Setting,
    table::{Reader, table},
};

const NEEDS: &str = "an [[alert]] needs a name, a url, and on = \"impostor\" (or what else is \
    watched) or report = \"weekly\"";

table! {
    /// One `[[alert]]`.
    pub struct AlertSettings, AlertKeys = "alert" needs NEEDS;
    /// Name of the alert, unique; messages and the page Alerts call it so
    name: String;
    /// What is watched: impostors of robots; a robot that asks far more than usual; requests
    /// against robots.txt; sources that fail or are held back; certificates that end; results of
    /// the site robot that are held back; pages of robot heaven that say what their originals do not;
    /// a database that is away
    on: Option<Trigger>;
    /// A report in place of on: weekly, on Mondays at 8:00 in UTC
    report: Option<ReportInterval>;
    /// Address of the webhook, a secret: of it only scheme and host are ever shown
    url: WebhookUrl;
    /// Body of messages: json (all that is known), slack (incoming webhooks), matrix (generic
    /// webhooks of hookshot) or ntfy; without it, json
    format: Option<AlertFormat>;
    /// Body in place of format: JSON, in whose texts {name}, {on}, {event}, {title}, {text}, {time}
    /// and {since} are replaced
    template: Option<Template>;
    /// Secret with which messages are signed (HMAC-SHA256 in X-Robot-Detection-Signature)
    secret: Option<Secret>;
    /// Whether the webhook may have an address of a private network or of this machine
    private: Option<bool>;
    /// Requests in an hour up to which all is well: impostor 20, robots_txt 100, crawl_spike 1,000
    above: Option<u32>;
    /// crawl_spike: times of the robot's usual hour of the last 7 days; without it, 5
    times: Option<u32>, 2..=1_000;
    /// certificate: days before its end; without it, 14
    days: Option<u32>, 1..=365;
}

/// Interval of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ReportInterval {
    /// Once a week.
    Weekly,
}

impl AlertSettings {
    /// Reads one that has a name, and one of `on` and `report`.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let alert = Self::read(reader)?;
        if alert.name.is_empty() || alert.on.is_some() == alert.report.is_some() {
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
            unknown("thing to watch", word, words)
        })
    }
}

impl Setting for AlertFormat {
    const KIND: Kind = Kind::Word(|| Self::ALL.iter().map(|one| one.as_str()).collect());

    fn read(value: &Value) -> Result<Self, String> {
        let word = value.text()?;
        Self::from_word(word).ok_or_else(|| {
            let words = Self::ALL.iter().map(|one| one.as_str());
            unknown("format", word, words)
        })
    }
}

impl Setting for ReportInterval {
    const KIND: Kind = Kind::Word(|| vec!["weekly"]);

    fn read(value: &Value) -> Result<Self, String> {
        match value.text()? {
            "weekly" => Ok(Self::Weekly),
            word => Err(unknown("interval", word, ["weekly"])),
        }
    }
}

impl Setting for WebhookUrl {
    const KIND: Kind = Kind::Text;
    const IS_SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        // Not by `text`, whose error would repeat a value of another type.
        match value {
            Value::Text(text) => Self::parse(text),
            _ => Err("an address is a text".to_owned()),
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
            _ => Err("a secret is a text".to_owned()),
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
