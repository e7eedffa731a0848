//! Rules for all robots that a named group neither contains nor deliberately revokes.

use std::collections::HashSet;

use crate::{
    Grouping, RobotRules, RobotsTxt, Rule, field::Field, parsed::RuleLine, policy::is_policy,
    preferences::literal, selection::is_for_any, write::name, written::Path,
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
    /// The lines to add: paths that only the group for all robots disallows, exceptions within
    /// them, and preferences about the use of pages.
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
            let is_path = |line: &String| line.starts_with("Disallow");
            let effect = if group.lines.iter().any(is_path) {
                "may fetch paths that are disallowed for all other robots"
            } else {
                "gets no preference about the use of pages"
            };
            format!(
                "{} {effect}, because a robot with a group ignores the group for *; add {}{more}, for example with robots-txt fmt --inherit",
                names.join(", "),
                listed.join(", ")
            )
        });
    }
}

/// The rules for all robots.
struct RulesForAll<'f> {
    allowed: Vec<&'f [u8]>,
    /// The closed paths, each with an example of a URL that the path matches.
    closed: Vec<(&'f [u8], String)>,
    /// The lines about the use of pages.
    uses: Vec<(Field, String)>,
    /// The number of further checks.
    left: usize,
}

impl<'f> RulesForAll<'f> {
    /// Returns `None` if everything is closed: the named groups then state which robots are
    /// admitted.
    fn new(file: &'f RobotsTxt) -> Option<Self> {
        let (parsed, all) = (&file.inner.parsed, file.select(None));
        if !all.check("/0").allowed() {
            return None;
        }
        // Each check reads at most the whole file.
        let left = MAX_OCTETS / file.as_bytes().len().max(1);
        let groups = parsed.groups.iter();
        let groups = groups.filter(|group| is_for_any(parsed, file.dialect(), group));
        let (allowed, closed): (Vec<_>, Vec<_>) = groups
            .flat_map(|group| parsed.rules_of(group))
            .map(|rule| (rule.allow, parsed.octets(rule.path)))
            .partition(|(is_allow, _)| *is_allow);
        let mut seen = HashSet::new();
        let closed = closed.into_iter().filter(|(_, path)| seen.insert(*path));
        let closed = closed.take(left).map(|(_, path)| (path, example(path)));
        let closed: Vec<_> = closed
            .filter(|(_, example)| !all.check(example).allowed())
            .collect();
        let uses = all.lines_of_use().filter(|(_, group, ..)| group.is_some());
        let uses = uses.map(|(field, _, _, value)| {
            let value = String::from_utf8_lossy(value.trim_ascii());
            (field, format!("{}: {value}", name(field)))
        });
        Some(Self {
            uses: uses.collect(),
            allowed: allowed.into_iter().map(|(_, path)| path).collect(),
            left: left.saturating_sub(seen.len()),
            closed,
        })
    }

    /// Returns `true` if sites open pages to a robot that are closed to others.
    fn is_opened_to(&self, name: &str) -> bool {
        // Forums with Discourse close less to Googlebot: their pages carry noindex instead.
        let is_discourse = || {
            self.closed
                .iter()
                .any(|(path, _)| *path == b"/user-api-key")
        };
        OPENED.split(' ').any(|opened| opened == name) || name == "googlebot" && is_discourse()
    }

    /// Returns the lines to add to a robot's group: closed paths that the robot may fetch, without a
    /// rule that deliberately allows them, and the exceptions within these paths.
    fn lost_by(&self, robot: &RobotRules) -> Vec<String> {
        let is_lost = |(_, example): &&(&[u8], String)| {
            let permission = robot.check(example);
            permission.allowed() && permission.rule().as_ref().is_none_or(Rule::is_root)
        };
        let lost: Vec<&[u8]> = self
            .closed
            .iter()
            .filter(is_lost)
            .map(|(path, _)| *path)
            .collect();
        let is_within = |allow: &&&[u8]| lost.iter().any(|path| allow.starts_with(literal(path)));
        let exceptions = self.allowed.iter().filter(is_within);
        let exceptions = exceptions.map(|path| format!("Allow: {}", Path(path)));
        let lines = lost.iter().map(|path| format!("Disallow: {}", Path(path)));
        exceptions
            .chain(lines)
            .chain(self.uses_lost_by(robot))
            .collect()
    }

    /// Returns the lines about the use of pages, of each field that the groups of a robot lack.
    /// Everything closed needs no such lines.
    fn uses_lost_by(&self, robot: &RobotRules) -> impl Iterator<Item = String> {
        let can_fetch = robot.check("/0").allowed();
        let uses = self.uses.iter().filter(move |(field, _)| {
            let mut own = robot.lines_of_use();
            can_fetch && !own.any(|(own, group, ..)| group.is_some() && own == *field)
        });
        uses.map(|(_, line)| line.clone())
    }
}

/// Returns the groups of robots that may fetch paths that are closed to all robots without a group.
fn lost_rules(file: &RobotsTxt) -> Vec<LostRules<'_>> {
    let (parsed, dialect) = (&file.inner.parsed, file.dialect());
    // In dialects that append the group for all robots, nothing is lost.
    let is_replaced = dialect.groups != Grouping::FirstThenAny;
    let Some(mut all) = is_replaced.then(|| RulesForAll::new(file)).flatten() else {
        return Vec::new();
    };
    let mut seen = HashSet::new();
    let mut found: Vec<LostRules<'_>> = Vec::new();
    let named = parsed
        .groups
        .iter()
        .filter(|group| !is_for_any(parsed, dialect, group));
    for group in named {
        let (first, rules) = (found.len(), parsed.rules_of(group));
        // A group that closes nothing is there to open pages.
        let opens = |rule: &RuleLine| rule.allow || parsed.octets(rule.path).is_empty();
        if !rules.is_empty() && rules.iter().all(opens) {
            continue;
        }
        for name in parsed
            .agents_of(group)
            .iter()
            .map(|agent| parsed.octets(agent.value))
        {
            let text = String::from_utf8_lossy(name);
            let key = text.to_ascii_lowercase();
            if is_policy(name) || all.is_opened_to(&key) || !seen.insert(key) {
                continue;
            }
            if !spend(&mut all.left, all.closed.len() + 1) {
                return found;
            }
            let lines = all.lost_by(&file.for_robot(&text));
            let mut others = found.iter_mut().skip(first);
            match others.find(|known| known.lines == lines) {
                Some(known) => known.robots.push(name),
                None if lines.is_empty() => {}
                None => found.push(LostRules {
                    line: parsed.line_of(group),
                    last_line: parsed.last_line_of(group),
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
