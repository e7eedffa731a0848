//! Rules for all robots that a named group neither contains nor deliberately revokes.

use std::collections::HashSet;

use crate::{
    Grouping, RobotsTxt, Rule,
    parsed::{GroupLines, RuleLine},
    policy::is_policy,
    preferences::literal,
    selection::is_for_any,
    written::Path,
};

use super::{
    WarningKind,
    warnings::{Warnings, quote},
};

/// Robots for which sites deliberately open pages that are closed to others: they check the pages
/// with advertisements, or fetch a page when a person shares its URL.
const OPENED: &str = "adsbot-google adsbot-google-mobile discordbot facebot facebookexternalhit \
                      linkedinbot mediapartners-google pinterestbot slackbot \
                      slackbot-linkexpanding telegrambot twitterbot whatsapp";

/// The maximum number of octets that are read to compare robots' groups with all rules. A file of
/// 10 KB can have 20,000 pairs of a robot and a rule.
pub(super) const MAX_OCTETS: usize = 200_000_000;

/// The maximum number of lines that a warning lists.
const MAX_LISTED: usize = 20;

/// A group that names robots, and the rules for all robots that it lacks.
#[derive(Debug)]
pub(super) struct LostRules<'f> {
    /// The line number of the group's first line.
    line: usize,
    /// The line number of the group's last line.
    last_line: u32,
    robots: Vec<&'f [u8]>,
    /// The lines to add: paths that only the group for all robots disallows, and exceptions within
    /// them.
    lines: Vec<String>,
}

impl RobotsTxt {
    /// Returns the text with the rules for all robots added to each named group that lacks them.
    ///
    /// A robot follows only the groups that name it (RFC 9309 §2.2.1), so a group that is added for
    /// one robot opens everything that is closed to all others. Groups that deliberately open
    /// pages are left unchanged: those that close nothing, or that contain an `Allow` line for the
    /// path.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_robots_txt::{Dialect, RobotsTxt};
    ///
    /// let text = b"User-agent: *\nDisallow: /cart/\n\nUser-agent: GPTBot\nDisallow: /blog/\n";
    /// let file = RobotsTxt::parse(text, Dialect::rfc9309());
    /// assert!(file.inherited().ends_with(b"Disallow: /blog/\nDisallow: /cart/\n"));
    /// ```
    #[must_use]
    pub fn inherited(&self) -> Vec<u8> {
        let mut lost = lost_rules(self);
        lost.sort_by_key(|group| group.last_line);
        let mut groups = lost.iter().peekable();
        let mut text = Vec::new();
        for (line, number) in self
            .as_bytes()
            .split_inclusive(|octet| *octet == b'\n')
            .zip(1..)
        {
            text.extend_from_slice(line);
            while let Some(group) = groups.next_if(|group| group.last_line == number) {
                if !text.ends_with(b"\n") {
                    text.push(b'\n');
                }
                for added in &group.lines {
                    text.extend_from_slice(added.as_bytes());
                    text.push(b'\n');
                }
            }
        }
        text
    }
}

/// Adds a warning for each group that names robots and lacks rules for all robots.
pub(super) fn inherit(file: &RobotsTxt, warnings: &mut Warnings) {
    for group in lost_rules(file) {
        warnings.add(group.line, WarningKind::LostRules, || {
            let names: Vec<String> = group.robots.iter().map(|name| quote(name)).collect();
            let listed = group.lines.iter().take(MAX_LISTED);
            let listed: Vec<String> = listed.map(|line| quote(line.as_bytes())).collect();
            let more = match group.lines.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{} may fetch paths that are disallowed for all other robots, because robots with a group of their own ignore the group for *; add {}{more}, for example with robots-txt fmt --inherit",
                names.join(", "),
                listed.join(", ")
            )
        });
    }
}

