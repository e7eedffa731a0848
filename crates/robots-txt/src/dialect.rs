//! Dialects of robots.txt, represented as sets of options.

use std::{fmt, str::FromStr};

/// A dialect of robots.txt, which determines the meaning of lines, groups and rules.
///
/// Each preset is named after the document or program that it follows; any option of a preset can
/// be changed.
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
    reason = "each field is an independent option"
)]
pub struct Dialect {
    /// The name of the preset on which the options are based.
    pub name: &'static str,
    /// The method for selecting the deciding rule among the matching rules.
    pub winner: Winner,
    /// Whether `Allow` lines are supported.
    pub allow: bool,
    /// Whether `*` and a final `$` in a path are wildcards.
    pub wildcards: bool,
    /// The method for selecting the groups that apply to a robot.
    pub groups: Grouping,
    /// The method for comparing `User-agent` lines with a robot's name.
    pub names: Naming,
    /// The fields that end a group's list of user agents.
    pub agents_end: AgentsEnd,
    /// Whether a blank line ends the current group.
    pub blank_line_ends: bool,
    /// Whether rules before the first `User-agent` line apply to every robot.
    pub orphans_for_all: bool,
    /// The meaning of a rule without a path.
    pub empty_path: EmptyPath,
    /// The normalisation of escapes in rules and URLs.
    pub escapes: Escapes,
    /// Whether /robots.txt itself may be fetched regardless of the rules.
    pub robots_txt: RobotsTxtPath,
    /// The method for parsing lines, including the errors that are tolerated.
    pub lines: LineReading,
    /// Whether a rule that ends in a slash also matches the path without the slash.
    pub slash_matches_bare: bool,
    /// Whether `Allow: …/index.htm*` also allows the directory.
    pub index_page: bool,
    /// The method for selecting the `Crawl-delay` value that applies to a robot.
    pub crawl_delay: CrawlDelay,
    /// The effect of a `Host` line.
    pub host: HostUse,
    /// Whether `Clean-param` removes parameters from URLs.
    pub clean_param: bool,
    /// The interpretation of the response status for /robots.txt.
    pub status: StatusReading,
}

/// The method for selecting the deciding rule among the matching rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Winner {
    /// The matching rule with the longest path decides; if the lengths are equal, `Allow` takes
    /// precedence over `Disallow`.
    Longest,
    /// The first matching rule in the file decides.
    First,
}

/// The method for selecting the groups that apply to a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Grouping {
    /// All groups that name the robot apply; if there are none, all `*` groups apply.
    MergedFile,
    /// The first group that names the robot applies; if there is none, all `*` groups apply.
    FirstElseAny,
    /// The first group that names the robot applies; if there is none, the first `*` group applies.
    First,
    /// The first section that names the robot applies, followed by all `*` sections.
    FirstThenAny,
}

/// The method for comparing a `User-agent` line with a robot's name, ignoring case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Naming {
    /// The value of the `User-agent` line equals the robot's name.
    Equal,
    /// The prefix of the value that consists of letters, `_` and `-` equals the robot's name.
    TokenPrefix,
    /// The robot's name contains the value of the `User-agent` line.
    Substring,
    /// The first word of the robot's name, up to a `/`, contains the value of the line.
    SubstringOfWord,
}

/// The fields that end a group's list of user agents, so that the next `User-agent` line starts a
/// new group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AgentsEnd {
    /// `Allow` and `Disallow` end the list of user agents.
    Rule,
    /// `Disallow` ends the list of user agents.
    Disallow,
    /// Any known or unknown field except `User-agent` ends the list of user agents.
    AnyField,
    /// Any known field except `User-agent` ends the list of user agents.
    KnownField,
}

/// The meaning of a rule without a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EmptyPath {
    /// A rule without a path is ignored.
    NoRule,
    /// A rule without a path, `Allow` or `Disallow`, allows everything, and later rules have no
    /// effect.
    AllowsAll,
    /// A rule without a path matches every path (HTTP: The Definitive Guide, 9.4.3).
    MatchesAll,
    /// An empty `Disallow` allows everything, and an empty `Allow` disallows everything.
    Inverted,
}

