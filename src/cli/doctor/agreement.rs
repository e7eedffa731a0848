//! Statements that robots.txt, rules and licences make about the use of content.

use crate::config::{Settings, WhenSettings};
use crate::licensing::{Licensing, TDMREP_PATH, Terms, Usage};
use crate::policy::{Policy, ResponseHeaders};
use crate::registry::Purpose;
use crate::robots_file::split_usage;

/// A statement about one use of content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Statement {
    about: Topic,
    /// The source of the statement, such as a setting or a rule.
    who: String,
    /// The text of the statement, as written in its source.
    words: String,
    allows: bool,
}

/// A use of content to which a statement applies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Topic {
    Training,
    Search,
}

/// The response headers set by a rule, with the path prefixes to which the rule applies.
pub(super) struct RuleWords<'r> {
    pub(super) label: &'r str,
    pub(super) headers: &'r ResponseHeaders,
    pub(super) prefixes: Vec<String>,
}

/// Returns the response headers set by the rules of a site.
pub(super) fn rule_words<'r>(settings: &Settings, policy: &'r Policy) -> Vec<RuleWords<'r>> {
    let rules = policy.rules().zip(&settings.tables.rules);
    let words = rules.filter_map(|(rule, settings)| {
        Some(RuleWords {
            label: rule.label(),
            headers: rule.response_headers()?,
            prefixes: prefixes(&settings.when),
        })
    });
    words.collect()
}

/// Returns the path prefixes to which a rule applies.
fn prefixes(when: &WhenSettings) -> Vec<String> {
    let paths = when.paths.iter().flatten();
    let rooted = paths.filter(|path| path.starts_with('/'));
    let starts = rooted.map(|path| path.split('*').next().unwrap_or_default());
    starts.map(str::to_owned).collect()
}

