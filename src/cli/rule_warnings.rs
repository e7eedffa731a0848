//! Warnings about rules and robot lists that look like mistakes.

use std::collections::{BTreeMap, BTreeSet};

use robot_detection_site_robot::spelling::nearest;

use crate::config::{Settings, Visitors, WhenSettings};
use crate::detect::{Kind, NAMELESS, SigningHost, UNLISTED};
use crate::policy::Policy;
use crate::registry::{Robot, Source};

/// Returns a warning for each unknown name, and for each rule that never matches.
///
/// These problems are not errors, because the next refresh may add missing names.
pub(super) fn rule_warnings(settings: &Settings, policy: &Policy, robots: &[Robot]) -> Vec<String> {
    let own = [Source::bundled(), Source::manual(), Source::web_robots_db()];
    let names = Names::new(settings, robots, &own);
    let mut warnings = Vec::new();
    for (list, ids) in [
        ("allow_robots", &settings.general.allow_robots),
        ("deny_robots", &settings.general.deny_robots),
    ] {
        warnings.extend(ids.iter().filter_map(|id| names.id_warning(list, id)));
    }
    let denied = settings.general.deny_robots.iter();
    let both = denied.filter(|id| settings.general.allow_robots.contains(id));
    warnings.extend(both.map(|id| {
        format!(
            "deny_robots contains {id:?}, which allow_robots also contains; remove it from one of them"
        )
    }));
    let has_patterns = policy.filter_patterns().next().is_some();
    if !settings.general.deny_robots.is_empty() && !has_patterns {
        warnings.push("deny_robots has no effect because filter_pattern is empty".to_owned());
    }
    for (settings, rule) in settings.tables.rules.iter().zip(policy.rules()) {
        warnings.extend(names.about(&settings.when, rule.label()));
        if settings.when.paths.is_none() && !has_patterns {
            let label = rule.label();
            warnings.push(format!(
                "{label} never matches because it has no path and filter_pattern is empty"
            ));
        }
    }
    for (settings, rule) in settings.tables.tags.iter().zip(policy.tag_rules()) {
        warnings.extend(names.about(&settings.when, rule.label()));
    }
    warnings.extend(unknown_words(policy));
    warnings.extend(policy.shadowed_rules().map(|(rule, earlier)| {
        let (rule, earlier) = (rule.label(), earlier.label());
        format!("{rule} never decides because the earlier {earlier} matches all of its requests")
    }));
    warnings
}

/// Returns a warning for each `X-Robots-Tag` word that robots do not recognise.
pub(super) fn unknown_words(policy: &Policy) -> impl Iterator<Item = String> {
    let tags = policy.tag_rules();
    let tags = tags.map(|tag| (tag.label(), tag.response_headers()));
    let rules = policy.rules();
    let rules = rules.filter_map(|rule| Some((rule.label(), rule.response_headers()?)));
    rules.chain(tags).flat_map(|(label, headers)| {
        headers.unknown_words().map(move |(word, meant)| {
            let meant = meant.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            format!("{label} contains {word:?}, which robots do not recognise{meant}")
        })
    })
}

/// The known names with which names in the settings are compared.
struct Names<'r> {
    ids: BTreeSet<&'r str>,
    /// Spelling of each operator, keyed by its lower-case name, because rules ignore case.
    operators: BTreeMap<String, &'r str>,
    sources: BTreeSet<&'r str>,
    has_unlisted: bool,
}

impl<'r> Names<'r> {
    fn new(settings: &'r Settings, robots: &'r [Robot], own: &'r [Source]) -> Self {
        let operators = robots.iter().filter_map(|robot| robot.operator.as_deref());
        let of_robots = robots.iter().map(|robot| robot.source.as_str());
        let configured = settings
            .tables
            .sources
            .iter()
            .map(|source| source.name.as_str());
        Self {
            ids: robots.iter().map(|robot| robot.id.as_str()).collect(),
            operators: operators.map(|name| (name.to_lowercase(), name)).collect(),
            sources: of_robots
                .chain(configured)
                .chain(own.iter().map(Source::as_str))
                .collect(),
            has_unlisted: settings.general.unlisted_robots,
        }
    }

    fn about(&self, settings: &WhenSettings, label: &str) -> Vec<String> {
        let ids = settings.robots.iter().flatten();
        let operators = settings.operators.iter().flatten();
        let sources = settings.sources.iter().flatten().map(Source::as_str);
        let mut warnings: Vec<_> = ids
            .filter_map(|id| self.id_warning(label, id))
            .chain(operators.filter_map(|name| self.operator_warning(label, name)))
            .chain(sources.filter_map(|name| self.source_warning(label, name)))
            .collect();
        let kinds = settings.visitors.as_ref().map(Visitors::kinds);
        if kinds == Some(&[Kind::Unlisted]) && !self.has_unlisted {
            warnings.push(not_recognised(label));
        }
        warnings
    }

    fn id_warning(&self, who: &str, id: &str) -> Option<String> {
        if id == UNLISTED {
            return (!self.has_unlisted).then(|| not_recognised(who));
        }
        // Neither a visitor without a User-Agent nor a robot identified by its signing host has a
        // source.
        if id == NAMELESS || SigningHost::new(id).is_some() {
            return None;
        }
        (!self.ids.contains(id)).then(|| {
            let near = did_you_mean(id, self.ids.iter().copied());
            format!("{who} contains the unknown robot {id:?}{near}")
        })
    }

    fn operator_warning(&self, who: &str, name: &str) -> Option<String> {
        (!self.operators.contains_key(&name.to_lowercase())).then(|| {
            let near = did_you_mean(name, self.operators.values().copied());
            format!("{who} contains the unknown operator {name:?}{near}")
        })
    }

    fn source_warning(&self, who: &str, name: &str) -> Option<String> {
        (!self.sources.contains(name)).then(|| {
            let near = did_you_mean(name, self.sources.iter().copied());
            format!("{who} contains the unknown source {name:?}{near}")
        })
    }
}

fn not_recognised(who: &str) -> String {
    format!(
        "{who} contains unlisted robots, which are not detected because unlisted_robots is false"
    )
}

fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}
