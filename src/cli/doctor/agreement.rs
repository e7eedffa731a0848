//! Statements that robots.txt, rules and licences make about the use of content.

use crate::config::{Settings, WhenSettings};
use crate::licensing::{ContentUse, Licensing, PageSources, Preference, TDMREP_PATH, Terms};
use crate::policy::{Policy, ResponseHeaders, TagRule};
use crate::robots_file::split_usage;
use crate::robots_txt::RobotsTxt;

/// The response headers set by a rule, with the path prefixes to which the rule applies.
pub(super) struct RuleWords<'r> {
    /// The tag rule, which applies in addition to others; `None` for a rule, of which only the first
    /// that matches applies.
    tag: Option<&'r TagRule>,
    pub(super) label: &'r str,
    pub(super) headers: &'r ResponseHeaders,
    pub(super) prefixes: Vec<String>,
}

/// Returns the response headers set by the rules of a site.
pub(super) fn rule_words<'r>(settings: &Settings, policy: &'r Policy) -> Vec<RuleWords<'r>> {
    let rules = policy.rules().zip(&settings.tables.rules);
    let words = rules.filter_map(|(rule, settings)| {
        Some(RuleWords {
            tag: None,
            label: rule.label(),
            headers: rule.response_headers()?,
            prefixes: prefixes(&settings.when),
        })
    });
    // The tags of licensing.training follow the tags of the file.
    let tables = settings.tables.tags.iter().map(|tag| prefixes(&tag.when));
    let everywhere = std::iter::repeat_with(|| vec!["/".to_owned()]);
    let tags = policy.tag_rules().zip(tables.chain(everywhere));
    let words = words.chain(tags.map(|(tag, prefixes)| RuleWords {
        tag: Some(tag),
        label: tag.label(),
        headers: tag.response_headers(),
        prefixes,
    }));
    words.collect()
}

/// Returns the path prefixes to which a rule applies.
fn prefixes(when: &WhenSettings) -> Vec<String> {
    let paths = when.paths.iter().flatten();
    let rooted = paths.filter(|path| path.starts_with('/'));
    let starts = rooted.map(|path| path.split('*').next().unwrap_or_default());
    starts.map(str::to_owned).collect()
}

impl RuleWords<'_> {
    fn is_about(&self, location: &str) -> bool {
        let mut prefixes = self.prefixes.iter();
        prefixes.any(|prefix| location.starts_with(prefix.as_str()))
            && self.tag.is_none_or(|tag| tag.applies_to_path(location))
    }
}

/// Everything that a site states about the use of its content.
pub(super) struct Stated<'s> {
    robots_txt: &'s RobotsTxt,
    rules: &'s [RuleWords<'s>],
    licensing: &'s Licensing,
    settings: &'s Settings,
    /// The RSL document and `tdmrep.json`, which is empty if the site does not serve it.
    documents: (String, String),
}

impl<'s> Stated<'s> {
    pub(super) fn new(
        robots_txt: &'s RobotsTxt,
        rules: &'s [RuleWords<'s>],
        licensing: &'s Licensing,
        settings: &'s Settings,
    ) -> Self {
        let has_tdmrep = licensing.paths().any(|path| path == TDMREP_PATH);
        let tdmrep = has_tdmrep.then(|| licensing.tdmrep_document());
        Self {
            robots_txt,
            rules,
            licensing,
            settings,
            documents: (licensing.rsl_document(), tdmrep.unwrap_or_default()),
        }
    }

    /// Returns a warning for each statement that contradicts an earlier statement.
    pub(super) fn disagreements(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for location in self.locations() {
            let all = self.statements(&location);
            for usage in ContentUse::ALL {
                let mut said = all.iter().filter(|one| one.usage == Some(*usage));
                let Some(first) = said.next() else {
                    continue;
                };
                if let Some(other) = said.find(|other| other.allows != first.allows) {
                    let text = format!(
                        "{} says {}, but {} says {}: use the same value for both",
                        first.source, first.text, other.source, other.text
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
    fn locations(&self) -> Vec<String> {
        let usages = self.settings.robots_txt.content_usage.iter();
        let usages = usages.map(|line| split_usage(line).0);
        let licensed = self.licensing.terms().iter().flat_map(Terms::about);
        let of_rules = self.rules.iter().flat_map(|rule| &rule.prefixes);
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

    /// Returns all statements that apply to pages below a path. Each source is read alone, so that
    /// none replaces another.
    pub(super) fn statements(&self, location: &str) -> Vec<Preference> {
        let robots_txt = PageSources {
            robots_txt: Some(self.robots_txt),
            ..PageSources::default()
        };
        let mut all = robots_txt.preferences("*", location);
        // Content-Signal does not support paths, so a Content-Usage line for a path may differ.
        all.retain(|one| location == "/" || !one.source.ends_with("Content-Signal"));
        let mut is_decided = false;
        for rule in self.rules {
            if rule.is_about(location) && !(is_decided && rule.tag.is_none()) {
                is_decided |= rule.tag.is_none();
                let label = format!("{}, ", rule.label);
                let lines = rule.headers.iter();
                let headers = PageSources {
                    headers: lines
                        .map(|(name, value)| {
                            (
                                label.as_str(),
                                name.as_str(),
                                value.to_str().unwrap_or_default(),
                            )
                        })
                        .collect(),
                    ..PageSources::default()
                };
                all.extend(headers.preferences("*", location));
            }
        }
        let (licences, tdmrep) = &self.documents;
        let documents = PageSources {
            licences: vec![("[[license]]", licences)],
            tdmrep,
            ..PageSources::default()
        };
        all.extend(documents.preferences("*", location));
        all.retain(|one| one.allows.is_some());
        all
    }
}
