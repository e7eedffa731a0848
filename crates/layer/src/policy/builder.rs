//! A builder that creates a policy from settings.

use std::{collections::HashSet, fmt, sync::Arc};

use crate::registry::Purpose;

use super::{
    Places, Policy, PolicyError, Rule, RuleBuilder, Spoofed, TagRuleBuilder,
    condition::RobotSet,
    glob::parse_patterns,
    heaven::{Heaven, Heavens},
    host::Host,
    path::{PathReading, has_odd_segments},
    query::QueryReading,
    refuse,
    subtree::Subtree,
    tag_rule::build_tag_rules,
    when::{owned, parse_hosts, parse_methods},
};

/// Maximum number of rules in a policy.
// The rules are evaluated one after the other for every request from a robot.
const MAX_RULES: usize = 256;

/// Error message for a redirect without a target.
pub(super) const NO_REDIRECT_URL: &str =
    "no redirect target; set redirect_url of the rule or of the site";

/// Purposes for which robots are not redirected by default.
///
/// Libraries, automated browsers and monitors are tools that people use, and a preview of robot
/// heaven would be seen by human visitors.
const NOT_REDIRECTED: [Purpose; 4] = [
    Purpose::Library,
    Purpose::Automation,
    Purpose::Monitoring,
    Purpose::Preview,
];

/// A builder of a [`Policy`], with the defaults of the original package.
///
/// Methods may be called in any order. Each call extends a list; the first call replaces the
/// default list. Settings are checked by [`build`](Self::build).
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::Policy;
///
/// let policy = Policy::builder()
///     .filter_patterns(["/members-only-stuff/*, /archive/*.pdf"])
///     .redirect_url("/robot-heaven/")
///     .never("/robot-detection/admin")
///     .build()?;
/// assert_eq!(policy.filter_patterns().count(), 2);
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Default)]
pub struct PolicyBuilder {
    /// In this field and the fields below, `None` stands for the default value.
    filter_patterns: Option<Vec<String>>,
    reading: PathReading,
    query_reading: QueryReading,
    redirect_url: Option<String>,
    status: Option<u16>,
    methods: Option<Vec<String>>,
    purposes: Option<Vec<Purpose>>,
    never: Vec<String>,
    own_hosts: Vec<String>,
    allowed: Vec<String>,
    denied: Vec<String>,
    rules: Vec<RuleBuilder>,
    tag_rules: Vec<TagRuleBuilder>,
    spoofed: Spoofed,
    is_dry_run: bool,
    places: Places,
}

