//! A builder that creates a rule from settings.

use std::{sync::Arc, time::Duration};

use crate::detect::Kind;

use super::{
    Action, Places, PolicyError, RateKey, RateLimiter, Refuse, ResponseHeaders, Rule, When,
    decision::Effect,
    error::InvalidCondition,
    heaven::Heaven,
    load::LoadThreshold,
    rate_limiter::LimitSettings,
    refuse::response_text,
    when::{conditions, setter, setters},
};

/// The default period of a rate limit.
const PERIOD: Duration = Duration::from_secs(60);

/// Maximum time that a request waits for a verdict because of a rule.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// A builder of a [`Rule`]. Settings are checked when the policy is built.
///
/// Each condition is a list of values, one of which must match; all conditions that are set must
/// hold. An empty list is an error because the rule would never match. A setting that the rule's
/// action does not use is also an error.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RuleBuilder {
    pub(super) action: Action,
    name: String,
    label: Option<String>,
    origin: String,
    when: When,
    pub(super) redirect_url: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) text: Option<String>,
    pub(super) requests: Option<u32>,
    pub(super) per: Option<Duration>,
    pub(super) burst: Option<u32>,
    pub(super) rate_key: Option<RateKey>,
    pub(super) errors: Option<u32>,
    pub(super) load: LoadThreshold,
    wait: Option<Duration>,
    people: Option<bool>,
    response_headers: Vec<(String, String)>,
}

impl RuleBuilder {
    pub(super) fn new(action: Action) -> Self {
        Self {
            action,
            ..Self::default()
        }
    }

    /// Sets the name of the rule in explanations; defaults to the rule's number.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the label of the rule in explanations, which replaces the rule's name or number.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the source location of the rule for explanations, such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Adds conditions, replacing conditions of the same type. By default, a rule matches all
    /// robots.
    pub fn when(mut self, when: When) -> Self {
        self.when = self.when.and(when);
        self
    }

    conditions!(setters(.when));

    setters! { ()
        /// Sets the HTTP status of a refusal; defaults to 403. See
        /// [`Refuse::status`](super::Refuse::status).
        status: u16,
        /// Sets the number of requests per period allowed by a rule that slows robots down.
        ///
        /// [`rate_key`](Self::rate_key) determines which requests share the limit.
        requests: u32,
        /// Sets the period of a rule that slows robots down; defaults to a minute.
        per: Duration,
        /// Sets the number of requests allowed at once; defaults to the number allowed in a whole
        /// period.
        ///
        /// The burst is available after a pause; afterwards, requests must be evenly spaced.
        burst: u32,
        /// Sets which requests share the limit of a rule that slows robots down; defaults to
        /// requests from the same robot.
        rate_key: RateKey,
        /// Sets the number of errors per period after which a rule that slows robots down blocks
        /// requests.
        ///
        /// This setting replaces [`requests`](Self::requests). Errors are responses from the
        /// application with 403, 404 or 410; responses from this program are not counted. Errors
        /// are counted only if the layer receives the responses.
        errors: u32,
        /// Sets the maximum time that requests wait for a pending verdict; by default, requests do
        /// not wait.
        ///
        /// The setting is allowed for rules with [verdicts](Self::verdicts), from 1 ms to 10 s.
        /// Verification continues in the background; after the wait, the current verdict is used.
        /// The server waits, but the Tower layer alone does not: see
        /// [`Policy::wait`](super::Policy::wait).
        wait: Duration,
        /// Confirms that the rule's action may affect human visitors; by default, the action is
        /// only reported.
        people: bool,
    }