/// Returns the groups of robots that may fetch paths that are closed to all robots without a group.
fn lost_rules(file: &RobotsTxt) -> Vec<LostRules<'_>> {
    let (parsed, dialect) = (&file.inner.parsed, file.dialect());
    let all = file.select(None);
    // If everything is closed, the named groups state which robots are admitted. In dialects that
    // append the group for all robots, nothing is lost.
    if dialect.groups == Grouping::FirstThenAny || !all.check("/0").allowed() {
        return Vec::new();
    }
    let path = |rule: &RuleLine| parsed.octets(rule.path);
    let of_all = |group: &&GroupLines| is_for_any(parsed, dialect, group);
    let groups = || parsed.groups.iter();
    let (allowed, mut closed): (Vec<_>, Vec<_>) = groups()
        .filter(of_all)
        .flat_map(|group| parsed.rules_of(group))
        .map(|rule| (rule, example(path(rule))))
        .partition(|(rule, _)| rule.allow);
    // Each check reads at most the whole file.
    let mut left = MAX_OCTETS / file.as_bytes().len().max(1);
    let mut paths = HashSet::new();
    closed.retain(|(rule, example)| {
        paths.insert(path(rule)) && spend(&mut left, 1) && !all.check(example).allowed()
    });
    // Forums with Discourse close less to Googlebot on purpose: their pages carry noindex instead.
    let is_discourse = closed
        .iter()
        .any(|(rule, _)| path(rule) == b"/user-api-key");
    let mut seen = HashSet::new();
    let mut found: Vec<LostRules<'_>> = Vec::new();
    for group in groups().filter(|group| !of_all(group)) {
        let first = found.len();
        let (agents, rules) = (parsed.agents_of(group), parsed.rules_of(group));
        // A group that closes nothing is there to open pages.
        let is_opened =
            !rules.is_empty() && rules.iter().all(|rule| rule.allow || path(rule).is_empty());
        for name in agents.iter().map(|agent| parsed.octets(agent.value)) {
            let text = String::from_utf8_lossy(name);
            let key = text.to_ascii_lowercase();
            let is_discourse = is_discourse && key == "googlebot";
            if is_opened
                || is_discourse
                || is_policy(name)
                || OPENED.split(' ').any(|name| name == key)
                || !seen.insert(key)
            {
                continue;
            }
            if !spend(&mut left, closed.len() + 1) {
                return found;
            }
            let robot = file.for_robot(&text);
            let is_lost = |(_, example): &&(&RuleLine, String)| {
                let permission = robot.check(example);
                permission.allowed() && permission.rule().as_ref().is_none_or(Rule::is_root)
            };
            let mut lost: Vec<&RuleLine> = closed
                .iter()
                .filter(is_lost)
                .map(|(rule, _)| *rule)
                .collect();
            if lost.is_empty() {
                continue;
            }
            let is_within = |allow: &&RuleLine| {
                lost.iter()
                    .any(|rule| path(allow).starts_with(literal(path(rule))))
            };
            let exceptions: Vec<&RuleLine> = allowed
                .iter()
                .map(|(rule, _)| *rule)
                .filter(is_within)
                .collect();
            lost.extend(exceptions);
            lost.sort_by_key(|rule| rule.line);
            lost.dedup_by(|one, other| one.allow == other.allow && path(one) == path(other));
            let lines: Vec<String> = lost
                .iter()
                .map(|rule| line(rule.allow, path(rule)))
                .collect();
            match found
                .iter_mut()
                .skip(first)
                .find(|known| known.lines == lines)
            {
                Some(known) => known.robots.push(name),
                None => found.push(LostRules {
                    line: parsed.line_of(group),
                    last_line: rules
                        .last()
                        .map_or(0, |rule| rule.line)
                        .max(agents.last().map_or(0, |agent| agent.line)),
                    robots: vec![name],
                    lines,
                }),
            }
        }
    }
    found
}

/// Subtracts a cost; returns `false` if too little is left.
pub(super) fn spend(left: &mut usize, cost: usize) -> bool {
    let rest = left.checked_sub(cost);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// Returns a path that a rule matches and that is typical for the rule.
fn example(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let (text, end) = match text.strip_suffix('$') {
        Some(text) => (text, ""),
        None if text.contains(['?', '.']) => (&*text, ""),
        None if text.ends_with('/') => (&*text, "0"),
        None => (&*text, "/0"),
    };
    let text = text.replace('*', "0");
    let slash = if text.starts_with('/') { "" } else { "/" };
    format!("{slash}{text}{end}")
}

fn line(is_allow: bool, path: &[u8]) -> String {
    let field = if is_allow { "Allow" } else { "Disallow" };
    format!("{field}: {}", Path(path))
}