/// The normalisation of escapes in rules and URLs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Escapes {
    /// In rules and URLs, unreserved characters are decoded, other escapes are converted to upper
    /// case, and non-ASCII octets are escaped (RFC 9309 §2.2.2).
    Normalised,
    /// In rules, escapes are converted to upper case, and non-ASCII octets are escaped; URLs are
    /// not changed.
    RuleOnly,
    /// Rules are resolved against the URL of the robots.txt file; unsafe characters are escaped in
    /// rules and URLs.
    Resolved,
    /// In rules and URLs, all escapes except `%2F` are decoded.
    Decoded,
    /// All escapes except `%2F` are decoded, and `+` is decoded to a space.
    FormDecoded,
}

/// The treatment of the path /robots.txt itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotsTxtPath {
    /// The path /robots.txt is always allowed.
    Allowed,
    /// The path /robots.txt is always allowed, in upper or lower case.
    AllowedAnyCase,
    /// The path /robots.txt is subject to the rules.
    Ruled,
}

/// The method for parsing lines, including the errors that are tolerated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LineReading {
    /// Lines are parsed as specified by RFC 9309; a byte order mark is skipped.
    Standard,
    /// Lines are parsed as in Google's parser, which accepts misspelt field names and a missing
    /// colon, truncates lines at 16,663 octets or at a NUL, and skips a partial byte order mark.
    Google,
    /// Lines are parsed as in `WWW::RobotRules`.
    Perl,
    /// Lines are parsed as described in HTTP: The Definitive Guide; a byte order mark is not
    /// skipped.
    Plain,
    /// Lines are parsed as in Geoportal's program: all values are decoded, and a byte order mark is
    /// not skipped.
    Geoportal,
}

/// The method for selecting the `Crawl-delay` value that applies to a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CrawlDelay {
    /// No value applies, because the dialect does not define `Crawl-delay`.
    Unknown,
    /// The `Crawl-delay` of the robot's own groups applies.
    OwnGroup,
    /// The `Crawl-delay` of the robot's own groups applies, or else that of the `*` groups.
    OwnGroupElseAny,
    /// The last `Crawl-delay` in the file that is a whole number applies.
    LastInFile,
}

/// The effect of a `Host` line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HostUse {
    /// `Host` has no effect, because the dialect does not define it.
    Unknown,
    /// The value of the first `Host` line in the file is available but not applied.
    First,
    /// The value of the last `Host` line in the file is available and is used to rewrite URLs.
    RewriteByLast,
    /// If all valid `Host` lines of a group name a different host or port, the group gets an
    /// implied `Disallow: /` (Melkov 2003).
    CloseMirrors,
}

/// The interpretation of the response status for /robots.txt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StatusReading {
    /// A 4xx status allows everything; a 5xx status or no response disallows everything (RFC 9309
    /// §2.3.1).
    Standard,
    /// Like [`Standard`](Self::Standard), but status 429 disallows everything.
    Google,
    /// Status 401 or 403 disallows everything; a 5xx status or no response does so temporarily
    /// (`HTTP:TDG` 9.4.2).
    Restricted,
    /// Any response status other than success allows everything.
    AllowsAll,
    /// Any response status other than 200 allows everything.
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

/// An error for an unknown dialect name; see [`Dialect::names`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown dialect {0:?}, use one of {names}", names = Dialect::names().join(", "))]
pub struct UnknownDialect(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed_to_its_preset() {
        for name in Dialect::names() {
            let dialect: Dialect = name.parse().expect("a preset");
            assert_eq!(dialect.to_string(), name);
        }
    }

    #[test]
    fn error_for_an_unknown_name_lists_the_known_names() {
        let error = "rfc9308".parse::<Dialect>().expect_err("no preset");
        assert!(error.to_string().contains("geoportal-longest"), "{error}");
    }
}
