//! Dialects of robots.txt, each a set of options.

use std::{fmt, str::FromStr};

/// Reading of robots.txt: what a line means, which group counts, which rule wins.
///
/// A dialect is data. The presets are named after the document or program that
/// they follow; any option of a preset can be changed.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::Dialect;
///
/// let dialect: Dialect = "google".parse()?;
/// assert_eq!(dialect, Dialect::google());
/// # Ok::<(), robot_detection_robots_txt::UnknownDialect>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that stands for itself"
)]
pub struct Dialect {
    /// Name of the preset that the options come from.
    pub name: &'static str,
    /// Which of the matching rules decides.
    pub winner: Winner,
    /// Whether `Allow` is a rule.
    pub allow: bool,
    /// Whether `*` and a final `$` stand for more than themselves.
    pub wildcards: bool,
    /// Which groups count for a robot.
    pub groups: Grouping,
    /// How a `User-agent` line is compared with a robot's name.
    pub names: Naming,
    /// What ends a group's list of user agents.
    pub agents_end: AgentsEnd,
    /// Whether a blank line ends the group.
    pub blank_line_ends: bool,
    /// Whether rules before the first `User-agent` line are about every robot.
    pub orphans_for_all: bool,
    /// What a rule without a path says.
    pub empty_path: EmptyPath,
    /// How escapes of rules and URLs are made comparable.
    pub escapes: Escapes,
    /// When /robots.txt itself may be fetched in spite of the rules.
    pub robots_txt: RobotsTxtPath,
    /// How lines are read and which slips are forgiven.
    pub lines: LineReading,
    /// Whether a rule that ends in a slash also matches the path without it.
    pub slash_matches_bare: bool,
    /// Whether `Allow: …/index.htm*` allows the directory as well.
    pub index_page: bool,
    /// Whose `Crawl-delay` counts.
    pub crawl_delay: CrawlDelay,
    /// What a `Host` line does.
    pub host: HostUse,
    /// Whether `Clean-param` takes parameters out of URLs.
    pub clean_param: bool,
    /// What the status of the answer for /robots.txt means.
    pub status: StatusReading,
}

/// Which of the matching rules decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Winner {
    /// The one with the longest path, `Allow` before `Disallow`.
    Longest,
    /// The first one in the file.
    First,
}

/// Which groups count for a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Grouping {
    /// All groups that name it together; without one, all `*` groups together.
    MergedFile,
    /// The first group that names it; without one, all `*` groups before the end.
    FirstElseAny,
    /// The first group that names it; without one, the first `*` group.
    First,
    /// The first section that names it, then all `*` sections.
    FirstThenAny,
}

/// How a `User-agent` line is compared with a robot's name, case aside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Naming {
    /// The whole value is the name.
    Equal,
    /// The value's letters, `_` and `-` up to another character are the name.
    TokenPrefix,
    /// The value stands somewhere in the name.
    Substring,
    /// The value stands somewhere in the name's first word before a `/`.
    SubstringOfWord,
}

/// What ends a group's list of user agents, so that the next begins a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AgentsEnd {
    /// `Allow` and `Disallow`.
    Rule,
    /// `Disallow`.
    Disallow,
    /// Any field but `User-agent`, known or not.
    AnyField,
    /// Any known field but `User-agent`.
    KnownField,
}

/// What a rule without a path says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EmptyPath {
    /// Nothing.
    NoRule,
    /// Everything is allowed from here on, `Allow` or `Disallow` alike.
    AllowsAll,
    /// It matches every path (HTTP: The Definitive Guide, 9.4.3).
    MatchesAll,
    /// An empty `Disallow` allows everything, an empty `Allow` nothing.
    Inverted,
}

/// How escapes of rules and URLs are made comparable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Escapes {
    /// Unreserved characters decoded, others in upper case, octets beyond ASCII
    /// escaped, on both sides (RFC 9309 §2.2.2).
    Normalised,
    /// Rules in upper case and ASCII; URLs as they are.
    RuleOnly,
    /// Rules resolved against the file's URL, unsafe characters escaped on both sides.
    Resolved,
    /// All decoded but `%2F`, on both sides.
    Decoded,
    /// All decoded but `%2F`, and `+` is a space.
    FormDecoded,
}

/// When /robots.txt itself may be fetched in spite of the rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotsTxtPath {
    /// Always.
    Allowed,
    /// Always, in upper or lower case.
    AllowedAnyCase,
    /// When the rules allow it.
    Ruled,
}

/// How lines are read and which slips are forgiven.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LineReading {
    /// As RFC 9309 writes them; a byte order mark is skipped.
    Standard,
    /// As Google's parser reads them: typos of fields, a missing colon, lines cut
    /// at 16,663 octets or a NUL, a partial byte order mark.
    Google,
    /// As `WWW::RobotRules` reads them.
    Perl,
    /// As HTTP: The Definitive Guide reads them; no byte order mark is skipped.
    Plain,
    /// As Geoportal reads them: every value is decoded, no byte order mark is skipped.
    Geoportal,
}

/// Whose `Crawl-delay` counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CrawlDelay {
    /// None: the dialect does not know it.
    Unknown,
    /// That of the robot's own groups.
    OwnGroup,
    /// That of the robot's own groups, else that of `*`.
    OwnGroupElseAny,
    /// The last whole number in the file.
    LastInFile,
}

/// What a `Host` line does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HostUse {
    /// None: the dialect does not know it.
    Unknown,
    /// It is data: the first of the file.
    First,
    /// It is data and rewrites URLs: the last of the file.
    RewriteByLast,
    /// A group with valid lines of which none names this host and port is closed
    /// by `Disallow: /` (Melkov 2003).
    CloseMirrors,
}

/// What the status of the answer for /robots.txt means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StatusReading {
    /// 4xx allows all, 5xx and silence nothing (RFC 9309 §2.3.1).
    Standard,
    /// As the standard, but 429 allows nothing.
    Google,
    /// 401 and 403 allow nothing, 5xx and silence defer (`HTTP:TDG` 9.4.2).
    Restricted,
    /// Whatever is no success allows all.
    AllowsAll,
    /// Whatever is not 200 allows all.
    OnlyOk,
}

impl Default for Dialect {
    fn default() -> Self {
        Self::rfc9309()
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut presets = Self::PRESETS.into_iter();
        let preset = presets.find(|preset| preset.name == name);
        preset.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// Error of a dialect's name that is none of [`Dialect::names`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown dialect {0:?}, use one of {names}", names = Dialect::names().join(", "))]
pub struct UnknownDialect(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_the_preset_of_that_name() {
        for name in Dialect::names() {
            let dialect: Dialect = name.parse().expect("a preset");
            assert_eq!(dialect.to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_says_which_are_known() {
        let error = "rfc9308".parse::<Dialect>().expect_err("no preset");
        assert!(error.to_string().contains("geoportal-longest"), "{error}");
    }
}