impl PolicyBuilder {
    /// Adds filter patterns, which are globs of paths (`FilterPattern`); defaults to
    /// `/members-only-stuff/*`.
    ///
    /// An item may be a comma-separated list; spaces around a pattern and empty patterns are
    /// ignored. Without patterns, nothing is filtered. The [module
    /// documentation](super#filter-patterns) describes the syntax of patterns.
    #[must_use]
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        let all = self.filter_patterns.get_or_insert_default();
        all.extend(owned(patterns));
        self
    }

    /// Sets how the site's server interprets paths; by default, as specified by RFC 3986.
    ///
    /// All patterns and the rules of robots.txt are compared with the path that results from this
    /// interpretation.
    #[must_use]
    pub fn path_reading(mut self, reading: PathReading) -> Self {
        self.reading = reading;
        self
    }

    /// Sets the way in which the site's server reads queries.
    #[must_use]
    pub fn query_reading(mut self, reading: QueryReading) -> Self {
        self.query_reading = reading;
        self
    }

    /// Sets the redirect target for robots (`RedirectURL`); defaults to `/robot-heaven/`.
    ///
    /// `url` is a path with one leading slash, or an http or https URL. If `url` is empty, only
    /// rules with their own redirect URL redirect.
    #[must_use]
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.redirect_url = Some(url.into());
        self
    }

    /// Sets the status of the redirect; defaults to 302.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds methods for which requests are redirected; defaults to GET and HEAD.
    ///
    /// The method names passed here are case-insensitive; empty names are ignored.
    #[must_use]
    pub fn methods<S: AsRef<str>>(mut self, methods: impl IntoIterator<Item = S>) -> Self {
        self.methods.get_or_insert_default().extend(owned(methods));
        self
    }

    /// Adds purposes for which robots are redirected.
    ///
    /// By default, robots of all purposes except library, automation, monitoring and preview are
    /// redirected.
    #[must_use]
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes.get_or_insert_default().extend(purposes);
        self
    }

    /// Adds a path that is never redirected, and neither is any path below it.
    ///
    /// Use this for the admin page. Paths intended for robots, such as `/robots.txt`, are always
    /// exempt.
    #[must_use]
    pub fn never(mut self, path: impl Into<String>) -> Self {
        self.never.push(path.into());
        self
    }

    /// Adds host names of this site; by default, no host names are set.
    ///
    /// A redirect URL on one of these hosts refers to this site, whatever `Host` a front proxy
    /// sends. A name without a port matches every port.
    #[must_use]
    pub fn own_hosts<S: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.own_hosts.extend(owned(hosts));
        self
    }

    /// Adds robots that always pass, regardless of rules; by default, there are no such robots.
    ///
    /// Robots are identified by their IDs; `unlisted` stands for all unlisted robots, and
    /// `nameless` for requests without a User-Agent. If the registry is refreshed, an unknown ID is
    /// not an error, because a refresh may add the robot.
    #[must_use]
    pub fn allow_robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.allowed.extend(owned(ids));
        self
    }

    /// Adds robots that are redirected on every filtered path; by default, there are no such
    /// robots.
    ///
    /// These robots are redirected regardless of their purpose and of rules, unless they are also
    /// [allowed](Self::allow_robots).
    #[must_use]
    pub fn deny_robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.denied.extend(owned(ids));
        self
    }

    /// Adds a rule after the existing rules. The first matching rule decides.
    #[must_use]
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds rules after the existing rules. The first matching rule decides.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = RuleBuilder>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Adds a rule for `X-Robots-Tag` headers. All matching rules apply; by default, there is no
    /// rule.
    #[must_use]
    pub fn x_robots_tag(mut self, rule: TagRuleBuilder) -> Self {
        self.tag_rules.push(rule);
        self
    }

    /// Sets the action for robots with a spoofed claim. By default, such robots are only reported.
    #[must_use]
    pub fn spoofed(mut self, treatment: Spoofed) -> Self {
        self.spoofed = treatment;
        self
    }

    /// Enables the dry run, in which decisions are only reported and all requests pass; disabled by
    /// default.
    ///
    /// See [`Policy::is_dry_run`] for details.
    #[must_use]
    pub fn dry_run(mut self, only_notes: bool) -> Self {
        self.is_dry_run = only_notes;
        self
    }

    /// Sets the lookup of autonomous systems and countries by address. By default, all autonomous
    /// systems and countries are unknown.
    #[must_use]
    pub fn places(mut self, places: Places) -> Self {
        self.places = places;
        self
    }

    /// Builds the policy.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid setting, with the reason and a correction: a pattern
    /// that can match no path, a redirect URL that is neither a path nor an http(s) URL, or that
    /// covers all filtered paths, an unsupported status, an invalid method, a rule that can never
    /// match or has no redirect target, or a header without a known directive.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let patterns = self.filter_patterns;
        let patterns = patterns.unwrap_or_else(|| owned(["/members-only-stuff/*"]));
        let patterns = parse_patterns(&patterns)
            .map_err(|(pattern, reason)| PolicyError::FilterPattern { pattern, reason })?;
        let methods = self.methods.unwrap_or_else(|| owned(["GET", "HEAD"]));
        let methods = parse_methods(&methods).map_err(PolicyError::Method)?;
        let never = parse_never(&self.never)?;
        let own_hosts = parse_hosts(&self.own_hosts)
            .map_err(|(host, reason)| PolicyError::OwnHost { host, reason })?;
        let status = self.status.unwrap_or(302);
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Err(PolicyError::Status(status));
        }
        let mut heavens = Heavens::new(self.reading);
        let redirect_url = self.redirect_url.as_deref().unwrap_or("/robot-heaven/");
        let heaven = parse_heaven(redirect_url, status, &own_hosts, &mut heavens)?;
        let site = SiteDefaults {
            heaven: heaven.as_ref(),
            status,
            methods: &methods,
            hosts: &own_hosts,
            places: &self.places,
        };
        let rules = build_rules(self.rules, &mut heavens, &site)?;
        let denied = RobotSet::new(&self.denied);
        if heaven.is_none() && !denied.is_empty() {
            return Err(PolicyError::NowhereToRedirect);
        }
        if heaven.is_none() && self.spoofed == Spoofed::Redirect {
            return Err(PolicyError::NowhereToRedirectSpoofed);
        }
        let asks_for_load = rules.iter().any(|rule| rule.gate().is_some());
        let policy = Policy {
            load: asks_for_load.then(Arc::default),
            patterns,
            reading: self.reading,
            query_reading: self.query_reading,
            methods,
            purposes: self.purposes.unwrap_or_else(redirected_purposes),
            never,
            heavens,
            heaven,
            allowed: RobotSet::new(&self.allowed),
            denied,
            rules,
            tag_rules: build_tag_rules(self.tag_rules, &self.places)?,
            spoofed: self.spoofed,
            spoofed_refusal: refuse::spoofed_refusal(),
            overlaid: 0,
            left_out: Vec::new(),
            is_dry_run: self.is_dry_run,
            is_paused: false,
            idle: None,
            plain: Box::default(),
            asks_for_host: true,
            judges_people: false,
            places: self.places,
        };
        let policy = policy.apply_path_reading();
        // Rules add paths to heaven, so this check comes last.
        check_paths(&policy)?;
        Ok(policy
            .compute_idle()
            .compute_plain_patterns()
            .compute_host_dependency())
    }
}

