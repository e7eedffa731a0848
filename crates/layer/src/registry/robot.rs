//! Robot of the registry.

use std::{fmt, str::FromStr};

use super::{Pattern, Purpose};

/// Robot that detection knows from a registry.
///
/// Names and mail addresses of owners are ignored by the parsers and never stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Robot {
    /// Identifier, unique within the source (`robot-id`).
    pub id: String,
    /// Display name (`robot-name`).
    pub name: String,
    /// Page about the robot, always `http:` or `https:` (`robot-details-url`).
    pub details_url: Option<String>,
    /// User agent as written in the source, cleaned but not truncated (`robot-useragent`).
    pub useragent: String,
    /// Patterns derived from the useragent; empty if the useragent is unusable.
    pub patterns: Vec<Pattern>,
    /// Purpose of the robot.
    pub purpose: Purpose,
    /// Company or project that operates the robot (bundled registry and modern lists only).
    pub operator: Option<String>,
    /// Published product token in robots.txt, if any (`robot-exclusion-useragent`).
    ///
    /// [`Robot::token`] returns a substitute if no token is published.
    pub product_token: Option<String>,
    /// Whether the robot claims to obey robots.txt (`robot-exclusion`).
    pub exclusion: Exclusion,
    /// Suffixes of the robot's host names (bundled and manual only, `robot-host`).
    pub host_suffixes: Vec<String>,
    /// Published list of the robot's address ranges (bundled and manual only).
    pub ranges_url: Option<String>,
    /// Hosts whose keys sign the robot's requests, with a port unless it is 443, or with the path
    /// of a key set or of a Client ID Metadata Document (bundled and manual only,
    /// `robot-signature-agent`).
    pub signature_agents: Vec<String>,
    /// Evidence for the robot: words for public lists, or `operator` for the operator's page
    /// (bundled and manual only, `robot-evidence`).
    pub evidence: Vec<String>,
    /// Day of the last comparison with the operator's page, such as `2026-11-21` (bundled and
    /// manual only, `robot-checked`).
    pub checked: Option<String>,
    /// Registry that contains the robot.
    pub source: Source,
    /// Whether the robot takes part in detection, and the reason if not.
    pub status: Status,
}

impl Robot {
    /// Creates an active robot without patterns, with the id as name.
    pub fn new(id: impl Into<String>, source: Source) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            details_url: None,
            useragent: String::new(),
            patterns: Vec::new(),
            purpose: Purpose::Unknown,
            operator: None,
            product_token: None,
            exclusion: Exclusion::Unknown,
            host_suffixes: Vec::new(),
            ranges_url: None,
            signature_agents: Vec::new(),
            evidence: Vec::new(),
            checked: None,
            source,
            status: Status::Active,
        }
    }

    /// Returns `true` if the robot takes part in detection.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status == Status::Active && !self.patterns.is_empty()
    }
}

/// Whether a robot obeys robots.txt, according to its source.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Exclusion {
    /// The robot obeys robots.txt.
    Yes,
    /// The robot obeys some rules, or only sometimes.
    Partly,
    /// The robot does not obey robots.txt.
    No,
    /// The source does not state whether the robot obeys robots.txt.
    #[default]
    Unknown,
}

impl Exclusion {
    /// Returns the word in the flat file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }

    /// Parses the first word of a value. Unknown words give `Unknown`.
    #[must_use]
    pub fn from_value(value: &str) -> Self {
        let first = value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        [Self::Yes, Self::Partly, Self::No]
            .into_iter()
            .find(|exclusion| first.eq_ignore_ascii_case(exclusion.as_str()))
            .unwrap_or_default()
    }
}

/// Status of a robot in detection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Status {
    /// The robot's patterns are matched.
    #[default]
    Active,
    /// In the self-test, a pattern matched a browser. The robot is stored, but not matched.
    Quarantined {
        /// Text of the pattern that matched a browser.
        pattern: String,
        /// User-Agent of the browser.
        browser: String,
    },
    /// No pattern could be derived from the useragent.
    Unusable {
        /// Reason why the useragent is unusable, in a few words.
        reason: String,
    },
}

impl Status {
    /// Returns the word in the database, in JSON and in the console.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined { .. } => "quarantined",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// Name of the registry that contains a robot.
///
/// A name consists of lower-case letters, digits, `-`, `.` and `_`, and has at most 64 bytes.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Source(String);

impl Source {
    /// Returns the source of manually added robots.
    #[must_use]
    pub fn manual() -> Self {
        Self("manual".to_owned())
    }

    /// Returns the source of the bundled registry.
    #[must_use]
    pub fn bundled() -> Self {
        Self("bundled".to_owned())
    }

    /// Returns the source of the Web Robots Database (`WebRobotsDB`).
    #[must_use]
    pub fn web_robots_db() -> Self {
        Self("web-robots-db".to_owned())
    }

    /// Returns the name of the source.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the precedence among sources that contain the same robot: lower wins.
    ///
    /// Manual robots come first, then bundled ones, the Web Robots Database, and other sources.
    #[must_use]
    pub fn precedence(&self) -> u8 {
        match self.0.as_str() {
            "manual" => 0,
            "bundled" => 1,
            "web-robots-db" => 2,
            _ => 3,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Source {
    type Err = InvalidSource;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let fits = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_'));
        if fits {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidSource)
        }
    }
}

/// Error for a source name that is too long or contains invalid characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a source name consists of 1 to 64 characters of a-z, 0-9, '-', '.' and '_'")]
pub struct InvalidSource;
