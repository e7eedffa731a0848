//! Sites that the site robot visits.

use url::Url;

use crate::filter::{Resource, note::Notes, pblock::Entry, quoted};

use super::rule::{Comparison, ComparisonResult, reject_unknown_keys, required};

/// A site with its hosts, starting points and rules.
#[derive(Clone, Debug, Default)]
pub struct Site {
    pub(super) name: String,
    pub(super) hosts: Vec<Host>,
    pub(super) starting_points: Vec<StartingPoint>,
    pub(super) rules: Rules,
}

/// A URL at which the site robot starts.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StartingPoint {
    /// URL of the starting point.
    pub url: Url,
    /// Number of links to follow from the starting point; −1 means no limit, and `None` means the
    /// depth in robot.conf.
    pub depth: Option<i64>,
}

/// A host of a site: a name, or `*.` followed by a domain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Host {
    name: String,
    with_subdomains: bool,
}

/// Ordered rules, and the action for resources that match no rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    excludes_the_rest: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    line: usize,
    comparison: Comparison,
    is_include: bool,
}

/// Decision of a block of rules about a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Decision {
    Include,
    Exclude(String),
    /// No rule matches, and resources that match no rule are not excluded.
    None,
}

impl Site {
    /// Returns the name of the site.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the site's starting points in order.
    pub fn starting_points(&self) -> &[StartingPoint] {
        &self.starting_points
    }

    /// Returns `true` if the host of a URL is one of the site's hosts.
    pub fn covers(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let mut starts = self.starting_points.iter();
        self.hosts.iter().any(|known| known.covers(host))
            || starts.any(|start| start.url.host_str().unwrap_or_default() == host)
    }
}

impl Host {
    /// Parses a `Host name=…` directive.
    pub(super) fn read(entry: &Entry, notes: &mut Notes) -> Option<Self> {
        reject_unknown_keys(&entry.pairs, &["name"], "Host", notes);
        let whole = required(entry, "name", notes)?;
        let (name, with_subdomains) = match whole.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (whole, false),
        };
        if name.contains(['/', '*', ':']) {
            let name = quoted(whole);
            let text = format!("{name} is not a host; write www.example.com or *.example.com");
            notes.error(entry.line, text);
            return None;
        }
        let name = name.to_ascii_lowercase();
        Some(Self {
            name,
            with_subdomains,
        })
    }

    fn covers(&self, host: &str) -> bool {
        // Names match only at a label boundary: `notexample.com` is not a host of `example.com`.
        let before = host.strip_suffix(self.name.as_str());
        before.is_some_and(|it| it.is_empty() || (self.with_subdomains && it.ends_with('.')))
    }
}

impl StartingPoint {
    /// Parses a starting point from a URL and a depth, both as written in the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL or depth is invalid, or if the URL's scheme is not http, https
    /// or file.
    pub fn parse(url: &str, depth: Option<&str>) -> Result<Self, String> {
        let shown = quoted(url);
        let url =
            Url::parse(url).map_err(|error| format!("{shown} is not a valid URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https" | "file") {
            return Err(format!(
                "{shown} cannot be a starting point; use http, https or file"
            ));
        }
        let depth = depth.map(read_depth).transpose()?;
        Ok(Self { url, depth })
    }

    /// Parses a `Start url=… depth=…` directive.
    pub(super) fn read(entry: &Entry, notes: &mut Notes) -> Option<Self> {
        reject_unknown_keys(&entry.pairs, &["url", "depth"], "Start", notes);
        let url = required(entry, "url", notes)?;
        let point = Self::parse(url, entry.value("depth"));
        point.map_err(|text| notes.error(entry.line, text)).ok()
    }
}

fn read_depth(text: &str) -> Result<i64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|depth| (-1..=i64::from(u32::MAX)).contains(depth));
    number.ok_or_else(|| format!("depth={} is neither -1 nor a number of links", quoted(text)))
}

impl Rules {
    /// Parses a `Rule …` or `Otherwise …` directive.
    pub(super) fn add(&mut self, entry: &Entry, notes: &mut Notes) {
        let is_include = behaviour(entry, notes);
        if entry.word == "Otherwise" {
            reject_unknown_keys(&entry.pairs, &["behaviour", "behavior"], "Otherwise", notes);
            self.excludes_the_rest = !is_include;
            return;
        }
        let keys = ["src", "operator", "string", "behaviour", "behavior"];
        reject_unknown_keys(&entry.pairs, &keys, "Rule", notes);
        if let Some(comparison) = Comparison::read(entry, notes) {
            let line = entry.line;
            self.rules.push(Rule {
                line,
                comparison,
                is_include,
            });
        }
    }

    /// Returns the decision of the first matching rule.
    ///
    /// Before retrieval, a rule about the media type that might include the resource is treated as
    /// if it did.
    pub(super) fn decide(&self, resource: &Resource) -> Decision {
        for rule in &self.rules {
            match (rule.comparison.compare(resource), rule.is_include) {
                (ComparisonResult::Matches | ComparisonResult::NotYet, true) => {
                    return Decision::Include;
                }
                (ComparisonResult::Matches, false) => {
                    let reason = rule.comparison.reason(resource);
                    return Decision::Exclude(format!("rule on line {}: {reason}", rule.line));
                }
                (ComparisonResult::NotYet | ComparisonResult::Differs, _) => {}
            }
        }
        if self.excludes_the_rest {
            return Decision::Exclude("no rule includes the resource".to_owned());
        }
        Decision::None
    }
}

/// Parses `behaviour=`; the default is exclude.
fn behaviour(entry: &Entry, notes: &mut Notes) -> bool {
    let said = entry.value("behaviour").or_else(|| entry.value("behavior"));
    match said {
        None | Some("exclude") => false,
        Some("include") => true,
        Some(other) => {
            let other = quoted(other);
            let text = format!("behaviour={other} is neither exclude nor include");
            notes.error(entry.line, text);
            false
        }
    }
}
