//! Headers that responses get: what they tell robots to do with a page.

use std::sync::Arc;

use super::{
    Places, Policy, PolicyError, Request, ResponseHeaders, Step, Visitor, When,
    decision::NormalizedRequest,
    scope::Scope,
    when::{conditions, setter, setters},
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
/// use robot_detection_layer::{policy::{Policy, Request, TagRule}, registry::Purpose};
///
/// let policy = Policy::builder()
///     .x_robots_tag(TagRule::builder("noindex").paths(["*.pdf"]))
///     .x_robots_tag(TagRule::builder("noarchive").purposes([Purpose::AiTraining]))
///     .build()?;
/// let request = Request { method: "GET", host: None, path: "/a.pdf" };
/// assert!(policy.tags(&request, None).values().eq(["noindex"]));
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TagRule {
    label: String,
    origin: String,
    /// The one header that it gives.
    headers: Arc<ResponseHeaders>,
    scope: Scope,
    shown: Vec<String>,
}

/// Builder of a [`TagRule`]; nothing is checked before the policy is built.
#[derive(Clone, Debug)]
#[must_use]
pub struct TagRuleBuilder {
    value: String,
    origin: String,
    when: When,
}

/// `X-Robots-Tag` headers that one response gets.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tags<'p> {
    /// Rules that give one each.
    pub rules: Vec<&'p TagRule>,
    /// Whether another User-Agent might have led to others.
    pub depends_on_user_agent: bool,
}

impl Tags<'_> {
    /// Returns the values of the headers: visible ASCII and blanks.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.value())
    }
}

impl TagRule {
    /// Creates a builder of a rule about every response.
    pub fn builder(value: impl Into<String>) -> TagRuleBuilder {
        TagRuleBuilder {
            value: value.into(),
            origin: String::new(),
            when: When::new(),
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
        self.headers.first()
    }

    /// Returns the header as a response gets it.
    #[must_use]
    pub fn response_headers(&self) -> &Arc<ResponseHeaders> {
        &self.headers
    }

    /// Returns the words of the value that robots are not known to read, each with what was
    /// probably meant.
    pub fn unknown_words(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        self.headers.unknown_words()
    }

    /// Returns its conditions for people to read; none: every response.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) fn scope_mut(&mut self) -> &mut Scope {
        &mut self.scope
    }

    fn step(&self, asked: &NormalizedRequest<'_>, visitor: Option<Visitor<'_>>) -> Step {
        let label = match self.origin() {
            "" => self.label().to_owned(),
            origin => format!("{} ({origin})", self.label()),
        };
        let text = match self.scope.mismatch(asked, visitor) {
            None => format!(
                "The response gets X-Robots-Tag: {} by {label}.",
                self.value()
            ),
            Some(mismatch) => {
                let reason = mismatch.reason(asked, visitor, &self.scope.places);
                format!("The response gets no X-Robots-Tag by {label}: {reason}.")
            }
        };
        Step { name: "tag", text }
    }
}

impl TagRuleBuilder {
    /// Sets the place in the settings that reasons name, such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Adds conditions, which replace those of the same kind; by default the rule is about every response.
    pub fn when(mut self, when: When) -> Self {
        self.when = self.when.and(when);
        self
    }

    conditions!(setters(.when));

    fn build(self, number: usize, places: &Places) -> Result<TagRule, PolicyError> {
        let refuse = |(key, reason)| PolicyError::Tag {
            number,
            key,
            reason,
        };
        let headers =
            ResponseHeaders::tag(&self.value).map_err(|reason| refuse(("value", reason)))?;
        let (mut scope, shown) = self.when.build().map_err(refuse)?;
        scope.places = places.clone();
        Ok(TagRule {
            label: format!("x_robots_tag {number}"),
            shown,
            origin: self.origin,
            headers: Arc::new(headers),
            scope,
        })
    }
}

/// Builds the rules of a policy.
pub(super) fn build_tag_rules(
    rules: Vec<TagRuleBuilder>,
    places: &Places,
) -> Result<Vec<TagRule>, PolicyError> {
    let build = |(rule, number): (TagRuleBuilder, usize)| {
        if number > MAX_TAG_RULES {
            return Err(PolicyError::Tag {
                number,
                key: "value",
                reason: format!("there are more than {MAX_TAG_RULES}; join some"),
            });
        }
        rule.build(number, places)
    };
    rules.into_iter().zip(1..).map(build).collect()
}

impl Policy {
    /// Returns the `X-Robots-Tag` headers that the response to a passing request gets.
    ///
    /// Without rules about them this costs nothing. In a
    /// [dry run](Self::is_dry_run) there are none.
    #[must_use]
    pub fn tags(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Tags<'_> {
        let mut tags = Tags::default();
        if self.tag_rules.is_empty() || self.is_dry_run {
            return tags;
        }
        self.reading.with_path(request.path, |path| {
            let asked = asked(request, path);
            for rule in self
                .tag_rules
                .iter()
                .filter(|rule| rule.scope.is_about(&asked))
            {
                // Where the rule does not match, too: by another User-Agent it may, and caches have
                // to know.
                tags.depends_on_user_agent |= !rule.scope.is_for_all();
                if rule.scope.mismatch(&asked, visitor).is_none() {
                    tags.rules.push(rule);
                }
            }
        });
        tags
    }

    /// Returns the rules about `X-Robots-Tag` headers.
    pub fn tag_rules(&self) -> impl Iterator<Item = &TagRule> {
        self.tag_rules.iter()
    }

    /// Returns a step for each rule: what it adds to a response, or why nothing.
    pub(super) fn explain_tags(
        &self,
        request: &Request<'_>,
        visitor: Option<Visitor<'_>>,
    ) -> impl Iterator<Item = Step> {
        self.tag_rules.iter().map(move |rule| {
            self.reading.with_path(request.path, |path| {
                rule.step(&asked(request, path), visitor)
            })
        })
    }
}

/// A header without paths of its own is about every path.
fn asked<'r>(request: &Request<'r>, path: &'r [u8]) -> NormalizedRequest<'r> {
    NormalizedRequest {
        method: request.method,
        host: request.host,
        path,
        is_filtered: true,
    }
}
