//! What is watched, and who is told.

use std::fmt;

use url::Url;

use super::{Template, Webhook};

/// Thing that is watched, as settings name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trigger {
    /// Robots whose claims are disproven.
    Impostor,
    /// A robot that asks far more than usual.
    CrawlSpike,
    /// Requests against robots.txt.
    RobotsTxt,
    /// A source of the registry that fails, or is held back.
    Refresh,
    /// A certificate that ends soon.
    Certificate,
    /// Results of the site robot that are held back.
    Heaven,
    /// Pages of robot heaven that say what their originals do not.
    Parity,
    /// A database that is away.
    Database,
}

/// Thing that is watched, with its thresholds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watch {
    /// More requests of impostors in an hour.
    Impostor {
        /// Requests that are no alert yet.
        above: u64,
    },
    /// More requests of a robot in an hour than usual.
    CrawlSpike {
        /// Times its usual hour of the last 7 days.
        times: u64,
        /// Requests in an hour that are no alert yet, however few are usual.
        above: u64,
    },
    /// More requests against robots.txt in an hour.
    RobotsTxt {
        /// Requests that are no alert yet.
        above: u64,
    },
    /// A source whose last refresh failed or was held back.
    Refresh,
    /// A certificate that ends within some days.
    Certificate {
        /// Days.
        days: u64,
    },
    /// Results of the site robot that are held back.
    Heaven,
    /// Pages of robot heaven that say what their originals do not.
    Parity,
    /// A database that is away.
    Database,
    /// Nothing: a report is sent each week.
    Weekly,
}

/// Body that a receiver understands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AlertFormat {
    /// All that is known, as JSON of our own.
    #[default]
    Json,
    /// Incoming webhook of Slack, and of what takes the same.
    Slack,
    /// Generic webhook of matrix-hookshot.
    Matrix,
    /// JSON of ntfy; the last segment of the address is the topic.
    Ntfy,
}

/// One `[[alert]]`.
#[derive(Clone, Debug)]
pub struct Alert {
    /// Name, unique.
    pub name: String,
    /// What is watched.
    pub watch: Watch,
    /// Who is told.
    pub webhook: Webhook,
    /// What is sent.
    pub format: AlertFormat,
    /// What is sent in place of the format.
    pub template: Option<Template>,
}

/// Address of a webhook, which is a secret: only scheme and host are ever written.
#[derive(Clone, Eq, PartialEq)]
pub struct WebhookUrl(Url);

/// Text that is never written.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Trigger {
    /// Every one of them, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Impostor,
        Self::CrawlSpike,
        Self::RobotsTxt,
        Self::Refresh,
        Self::Certificate,
        Self::Heaven,
        Self::Parity,
        Self::Database,
    ];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Impostor => "impostor",
            Self::CrawlSpike => "crawl_spike",
            Self::RobotsTxt => "robots_txt",
            Self::Refresh => "refresh",
            Self::Certificate => "certificate",
            Self::Heaven => "heaven",
            Self::Parity => "parity",
            Self::Database => "database",
        }
    }

    /// Returns what a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.as_str() == word)
    }
}

impl Watch {
    /// Returns the word for it.
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
            Self::Weekly => "report",
        }
    }

    /// Returns what has begun, as the title of a message has it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Impostor { .. } => "Impostors of robots",
            Self::CrawlSpike { .. } => "A robot asks far more than usual",
            Self::RobotsTxt { .. } => "Requests against robots.txt",
            Self::Refresh => "The registry is not refreshed",
            Self::Certificate { .. } => "A certificate ends soon",
            Self::Heaven => "Robot heaven is held back",
            Self::Parity => "Robot heaven says what pages do not",
            Self::Database => "The database is away",
            Self::Weekly => "Robots of the week",
        }
    }
}

impl AlertFormat {
    /// Every one of them, in the order of the documentation.
    pub const ALL: &'static [Self] = &[Self::Json, Self::Slack, Self::Matrix, Self::Ntfy];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Slack => "slack",
            Self::Matrix => "matrix",
            Self::Ntfy => "ntfy",
        }
    }

    /// Returns what a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.as_str() == word)
    }
}

impl WebhookUrl {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, without the address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim());
        let url = url.map_err(|error| format!("this is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("a webhook has an address such as https://hooks.example.com/…".to_owned());
        }
        Ok(Self(url))
    }

    /// Returns the address as a whole, to send to.
    pub(super) fn whole(&self) -> &Url {
        &self.0
    }
}

/// Writes scheme, host and port.
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
    /// Creates it from its text.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the secret.
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
    fn of_an_address_only_scheme_and_host_are_written() {
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
