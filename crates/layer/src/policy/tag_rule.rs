//! Rules that add `X-Robots-Tag` headers to responses.

use std::sync::Arc;

use super::{
    Places, Policy, PolicyError, Request, ResponseHeaders, Step, Visitor, When,
    decision::NormalizedRequest,
    scope::Scope,
    when::{conditions, setter, setters},
};

/// Maximum number of tag rules in a policy.
const MAX_TAG_RULES: usize = 256;

/// A rule that adds an `X-Robots-Tag` header to responses.
///
/// Without conditions, the rule applies to every response, including responses to human visitors,
/// so that caches and disguised robots see the same header as robots. Each matching rule adds a
/// separate header to the application's headers; robots combine these headers. Redirects to robot
/// heaven get no tags.
///
/// To address a single search engine, put its token in the value (`googlebot: noindex`): the
/// response is then the same for all visitors, whereas conditions on the robot require `Vary:
/// User-Agent`.
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
/// let request = Request { method: "GET", host: None, path: "/a.pdf", query: None };
/// assert!(policy.tags(&request, None).values().eq(["noindex"]));
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TagRule {
    label: String,
    origin: String,
    /// The header that the rule adds.
    headers: Arc<ResponseHeaders>,
    scope: Scope,
    /// The paths to which the rule does not apply.
    except: Option<Scope>,
    shown: Vec<String>,
}

/// A builder of a [`TagRule`]. Settings are checked when the policy is built.
#[derive(Clone, Debug)]
#[must_use]
pub struct TagRuleBuilder {
    value: String,
    /// Other headers that the rule sets.
    lines: Vec<(String, String)>,
    origin: String,
    when: When,
    except: Vec<String>,
}

/// The `X-Robots-Tag` headers to add to a response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tags<'p> {
    /// The rules that match, each of which adds one header.
    pub rules: Vec<&'p TagRule>,
    /// Whether the headers could be different for another User-Agent.
    pub depends_on_user_agent: bool,
}

impl Tags<'_> {
    /// Returns the values of the headers, which contain only visible ASCII and spaces.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.value())
    }
}

impl TagRule {
    /// Creates a builder of a rule that applies to every response.
    pub fn builder(value: impl Into<String>) -> TagRuleBuilder {
        TagRuleBuilder {
            value: value.into(),
            lines: Vec::new(),
            origin: String::new(),
            when: When::new(),
            except: Vec::new(),
        }
    }

    /// Returns the label used in explanations, such as `x_robots_tag 2`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the source location of the rule, such as `robot-detection.toml:12`; empty if the
    /// rule was set by the program.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the value of the header, which contains only visible ASCII and spaces.
    #[must_use]
    pub fn value(&self) -> &str {
        self.headers.first()
    }

    /// Returns `true` if the rule may apply to a path.
    #[must_use]
    #[doc(hidden)]
    pub fn applies_to_path(&self, path: &str) -> bool {
        let request = Request {
            method: "GET",
            host: None,
            path,
            query: None,
        };
        self.scope.hosts.is_some() || self.is_about(&asked(&request, path.as_bytes()))
    }

    /// Returns the header as it is added to a response.
    #[must_use]
    pub fn response_headers(&self) -> &Arc<ResponseHeaders> {
        &self.headers
    }

    /// Returns the directives in the value that no robot is known to support, each with the
    /// directive that was probably intended.
    pub fn unknown_words(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        self.headers.unknown_words()
    }