/// Returns a warning for each statement that contradicts an earlier statement.
pub(super) fn disagreements(
    settings: &Settings,
    rules: &[RuleWords<'_>],
    licensing: &Licensing,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for location in locations(settings, rules, licensing) {
        let all: Vec<_> = statements(settings, rules, licensing, &location).collect();
        for topic in [Topic::Training, Topic::Search] {
            let mut said = all.iter().filter(|statement| statement.about == topic);
            let Some(first) = said.next() else {
                continue;
            };
            for other in said.filter(|other| other.allows != first.allows) {
                let text = format!(
                    "{} says {}, but {} says {}: use the same value for both",
                    first.who, first.words, other.who, other.words
                );
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}

/// Returns the paths for which separate statements about the use of content exist.
fn locations(settings: &Settings, rules: &[RuleWords<'_>], licensing: &Licensing) -> Vec<String> {
    let usages = settings.robots_txt.content_usage.iter();
    let usages = usages.map(|line| split_usage(line).0);
    let licensed = licensing.terms().iter().flat_map(Terms::about);
    let of_rules = rules.iter().flat_map(|rule| &rule.prefixes);
    let mut all: Vec<String> = ["/"]
        .into_iter()
        .chain(usages.filter(|path| !path.is_empty()))
        .chain(licensed)
        .chain(of_rules.map(String::as_str))
        .map(|path| path.trim_end_matches(['*', '$']).to_owned())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns all statements that apply to pages below a path.
pub(super) fn statements(
    settings: &Settings,
    rules: &[RuleWords<'_>],
    licensing: &Licensing,
    location: &str,
) -> impl Iterator<Item = Statement> {
    let mut all = of_robots_txt(settings, location);
    for rule in rules {
        if rule
            .prefixes
            .iter()
            .any(|prefix| location.starts_with(prefix.as_str()))
        {
            all.extend(of_headers(rule));
        }
    }
    all.extend(of_terms(licensing, settings.licensing.tdmrep, location));
    all.into_iter()
}

fn of_robots_txt(settings: &Settings, location: &str) -> Vec<Statement> {
    let robots_txt = &settings.robots_txt;
    let lines = robots_txt
        .content_usage
        .iter()
        .map(|line| split_usage(line));
    let above = lines.filter(|(path, _)| location.starts_with(path.trim_end_matches(['*', '$'])));
    let mut all = Vec::new();
    if let Some((path, list)) = above.max_by_key(|(path, _)| path.len()) {
        let of = if path.is_empty() {
            String::new()
        } else {
            format!(" for {path}")
        };
        all.extend(members(&format!("robots_txt.content_usage{of}"), list));
    }
    // This setting does not support paths, so a Content-Usage line for a path may differ from it.
    if location == "/" {
        all.extend(members(
            "robots_txt.content_signal",
            &robots_txt.content_signal,
        ));
    }
    if robots_txt.refuse_purposes.contains(&Purpose::AiTraining) && all.is_empty() {
        all.push(Statement {
            about: Topic::Training,
            who: "robots_txt.refuse_purposes".to_owned(),
            words: "that robots with the purpose ai-training are denied all paths".to_owned(),
            allows: false,
        });
    }
    all
}

fn of_headers(rule: &RuleWords<'_>) -> Vec<Statement> {
    let mut all = Vec::new();
    for (name, value) in rule.headers.iter() {
        let who = format!("{} with {name}", rule.label);
        let value = value.to_str().unwrap_or_default();
        match name.as_str() {
            "content-usage" => all.extend(members(&who, value)),
            "tdm-reservation" => all.push(reservation(who, value.trim() == "1")),
            _ => {}
        }
    }
    all
}

fn of_terms(licensing: &Licensing, has_tdmrep: bool, location: &str) -> Vec<Statement> {
    let about = |terms: &&Terms| terms.about().filter_map(|path| below(path, location)).max();
    let longest = licensing
        .terms()
        .iter()
        .filter_map(|terms| about(&terms))
        .max();
    let terms = licensing
        .terms()
        .iter()
        .filter(|terms| about(terms) == longest);
    let terms: Vec<_> = terms.filter(|_| longest.is_some()).collect();
    let mut all = Vec::new();
    if has_tdmrep && !terms.is_empty() {
        let is_reserved = terms.iter().any(|terms| terms.is_reserved());
        all.push(reservation(TDMREP_PATH.to_owned(), is_reserved));
    }
    let mut say = |about, verb: &str, usage: Usage, allows| {
        all.push(Statement {
            about,
            who: "[[license]]".to_owned(),
            words: format!("{verb} = {:?}", usage.as_str()),
            allows,
        });
    };
    // If there are several licences, one licence may sell a right that another licence prohibits.
    if terms.iter().any(|terms| terms.permits_free_training()) {
        say(Topic::Training, "permits", Usage::AiTrain, true);
    } else if terms.iter().any(|terms| terms.prohibits_training()) {
        say(Topic::Training, "prohibits", Usage::AiTrain, false);
    }
    if terms.iter().any(|terms| terms.permits_search()) {
        say(Topic::Search, "permits", Usage::Search, true);
    } else if terms.iter().any(|terms| terms.prohibits_search()) {
        say(Topic::Search, "prohibits", Usage::Search, false);
    }
    all
}

/// Returns the length of `path` if `location` is below that path.
fn below(path: &str, location: &str) -> Option<usize> {
    let start = path.trim_end_matches(['*', '$']);
    location.starts_with(start).then_some(start.len())
}

fn reservation(who: String, is_reserved: bool) -> Statement {
    Statement {
        about: Topic::Training,
        who,
        words: format!("tdm-reservation {}", u8::from(is_reserved)),
        allows: !is_reserved,
    }
}

/// Parses a list of content uses such as `train-ai=n, search=y`.
fn members(who: &str, list: &str) -> Vec<Statement> {
    let members = list.split(',').filter_map(|member| {
        let (name, value) = member.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let about = match name {
            "train-ai" | "ai-train" => Topic::Training,
            "search" => Topic::Search,
            _ => return None,
        };
        Some(Statement {
            about,
            who: who.to_owned(),
            words: format!("{name}={value}"),
            allows: matches!(value, "y" | "yes"),
        })
    });
    members.collect()
}