    /// Sets the URL that the rule redirects to, or the URL of the page that the rule serves
    /// directly.
    ///
    /// The default is the redirect URL of the policy. The same restrictions apply as for
    /// [`PolicyBuilder::redirect_url`](super::PolicyBuilder::redirect_url). A page that is served
    /// directly must be a path of this site.
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.redirect_url = Some(url.into());
        self
    }

    /// Sets the text of the response (at most 4 KiB) for a rule that refuses robots or slows robots
    /// down.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the site's requests per second at which a rule that slows robots down starts to act.
    ///
    /// By default, the rule always acts. Otherwise, the rule starts to act after a full second at
    /// the threshold, and stops after ten seconds below the threshold. If
    /// [`load_time`](Self::load_time) is set too, reaching either threshold is sufficient.
    pub fn load_requests(mut self, requests_per_second: u32) -> Self {
        self.load.requests_per_second = Some(requests_per_second);
        self
    }

    /// Sets the application's mean response time at which a rule that slows robots down starts to
    /// act.
    ///
    /// The mean covers the last second, but at least the last sixteen responses.
    pub fn load_time(mut self, milliseconds: u32) -> Self {
        self.load.upstream_milliseconds = Some(milliseconds);
        self
    }

    /// Adds a header to the responses to matching requests.
    ///
    /// The header is added to the response if the rule redirects, refuses or slows down requests,
    /// or else to the passing response from the application or from robot heaven. A
    /// [list](ResponseHeaders::is_list) header may be added several times.
    pub fn response_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.response_headers.push((name.into(), value.into()));
        self
    }

    /// Builds the rule; `place` returns the redirect target for a URL, or the policy's target for
    /// `None`.
    pub(super) fn build(
        self,
        number: usize,
        redirected_methods: &[String],
        places: &Places,
        place: impl FnOnce(Option<&str>) -> Result<Arc<Heaven>, String>,
    ) -> Result<Rule, PolicyError> {
        let refuse = |(key, reason)| PolicyError::rule(number, key, reason);
        let label = self.label_of(number);
        self.check_keys().map_err(refuse)?;
        self.check_wait().map_err(refuse)?;
        let effect = self.effect(place).map_err(refuse)?;
        let headers = ResponseHeaders::new(self.action, &self.response_headers).map_err(refuse)?;
        let (mut scope, mut shown) = self.when.build().map_err(refuse)?;
        shown.extend(
            self.wait
                .map(|wait| format!("waits {} ms for the verdict", wait.as_millis())),
        );
        let load = self.load.non_empty();
        shown.extend(load.map(|load| format!("under load, at {load}")));
        scope.places = places.clone();
        if self.people.is_some() && !scope.robots.is_about(Kind::Person) {
            let reason = "the rule does not apply to people; set visitors = \"people\" or \"all\", or remove the key";
            return Err(PolicyError::rule(number, "people", reason.to_owned()));
        }
        if self.action.words().is_for_redirected_methods && scope.methods.is_none() {
            scope.methods = Some(redirected_methods.to_vec());
        }
        let mut rule = Rule {
            number,
            index: number.saturating_sub(1),
            label: label.into(),
            wait: self.wait,
            shown,
            origin: self.origin,
            is_confirmed: self.people.unwrap_or_default(),
            effect,
            scope,
            headers: headers.map(Arc::new),
        };
        if rule.is_unconfirmed() {
            rule.shown
                .push("only reported until people = true".to_owned());
        }
        Ok(rule)
    }

    /// Returns the rule's name, if set.
    pub(super) fn own_name(&self) -> Option<&str> {
        Some(self.name.trim()).filter(|name| !name.is_empty())
    }

    /// Returns the rule's label or, without a label, the rule's name.
    pub(super) fn shown_label(&self) -> String {
        let name = || self.own_name().unwrap_or_default().to_owned();
        self.label.clone().unwrap_or_else(name)
    }

    fn label_of(&self, number: usize) -> String {
        match (&self.label, self.own_name()) {
            (Some(label), _) => label.clone(),
            (None, Some(name)) => Rule::label_of_name(name),
            (None, None) => format!("rule {number}"),
        }
    }

    /// Returns the load thresholds with their settings keys.
    pub(super) fn load_keys(&self) -> [(&'static str, Option<u32>); 2] {
        let LoadThreshold {
            requests_per_second,
            upstream_milliseconds,
        } = self.load;
        [
            ("when.requests_per_second", requests_per_second),
            ("when.upstream_milliseconds", upstream_milliseconds),
        ]
    }

    /// Creates the rule's effect from the settings. `place` maps a URL to its redirect target; for
    /// `None`, it returns the policy's target.
    fn effect(
        &self,
        place: impl FnOnce(Option<&str>) -> Result<Arc<Heaven>, String>,
    ) -> Result<Effect, InvalidCondition> {
        let place = || {
            let url = self.redirect_url.as_deref();
            place(url).map_err(|reason| ("redirect_url", reason))
        };
        Ok(match self.action {
            Action::Pass => Effect::Pass,
            Action::Redirect => Effect::Redirect(place()?),
            Action::Serve => Effect::Serve(of_this_site(place()?)?),
            Action::Refuse => Effect::Refuse(Refuse::new(self.status, self.text.as_deref())?),
            Action::Slow => Effect::Slow(Arc::new(self.rate_limiter()?)),
        })
    }

    fn rate_limiter(&self) -> Result<RateLimiter, InvalidCondition> {
        if self.requests.is_some() && self.errors.is_some() {
            let reason = "a rule counts either requests or errors; write a rule for each";
            return Err(("errors", reason.to_owned()));
        }
        let count = self.requests.or(self.errors);
        let Some(count) = count.filter(|&count| count > 0) else {
            let reason = "set the number of requests allowed per period, such as requests = 10, or the number of errors such as 404 after which requests are blocked, such as errors = 20";
            return Err(("requests", reason.to_owned()));
        };
        let period = self.per.unwrap_or(PERIOD);
        if period.is_zero() {
            return Err(("per_seconds", "the period must be longer than 0".to_owned()));
        }
        for (key, number) in self.load_keys() {
            if number == Some(0) {
                return Err((
                    key,
                    "with a load of 0, the rule would always act; remove the key".to_owned(),
                ));
            }
        }
        let text = self.text.as_deref().map(response_text).transpose()?;
        // By default, the requests of a whole period may arrive at once.
        let burst = self.burst.unwrap_or(count).max(1);
        Ok(RateLimiter::new(LimitSettings {
            count,
            is_of_errors: self.errors.is_some(),
            period,
            burst,
            key: self.rate_key.unwrap_or_default(),
            text,
            load: self.load.non_empty(),
        }))
    }

    /// Rejects settings that would have no effect on the rule's action.
    fn check_keys(&self) -> Result<(), InvalidCondition> {
        let Self { action, .. } = self;
        for (key, is_set) in [
            ("redirect_url", self.redirect_url.is_some()),
            ("status", self.status.is_some()),
            ("text", self.text.is_some()),
            ("requests", self.requests.is_some()),
            ("per_seconds", self.per.is_some()),
            ("burst", self.burst.is_some()),
            ("per", self.rate_key.is_some()),
            ("errors", self.errors.is_some()),
        ]
        .into_iter()
        .chain(
            self.load_keys()
                .map(|(key, number)| (key, number.is_some())),
        ) {
            let uses_it = |action: &&Action| action.words().keys.contains(&key);
            if is_set && !uses_it(&action) {
                let actions = Action::ALL.iter().filter(uses_it);
                let actions: Vec<_> = actions.map(|action| action.as_str()).collect();
                let actions = actions.join(" or ");
                let reason = format!(
                    "the action {action} does not use this key; remove the key, or set the action to {actions}"
                );
                return Err((key, reason));
            }
        }
        Ok(())
    }

    /// Rejects a wait of an invalid length, or without a condition on verdicts.
    fn check_wait(&self) -> Result<(), InvalidCondition> {
        let reason = match self.wait {
            Some(_) if self.when.verdicts.is_none() => {
                "the rule has no condition on verdicts to wait for; set verdicts, or remove the key"
            }
            Some(wait) if wait.as_millis() == 0 || wait > MAX_WAIT => {
                "a rule can wait for 1 to 10000 milliseconds"
            }
            _ => return Ok(()),
        };
        Err(("wait_milliseconds", reason.to_owned()))
    }
}

impl Rule {
    /// Creates a builder of a rule that matches every robot on filtered paths.
    pub fn builder(action: Action) -> RuleBuilder {
        RuleBuilder::new(action)
    }
}

/// Rejects a page on another site, because such a page cannot be served directly.
fn of_this_site(heaven: Arc<Heaven>) -> Result<Arc<Heaven>, InvalidCondition> {
    let location = &heaven.redirect.location;
    if location.starts_with('/') {
        return Ok(heaven);
    }
    let reason = format!(
        "{location} is on another site and cannot be served without a redirect; use a path on this site, or a redirect"
    );
    Err(("redirect_url", reason))
}