    /// Returns the rule's conditions as text; empty if the rule applies to every response.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) fn scope_mut(&mut self) -> &mut Scope {
        &mut self.scope
    }

    /// Returns `true` unless the conditions on the path, method and host exclude the request.
    fn is_about(&self, asked: &NormalizedRequest<'_>) -> bool {
        self.scope.matches(asked) && !self.is_excepted(asked)
    }

    fn is_excepted(&self, asked: &NormalizedRequest<'_>) -> bool {
        let except = self.except.as_ref();
        except.is_some_and(|except| except.matches(asked))
    }

    fn step(&self, asked: &NormalizedRequest<'_>, visitor: Option<Visitor<'_>>) -> Step {
        let label = match self.origin() {
            "" => self.label().to_owned(),
            origin => format!("{} ({origin})", self.label()),
        };
        let text = match self.scope.mismatch(asked, visitor) {
            None if self.is_excepted(asked) => {
                format!("The response gets no X-Robots-Tag from {label}: the path is an exception.")
            }
            None => {
                let headers: Vec<_> = self.headers.shown().collect();
                format!("The response gets {} from {label}.", headers.join(" and "))
            }
            Some(mismatch) => {
                let reason = mismatch.reason(asked, visitor, &self.scope.places);
                format!("The response gets no X-Robots-Tag from {label}: {reason}.")
            }
        };
        Step { name: "tag", text }
    }
}

impl TagRuleBuilder {
    /// Sets the source location of the rule for explanations, such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Sets another response header, as [`RuleBuilder::response_header`](super::RuleBuilder) does.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.lines.push((name.into(), value.into()));
        self
    }

    /// Sets the paths to which the rule does not apply, as globs.
    pub fn except<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.except = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Adds conditions, replacing conditions of the same type. By default, a tag rule matches all
    /// responses.
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
        let headers = ResponseHeaders::tag(&self.value, &self.lines).map_err(refuse)?;
        let (mut scope, shown) = self.when.build().map_err(refuse)?;
        scope.places = places.clone();
        let except = match &*self.except {
            [] => None,
            paths => Some(When::new().paths(paths).build().map_err(refuse)?.0),
        };
        Ok(TagRule {
            label: format!("x_robots_tag {number}"),
            shown,
            origin: self.origin,
            headers: Arc::new(headers),
            scope,
            except,
        })
    }
}

/// Builds the tag rules of a policy.
pub(super) fn build_tag_rules(
    rules: Vec<TagRuleBuilder>,
    places: &Places,
) -> Result<Vec<TagRule>, PolicyError> {
    let build = |(rule, number): (TagRuleBuilder, usize)| {
        if number > MAX_TAG_RULES {
            return Err(PolicyError::Tag {
                number,
                key: "value",
                reason: format!("there are more than {MAX_TAG_RULES} rules; combine some of them"),
            });
        }
        rule.build(number, places)
    };
    rules.into_iter().zip(1..).map(build).collect()
}

impl Policy {
    /// Returns the `X-Robots-Tag` headers to add to the response to a passing request.
    ///
    /// The call has no cost if there are no tag rules. In a [dry run](Self::is_dry_run), no headers
    /// are returned.
    #[must_use]
    pub fn tags(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Tags<'_> {
        let mut tags = Tags::default();
        if self.tag_rules.is_empty() || self.is_dry_run {
            return tags;
        }
        self.reading.with_path(request.path, |path| {
            let asked = asked(request, path);
            for rule in self.tag_rules.iter().filter(|rule| rule.is_about(&asked)) {
                // Set even if the rule does not match: it may match another User-Agent, which
                // caches must consider.
                tags.depends_on_user_agent |= !rule.scope.is_for_all();
                if rule.scope.mismatch(&asked, visitor).is_none() {
                    tags.rules.push(rule);
                }
            }
        });
        tags
    }

    /// Returns the rules for `X-Robots-Tag` headers.
    pub fn tag_rules(&self) -> impl Iterator<Item = &TagRule> {
        self.tag_rules.iter()
    }

    /// Returns an explanation step for each tag rule: the header added, or the reason why no header
    /// is added.
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

/// Creates a request; a tag rule without paths applies to every path.
fn asked<'r>(request: &Request<'r>, path: &'r [u8]) -> NormalizedRequest<'r> {
    NormalizedRequest {
        method: request.method,
        host: request.host,
        path,
        query: request.query,
        is_filtered: true,
    }
}
