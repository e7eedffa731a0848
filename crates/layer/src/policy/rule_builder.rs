//! From settings to a rule.

use std::{sync::Arc, time::Duration};

use super::{
    Action, PolicyError, RateLimiter, Refuse, Rule, When,
    heaven::Heaven,
    refuse::told,
    rule::Effect,
    when::{InvalidCondition, condition_setters},
};

/// Period of a rate limit that names none.
const PERIOD: Duration = Duration::from_mins(1);

/// Longest time that a rule waits for a verdict.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Builder of a [`Rule`]; nothing is checked before the policy is built.
///
/// Each condition is a list of which one value has to fit; all conditions that
/// are set have to hold. An empty list is an error, as the rule would never
/// match; so is a setting that another action has.
#[derive(Clone, Debug)]
#[must_use]
pub struct RuleBuilder {
    action: Action,
    name: String,
    origin: String,
    when: When,
    redirect_url: Option<String>,
    status: Option<u16>,
    text: Option<String>,
    requests: Option<u32>,
    per: Option<Duration>,
    burst: Option<u32>,
    wait: Option<Duration>,
}

impl RuleBuilder {
    pub(super) fn new(action: Action) -> Self {
        Self {
            action,
            name: String::new(),
            origin: String::new(),
            when: When::new(),
            redirect_url: None,
            status: None,
            text: None,
            requests: None,
            per: None,
            burst: None,
            wait: None,
        }
    }

    /// Names the rule in reasons; by default it is called by its number.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Says where it was set, for reasons; such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Replaces all conditions; by default the rule is about every robot.
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    condition_setters!(when);

    /// Sets where a rule redirects to, or takes the page from that it serves in place.
    ///
    /// By default that is where the policy sends robots. What is refused there is
    /// refused here; see
    /// [`PolicyBuilder::redirect_url`](super::PolicyBuilder::redirect_url). A page
    /// that is served in place is one of this site: a path.
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.redirect_url = Some(url.into());
        self
    }

    /// Sets the status of a refusal, 403 by default; see [`Refuse::status`].
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the text for whom a rule refuses or slows down, at most 4 KiB.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets how many requests of a robot a rule that slows down lets through in a period.
    pub fn requests(mut self, requests: u32) -> Self {
        self.requests = Some(requests);
        self
    }

    /// Sets the period of a rule that slows down, a minute by default.
    pub fn per(mut self, period: Duration) -> Self {
        self.per = Some(period);
        self
    }

    /// Sets how many requests may come at once; by default those of a whole period.
    ///
    /// That is after a pause; later ones may come one by one, evenly.
    pub fn burst(mut self, burst: u32) -> Self {
        self.burst = Some(burst);
        self
    }

    /// Sets how long a decision may wait for a verdict that is pending; by default not at all.
    ///
    /// It is for a rule with [verdicts](Self::verdicts), and from 1 ms to 10 s. The
    /// proof goes on in the background; what is known when the time is over decides.
    /// The server waits, the Tower layer alone does not: see
    /// [`Policy::wait`](super::Policy::wait).
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// Builds the rule; `place` finds the heaven of a URL, or of none the policy's.
    pub(super) fn build(
        self,
        number: usize,
        redirected_methods: &[String],
        place: impl FnOnce(Option<&str>) -> Result<Arc<Heaven>, String>,
    ) -> Result<Rule, PolicyError> {
        let refuse = |(key, reason)| PolicyError::rule(number, key, reason);
        let label = self.label(number);
        self.check_keys().map_err(refuse)?;
        self.check_wait().map_err(refuse)?;
        let effect = self.effect(place).map_err(refuse)?;
        let (mut scope, mut shown) = self.when.build().map_err(refuse)?;
        shown.extend(
            self.wait
                .map(|wait| format!("waits {} ms for the verdict", wait.as_millis())),
        );
        if let Effect::Redirect(_) | Effect::Serve(_) = effect
            && scope.methods.is_none()
        {
            scope.methods = Some(redirected_methods.to_vec());
        }
        Ok(Rule {
            number,
            label: label.into(),
            wait: self.wait,
            shown,
            origin: self.origin,
            effect,
            scope,
        })
    }

    /// Returns its name, if it has one.
    pub(super) fn own_name(&self) -> Option<&str> {
        Some(self.name.trim()).filter(|name| !name.is_empty())
    }

    fn label(&self, number: usize) -> String {
        match self.own_name() {
            Some(name) => format!("rule {name:?}"),
            None => format!("rule {number}"),
        }
    }

    /// Refuses what is set and would do nothing.
    fn check_keys(&self) -> Result<(), InvalidCondition> {
        use Action::{Redirect, Refuse, Serve, Slow};
        let action = self.action;
        for (key, is_set, actions) in [
            (
                "redirect_url",
                self.redirect_url.is_some(),
                &[Redirect, Serve][..],
            ),
            ("status", self.status.is_some(), &[Refuse]),
            ("text", self.text.is_some(), &[Refuse, Slow]),
            ("requests", self.requests.is_some(), &[Slow]),
            ("per_seconds", self.per.is_some(), &[Slow]),
            ("burst", self.burst.is_some(), &[Slow]),
        ] {
            if is_set && !actions.contains(&action) {
                let actions: Vec<_> = actions.iter().map(|action| action.as_str()).collect();
                let actions = actions.join(" or ");
                let reason = format!(
                    "the action is {action}, which does nothing with it; leave it out, or set the action to {actions}"
                );
                return Err((key, reason));
            }
        }
        Ok(())
    }

    /// Refuses to wait for what nobody asks for, or for ever.
    fn check_wait(&self) -> Result<(), InvalidCondition> {
        let reason = match self.wait {
            Some(_) if self.when.verdicts.is_none() => {
                "the rule names no verdict that it could wait for; set verdicts, or leave it out"
            }
            Some(wait) if wait.as_millis() == 0 || wait > MAX_WAIT => {
                "a rule waits for 1 to 10000 milliseconds"
            }
            _ => return Ok(()),
        };
        Err(("wait_milliseconds", reason.to_owned()))
    }

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
        let Some(requests) = self.requests.filter(|&requests| requests > 0) else {
            let reason = "say how many requests are let through in a period, such as requests = 10";
            return Err(("requests", reason.to_owned()));
        };
        let per = self.per.unwrap_or(PERIOD);
        if per.is_zero() {
            return Err(("per_seconds", "a period has a length".to_owned()));
        }
        let text = self.text.as_deref().map(told).transpose()?;
        let burst = self.burst.unwrap_or(requests).max(1);
        Ok(RateLimiter::new(requests, per, burst, text))
    }
}

/// Refuses a page of another site: what is served in place comes from this one.
fn of_this_site(heaven: Arc<Heaven>) -> Result<Arc<Heaven>, InvalidCondition> {
    let location = &heaven.redirect.location;
    if location.starts_with('/') {
        return Ok(heaven);
    }
    let reason = format!(
        "{location} is a page of another site, which cannot be served in place; write a path of this site, or redirect"
    );
    Err(("redirect_url", reason))
}