impl Policy {
    /// Creates a builder with the defaults of the original package.
    #[must_use]
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }
}

/// Prints the settings that differ most between policies.
impl fmt::Debug for PolicyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyBuilder")
            .field(
                "filter_patterns",
                &self.filter_patterns.as_ref().map(Vec::len),
            )
            .field("redirect_url", &self.redirect_url)
            .field("rules", &self.rules.len())
            .field("is_dry_run", &self.is_dry_run)
            .finish_non_exhaustive()
    }
}

fn redirected_purposes() -> Vec<Purpose> {
    let all = Purpose::ROBOTS.iter().copied();
    all.filter(|purpose| !NOT_REDIRECTED.contains(purpose))
        .collect()
}

fn parse_never(paths: &[String]) -> Result<Vec<Subtree>, PolicyError> {
    let parse = |path: &String| {
        let subtree = Subtree::new(path.as_bytes());
        let reason = if !path.starts_with('/') {
            "the path does not start with /; write the full path"
        } else if has_odd_segments(path.as_bytes()) {
            "the path contains //, /./ or /../; write the resulting path"
        } else if subtree.is_root() {
            "the path is the whole site; leave the filter patterns empty instead"
        } else {
            return Ok(subtree);
        };
        Err(PolicyError::Never {
            path: path.clone(),
            reason: reason.to_owned(),
        })
    };
    paths.iter().map(parse).collect()
}

fn parse_heaven(
    url: &str,
    status: u16,
    own_hosts: &[Host],
    heavens: &mut Heavens,
) -> Result<Option<Arc<Heaven>>, PolicyError> {
    let url = url.trim();
    if url.is_empty() {
        return Ok(None);
    }
    let added = heavens.add(url, status, own_hosts);
    added.map(Some).map_err(|reason| PolicyError::RedirectUrl {
        url: url.to_owned(),
        reason,
    })
}

/// The site's settings that apply to rules without their own settings.
struct SiteDefaults<'s> {
    heaven: Option<&'s Arc<Heaven>>,
    status: u16,
    methods: &'s [String],
    hosts: &'s [Host],
    places: &'s Places,
}

/// Builds the rules, and adds their redirect targets to the pages of robot heaven.
fn build_rules(
    rules: Vec<RuleBuilder>,
    heavens: &mut Heavens,
    site: &SiteDefaults<'_>,
) -> Result<Vec<Rule>, PolicyError> {
    let mut names = HashSet::new();
    let mut built = Vec::new();
    for (rule, number) in rules.into_iter().zip(1..) {
        if number > MAX_RULES {
            let reason = format!("there are more than {MAX_RULES} rules; combine some of them");
            return Err(PolicyError::rule(number, "name", reason));
        }
        // Decisions are logged and counted under the rule's name.
        if let Some(name) = rule.own_name()
            && !names.insert(name.to_owned())
        {
            let reason = format!("another rule has the name {name:?}; names must be unique");
            return Err(PolicyError::rule(number, "name", reason));
        }
        built.push(rule.build(number, site.methods, site.places, |url| {
            match (url, site.heaven) {
                (Some(url), _) => heavens.add(url.trim(), site.status, site.hosts),
                (None, Some(own)) => Ok(Arc::clone(own)),
                (None, None) => Err(NO_REDIRECT_URL.to_owned()),
            }
        })?);
    }
    Ok(built)
}

/// Rejects settings whose paths are all in robot heaven or exempt, so that nothing would be
/// redirected.
fn check_paths(policy: &Policy) -> Result<(), PolicyError> {
    for (rule, number) in policy.rules.iter().zip(1..) {
        if let Some(reason) = policy.never_matches(rule) {
            return Err(PolicyError::rule(number, "path", reason));
        }
    }
    let Some(heaven) = policy.heavens.covering_all(&policy.patterns) else {
        return Ok(());
    };
    let leads_there = |rule: &Rule| {
        let place = rule.heaven();
        place.is_some_and(|place| place.redirect == heaven.redirect)
    };
    let reason = "all filtered paths are below this URL, so nothing is redirected; use another URL";
    let is_own = policy.redirect() == Some(&heaven.redirect);
    match policy.rules.iter().position(leads_there) {
        Some(index) if !is_own => Err(PolicyError::rule(
            index + 1,
            "redirect_url",
            reason.to_owned(),
        )),
        _ => Err(PolicyError::RedirectUrl {
            url: heaven.redirect.location.clone(),
            reason: reason.to_owned(),
        }),
    }
}
