//! Headers that responses get: what they tell robots to do with a page.

use crate::detect::Claim;
use crate::registry::Purpose;
use crate::robots_txt::meta::XRobotsTag;

use super::{
    Policy, PolicyError, Request, Step,
    condition::{Conditions, Mismatch, RobotSet},
    glob::{FilterPattern, parse_patterns},
    path::with_normal_path,
    rule_builder::{empty_list, listed, owned, texts},
};

/// Rules of this kind in one policy, at most.
const MAX_TAG_RULES: usize = 256;

/// Rule that adds an `X-Robots-Tag` header to responses.
///
/// Without conditions it is about every response, people's too: caches and
/// robots in disguise see the same header as robots do. Each rule that matches
/// adds a header of its own, to what the application says itself; robots take
/// all of them together. A redirect to heaven gets none.
///
/// Where only one search engine is to read a rule, its token in the value
/// does, `googlebot: noindex`, and the response stays the same for all;
/// conditions on the robot cost a `Vary: User-Agent`.
///
/// # Example
///
/// ```
/// use robot_detection::{
///     policy::{Policy, Request, TagRule},
///     registry::Purpose,
/// };
///
/// let policy = Policy::builder()
///     .x_robots_tag(TagRule::builder("noindex").paths(["*.pdf"]))
///     .x_robots_tag(TagRule::builder("noarchive").purposes([Purpose::AiTraining]))
///     .build()?;
/// let request = Request { method: "GET", host: None, path: "/a.pdf" };
/// assert_eq!(policy.tags(&request, None).values, ["noindex"]);
/// # Ok::<(), robot_detection::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TagRule {
    label: String,
    origin: String,
    value: String,
    paths: Option<Vec<FilterPattern>>,
    conditions: Conditions,
    shown: Vec<String>,
}

/// Builder of a [`TagRule`]; nothing is checked before the policy is built.
#[derive(Clone, Debug)]
#[must_use]
pub struct TagRuleBuilder {
    value: String,
    origin: String,
    paths: Option<Vec<String>>,
    robots: Option<Vec<String>>,
    purposes: Option<Vec<Purpose>>,
}

/// `X-Robots-Tag` headers that one response gets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Tags<'p> {
    /// Their values: visible ASCII and blanks.
    pub values: Vec<&'p str>,
    /// Whether another User-Agent might have led to others.
    pub depends_on_user_agent: bool,
}

impl TagRule {
    /// Creates a builder of a rule about every response.
    pub fn builder(value: impl Into<String>) -> TagRuleBuilder {
        TagRuleBuilder {
            value: value.into(),
            origin: String::new(),
            paths: None,
            robots: None,
            purposes: None,
        }
    }

