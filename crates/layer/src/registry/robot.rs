//! A robot in the registry.

use std::{fmt, str::FromStr};

use super::{Pattern, Purpose};

/// A robot that is described by a registry.
///
/// Names and e-mail addresses of owners are ignored by parsers and never stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Robot {
    /// The ID, which is unique within the source (`robot-id`).
    pub id: String,
    /// The display name (`robot-name`).
    pub name: String,
    /// The URL (`http:` or `https:`) of a page about the robot (`robot-details-url`).
    pub details_url: Option<String>,
    /// The User-Agent as written in the source, cleaned but not truncated (`robot-useragent`).
    pub useragent: String,
    /// Patterns derived from the User-Agent; empty if the User-Agent is unusable.
    pub patterns: Vec<Pattern>,
    /// The purpose of the robot.
    pub purpose: Purpose,
    /// The company or project that operates the robot (only in the bundled registry and in modern
    /// lists).
    pub operator: Option<String>,
    /// The published token by which robots.txt refers to the robot, if any
    /// (`robot-exclusion-useragent`).
    ///
    /// If no token is published, [`Robot::token`] returns a substitute.
    pub product_token: Option<String>,
    /// Whether the robot claims to obey robots.txt (`robot-exclusion`).
    pub exclusion: Exclusion,
    /// Suffixes of the robot's host names (bundled and manual robots only, `robot-host`).
    pub host_suffixes: Vec<String>,
    /// The URL of the published list of the robot's addresses (bundled and manual robots only).
    pub ranges_url: Option<String>,
    /// Hosts whose keys sign the robot's requests, with a port unless it is 443, or with the path
    /// of a key set or of a Client ID Metadata Document (bundled and manual robots only,
    /// `robot-signature-agent`).
    pub signature_agents: Vec<String>,
    /// Whether the robot also sends requests that these data cannot verify, so that a request from
    /// another address is no impostor (bundled and manual robots only, `robot-proofs: partial`).
    pub has_partial_proofs: bool,
    /// Evidence that the robot exists: words for public lists, or `operator` for the operator's
    /// page (bundled and manual robots only, `robot-evidence`).
    pub evidence: Vec<String>,
    /// The date of the latest comparison with the operator's page, such as `2026-11-21` (bundled
    /// and manual robots only, `robot-checked`).
    pub checked: Option<String>,
    /// The name of the registry that contains the robot.
    pub source: Source,
    /// Whether the robot takes part in detection, with the reason if it does not.
    pub status: Status,
}

impl Robot {
    /// Creates an active robot without patterns, with its ID as the name.
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
            has_partial_proofs: false,
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
    /// The robot obeys only some rules, or obeys rules only sometimes.
    Partly,
    /// The robot does not obey robots.txt.
    No,
    /// The source does not state whether the robot obeys robots.txt.
    #[default]
    Unknown,
}

impl Exclusion {
    /// Returns the word used in the flat file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }

    /// Parses the first word of a value. Returns `Unknown` if the word is not known.
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

/// The status of a robot in detection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Status {
    /// The robot takes part in detection.
    #[default]
    Active,
    /// One of the robot's patterns matched a browser in the self-test. The robot is stored but not
    /// detected.
    Quarantined {
        /// The text of the pattern that matched a browser.
        pattern: String,
        /// The User-Agent of the browser that the pattern matched.
        browser: String,
    },
    /// No pattern could be derived from the robot's User-Agent.
    Unusable {
        /// The reason why the User-Agent is unusable, in a few words.
        reason: String,
    },
}

impl Status {
    /// Returns the word used in the database, in JSON and in the console.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined { .. } => "quarantined",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// The name of the registry that contains a robot.
///
/// A name consists of at most 64 lower-case letters, digits, `-`, `.` and `_`.
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

    /// Returns the precedence among sources that contain the same robot; a lower value takes
    /// precedence.
    ///
    /// Manual robots come first, then the bundled registry, the Web Robots Database, and other
    /// sources.
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

/// Error returned if a source name is too long or contains invalid characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a source name must consist of 1 to 64 characters from a-z, 0-9, '-', '.' and '_'")]
pub struct InvalidSource;
