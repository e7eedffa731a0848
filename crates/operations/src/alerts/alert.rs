//! Alert definitions: the trigger, the thresholds and the receiver of each alert.

use std::fmt;

use url::Url;

use super::{Template, Webhook};

robot_detection_layer::words! {
    /// The trigger of an alert, as named in the settings.
    pub enum Trigger {
        /// Requests whose claim to come from a robot was disproven.
        Impostor = "impostor",
        /// A robot that sends far more requests than usual.
        CrawlSpike = "crawl_spike",
        /// Requests that violate robots.txt.
        RobotsTxt = "robots_txt",
        /// A registry source whose last refresh failed or was quarantined.
        Refresh = "refresh",
        /// A certificate that expires soon.
        Certificate = "certificate",
        /// Results of the site robot that are held for review.
        Heaven = "heaven",
        /// Heaven pages with text that their originals lack.
        Parity = "parity",
        /// An unavailable database.
        Database = "database",
    }
}

/// The condition that an alert watches, with its thresholds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watch {
    /// Too many requests from impostors in an hour.
    Impostor {
        /// Number of requests in an hour above which the alert is raised.
        above: u64,
    },
    /// Far more requests from a robot in an hour than usual.
    CrawlSpike {
        /// Minimum increase, as a multiple of the hourly average of the last 7 days.
        times: u64,
        /// Number of requests in an hour up to which no alert is raised, even if the robot usually
        /// sends fewer.
        above: u64,
    },
    /// Too many violations of robots.txt in an hour.
    RobotsTxt {
        /// Number of requests in an hour above which the alert is raised.
        above: u64,
    },
    /// A source whose last refresh failed or was quarantined.
    Refresh,
    /// A certificate that expires soon.
    Certificate {
        /// Number of days before expiry from which the alert is raised.
        days: u64,
    },
    /// Results of the site robot that are held for review.
    Heaven,
    /// Heaven pages that contain text that their originals lack.
    Parity,
    /// An unavailable database.
    Database,
}

robot_detection_layer::words! {
    /// The format of a message body.
    #[derive(Default)]
    pub enum AlertFormat {
        /// JSON that contains all data about the alert.
        #[default]
        Json = "json",
        /// JSON for incoming webhooks of Slack and compatible services.
        Slack = "slack",
        /// JSON for generic webhooks of matrix-hookshot.
        Matrix = "matrix",
        /// JSON for ntfy; the last segment of the URL is the topic.
        Ntfy = "ntfy",
    }
}

/// An alert, as configured by an `[[alert]]` table.
#[derive(Clone, Debug)]
pub struct Alert {
    /// Unique name of the alert.
    pub name: String,
    /// Condition that raises the alert.
    pub watch: Watch,
    /// Webhook that receives the alert's messages.
    pub webhook: Webhook,
    /// Format of the message body.
    pub format: AlertFormat,
    /// Template of the message body; replaces the format.
    pub template: Option<Template>,
}

/// The URL of a webhook. The URL is a secret: only its scheme, host and port are ever shown.
#[derive(Clone, Eq, PartialEq)]
pub struct WebhookUrl(Url);

/// A secret text, which is never displayed or logged.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Watch {
    /// Returns the name of the condition's trigger in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Impostor { .. } => Trigger::Impostor.as_str(),
            Self::CrawlSpike { .. } => Trigger::CrawlSpike.as_str(),
            Self::RobotsTxt { .. } => Trigger::RobotsTxt.as_str(),
            Self::Refresh => Trigger::Refresh.as_str(),
            Self::Certificate { .. } => Trigger::Certificate.as_str(),
            Self::Heaven => Trigger::Heaven.as_str(),
            Self::Parity => Trigger::Parity.as_str(),
            Self::Database => Trigger::Database.as_str(),
        }
    }

    /// Returns the title of the message that announces the start of an alert.
    pub fn title(self) -> &'static str {
        match self {
            Self::Impostor { .. } => "Requests pretending to be robots",
            Self::CrawlSpike { .. } => "A robot sends far more requests than usual",
            Self::RobotsTxt { .. } => "Requests that violate robots.txt",
            Self::Refresh => "The registry is not being refreshed",
            Self::Certificate { .. } => "A certificate expires soon",
            Self::Heaven => "Robot heaven is held for review",
            Self::Parity => "Robot heaven differs from the original pages",
            Self::Database => "The database is unavailable",
        }
    }
}

impl WebhookUrl {
    /// Parses a webhook URL.
    ///
    /// # Errors
    ///
    /// Returns an error message that does not contain the URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim());
        let url = url.map_err(|error| format!("invalid URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("use a webhook URL such as https://hooks.example.com/…".to_owned());
        }
        Ok(Self(url))
    }

    /// Returns the full URL, to which messages are sent.
    pub(super) fn full_url(&self) -> &Url {
        &self.0
    }
}

/// Writes only the scheme, host and port of the URL.
impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host) = (self.0.scheme(), self.0.host_str().unwrap_or_default());
        write!(f, "{scheme}://{host}")?;
        match self.0.port() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Secret {
    /// Creates a secret from its text.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the bytes of the secret.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scheme_and_host_of_a_url_are_shown() {
        for (url, shown) in [
            (
                "https://hooks.example/services/T0/B1/xyz",
                "https://hooks.example",
            ),
            (
                "https://me:pw@hooks.example:8443/a?token=b",
                "https://hooks.example:8443",
            ),
            ("http://[::1]:9/a", "http://[::1]:9"),
        ] {
            let url = WebhookUrl::parse(url).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
        }
        for wrong in [
            "",
            "hooks.example/secret",
            "ftp://h/secret",
            "https:///",
            "mailto:secret@h",
        ] {
            let told = WebhookUrl::parse(wrong).err();
            assert!(told.is_none_or(|told| !told.contains("secret")), "{wrong}");
        }
        assert_eq!(format!("{:?}", Secret::new("xyz")), "***");
    }
}