    /// Returns what reasons call it: `x_robots_tag 2`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns where it was set, such as `robot-detection.toml:12`; empty: in the program.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the value of the header: visible ASCII and blanks.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns its conditions for people to read; none: every response.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    fn is_about(&self, path: &[u8]) -> bool {
        self.paths
            .as_ref()
            .is_none_or(|paths| paths.iter().any(|pattern| pattern.matches(path)))
    }

    /// Returns why nothing is added for a visitor, if so.
    fn refusal(&self, claim: Option<&Claim<'_>>) -> Option<Refusal> {
        if self.conditions.is_empty() {
            return None;
        }
        match claim {
            None => Some(Refusal::NotARobot),
            Some(claim) => self.conditions.mismatch(claim).map(Refusal::Mismatch),
        }
    }

    fn step(&self, claim: Option<&Claim<'_>>, path: &[u8]) -> Step {
        let refusal = if self.is_about(path) {
            self.refusal(claim)
        } else {
            Some(Refusal::Mismatch(Mismatch::Path))
        };
        let label = match self.origin() {
            "" => self.label().to_owned(),
            origin => format!("{} ({origin})", self.label()),
        };
        let reason = match (refusal, claim) {
            (None, _) => {
                return Step {
                    name: "tag",
                    text: format!("The response gets X-Robots-Tag: {} by {label}.", self.value),
                };
            }
            (Some(Refusal::Mismatch(Mismatch::Path)), _) => {
                "the path is none of its paths".to_owned()
            }
            (Some(Refusal::Mismatch(mismatch)), Some(claim)) => mismatch.reason(claim),
            (Some(_), _) => "the User-Agent names no known robot".to_owned(),
        };
        Step {
            name: "tag",
            text: format!("The response gets no X-Robots-Tag by {label}: {reason}."),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Refusal {
    NotARobot,
    Mismatch(Mismatch),
}

impl TagRuleBuilder {
    /// Says where it was set, for reasons; such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Sets the paths: globs as filter patterns are; by default every path.
    pub fn paths<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.paths = Some(owned(patterns));
        self
    }

    /// Sets the robots by their ids; `unlisted` stands for all that are not listed.
    pub fn robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.robots = Some(owned(ids));
        self
    }

    /// Sets what the robots are for.
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes = Some(purposes.into_iter().collect());
        self
    }

    fn build(self, number: usize) -> Result<TagRule, PolicyError> {
        let refuse = |key, reason| PolicyError::Tag {
            number,
            key,
            reason,
        };
        let value: XRobotsTag = self.value.parse().map_err(|error| {
            let value = &self.value;
            refuse("value", format!("{value:?}: {error}"))
        })?;
        let paths = self.paths.as_deref().map(parse_patterns).transpose();
        let paths =
            paths.map_err(|(pattern, reason)| refuse("path", format!("{pattern:?}: {reason}")))?;
        let conditions = Conditions {
            robots: self.robots.as_deref().map(RobotSet::new),
            purposes: self.purposes,
            ..Conditions::default()
        };
        if let Some(key) = empty_list(paths.as_deref(), &conditions) {
            let reason = "the list is empty, so that nothing matches; name some or leave it out";
            return Err(refuse(key, reason.to_owned()));
        }
        let spelled = paths.iter().flatten().map(FilterPattern::as_str);
        let purposes = conditions.purposes.iter().flatten();
        let shown = [
            listed("path", spelled),
            listed("robots", texts(self.robots.as_ref())),
            listed("purposes", purposes.map(|purpose| purpose.as_str())),
        ];
        Ok(TagRule {
            label: format!("x_robots_tag {number}"),
            shown: shown.into_iter().flatten().collect(),
            origin: self.origin,
            value: value.to_string(),
            paths,
            conditions,
        })
    }
}

/// Builds the rules of a policy.
pub(super) fn build_tag_rules(rules: Vec<TagRuleBuilder>) -> Result<Vec<TagRule>, PolicyError> {
    let build = |(rule, number): (TagRuleBuilder, usize)| {
        if number > MAX_TAG_RULES {
            return Err(PolicyError::Tag {
                number,
                key: "value",
                reason: format!("there are more than {MAX_TAG_RULES}; join some"),
            });
        }
        rule.build(number)
    };
    rules.into_iter().zip(1..).map(build).collect()
}

impl Policy {
    /// Returns the `X-Robots-Tag` headers that the response to a passing request gets.
    ///
    /// Without rules about them this costs nothing.
    #[must_use]
    pub fn tags(&self, request: &Request<'_>, claim: Option<&Claim<'_>>) -> Tags<'_> {
        let mut tags = Tags::default();
        if self.tag_rules.is_empty() {
            return tags;
        }
        with_normal_path(request.path, |path| {
            for rule in self.tag_rules.iter().filter(|rule| rule.is_about(path)) {
                tags.depends_on_user_agent |= !rule.conditions.is_empty();
                if rule.refusal(claim).is_none() {
                    tags.values.push(&rule.value);
                }
            }
        });
        tags
    }

    /// Returns the rules about `X-Robots-Tag` headers.
    pub fn tag_rules(&self) -> impl Iterator<Item = &TagRule> {
        self.tag_rules.iter()
    }

    /// Says of each rule what it adds to a response, or why nothing.
    pub(super) fn explain_tags(
        &self,
        request: &Request<'_>,
        claim: Option<&Claim<'_>>,
    ) -> impl Iterator<Item = Step> {
        self.tag_rules
            .iter()
            .map(move |rule| with_normal_path(request.path, |path| rule.step(claim, path)))
    }
}
