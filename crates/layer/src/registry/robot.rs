//! One robot of the registry.

use std::{fmt, str::FromStr};

use super::{Pattern, Purpose};

/// Robot that the registry knows.
///
/// Owner names, mail addresses and the like are read over, never kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Robot {
    /// Identifier, unique within its source (`robot-id`).
    pub id: String,
    /// Name for people (`robot-name`).
    pub name: String,
    /// Page about the robot; always `http:` or `https:` (`robot-details-url`).
    pub details_url: Option<String>,
    /// User agent as the source spells it, cleaned but not cut (`robot-useragent`).
    pub useragent: String,
    /// Patterns that the useragent was turned into; empty when unusable.
    pub patterns: Vec<Pattern>,
    /// What the robot is for.
    pub purpose: Purpose,
    /// Company or project that runs it (bundled registry and modern lists only).
    pub operator: Option<String>,
    /// Product token in robots.txt, where one is published (`robot-exclusion-useragent`).
    ///
    /// [`Robot::token`] returns what stands for it where none is.
    pub product_token: Option<String>,
    /// Whether it says to obey robots.txt (`robot-exclusion`).
    pub exclusion: Exclusion,
    /// Endings of the host names of its addresses (bundled and manual only, `robot-host`).
    pub host_suffixes: Vec<String>,
    /// Published list of its address ranges (bundled and manual only).
    pub ranges_url: Option<String>,
    /// Hosts whose keys sign its requests, each with its port where that is not 443, or
    /// with the path of a key set or of a Client ID Metadata Document (bundled and manual
    /// only, `robot-signature-agent`).
    pub signature_agents: Vec<String>,
    /// Who saw it: words for public lists, `operator` for its own page (bundled and manual
    /// only, `robot-evidence`).
    pub evidence: Vec<String>,
    /// Day on which its facts were compared with the operator's page, as
    /// `2026-11-21` (bundled and manual only, `robot-checked`).
    pub checked: Option<String>,
    /// Registry that it came from.
    pub source: Source,
    /// Whether it takes part in detection, and if not, why.
    pub status: Status,
}

impl Robot {
    /// Creates an active robot that has no patterns yet; its name is its id.
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

/// Whether a robot obeys robots.txt, as its source says.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Exclusion {
    /// It obeys.
    Yes,
    /// It obeys some rules, or at times.
    Partly,
    /// It does not.
    No,
    /// Nothing is said.
    #[default]
    Unknown,
}

impl Exclusion {
    /// Returns the word that the flat file uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }

    /// Returns what a value's first word says; unknown words say nothing.
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
    /// Its patterns are matched.
    #[default]
    Active,
    /// A pattern hit a browser in the self-test; stored, not matched.
    Quarantined {
        /// The pattern's literal.
        pattern: String,
        /// The browser's User-Agent that it hit.
        browser: String,
    },
    /// No pattern could be made of its useragent.
    Unusable {
        /// Why, in a few words.
        reason: String,
    },
}

impl Status {
    /// Returns the word that the database, JSON and the pages use.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined { .. } => "quarantined",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// Name of the registry that a robot came from.
///
/// Lower-case letters, digits, `-`, `.` and `_`; at most 64 bytes.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Source(String);

impl Source {
    /// Returns the source of robots that were added by hand.
    #[must_use]
    pub fn manual() -> Self {
        Self("manual".to_owned())
    }

    /// Returns the source of the registry that comes with the program.
    #[must_use]
    pub fn bundled() -> Self {
        Self("bundled".to_owned())
    }

    /// Returns the source of the Web Robots Database (`WebRobotsDB`).
    #[must_use]
    pub fn web_robots_db() -> Self {
        Self("web-robots-db".to_owned())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the rank among sources that know the same robot: lower wins.
    ///
    /// By hand before bundled before the Web Robots Database before others.
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

/// Error of a source name that holds other characters or is too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a source name has 1 to 64 of a-z, 0-9, '-', '.' and '_'")]
pub struct InvalidSource;
