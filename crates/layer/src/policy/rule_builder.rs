//! From settings to a rule.

use std::{sync::Arc, time::Duration};

use crate::detect::Kind;

use super::{
    Action, Places, PolicyError, RateKey, RateLimiter, Refuse, ResponseHeaders, Rule, When,
    decision::Effect,
    error::InvalidCondition,
    heaven::Heaven,
    load::LoadThreshold,
    rate_limiter::Pace,
    refuse::told,
    when::{conditions, setter, setters},
};

/// Period of a rate limit that names none.
const PERIOD: Duration = Duration::from_secs(60);

/// Longest time that a rule waits for a verdict.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Builder of a [`Rule`]; nothing is checked before the policy is built.
///
/// Each condition is a list of which one value has to fit; all conditions that
/// are set have to hold. An empty list is an error, as the rule would never
/// match; so is a setting that another action has.
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

    /// Names the rule in reasons; by default it is called by its number.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what reasons call the rule, in place of its name or number.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the place in the settings that reasons name, such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Adds conditions, which replace those of the same kind; by default the rule is about every robot.
    pub fn when(mut self, when: When) -> Self {
        self.when = self.when.and(when);
        self
    }

    conditions!(setters(.when));

    setters! { ()
        /// Sets the status of a refusal, 403 by default; see [`Refuse::status`](super::Refuse::status).
        status: u16,
        /// Sets how many requests a rule that slows down lets through in a period.
        ///
        /// Whose they are is what [`rate_key`](Self::rate_key) says.
        requests: u32,
        /// Sets the period of a rule that slows down, a minute by default.
        per: Duration,
        /// Sets how many requests may come at once; by default those of a whole period.
        ///
        /// That is after a pause; later ones may come one by one, evenly.
        burst: u32,
        /// Sets whom a rule that slows down tells apart; by default robots.
        rate_key: RateKey,
        /// Sets after how many errors in a period a rule that slows down lets nothing through.
        ///
        /// It stands in place of [`requests`](Self::requests). Errors are the answers 403, 404 and 410
        /// that the application gives; what this program refuses itself is none. They are counted
        /// where the layer sees the answers.
        errors: u32,
        /// Sets how long a decision may wait for a verdict that is pending; by default not at all.
        ///
        /// It is for a rule with [verdicts](Self::verdicts), and from 1 ms to 10 s. The
        /// proof goes on in the background; what is known when the time is over decides.
        /// The server waits, the Tower layer alone does not: see
        /// [`Policy::wait`](super::Policy::wait).
        wait: Duration,
        /// Sets that a rule about people may do to them what it does; by default it only notes it.
        people: bool,
    }

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

    /// Sets the text for whom a rule refuses or slows down, at most 4 KiB.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the requests a second of the site from which on a rule that slows down acts.
    ///
    /// By default it always does. It begins when a whole second had so many, and ends when ten in
    /// a row had fewer. Where [`load_time`](Self::load_time) is set too, one of both is enough.
    pub fn load_requests(mut self, requests_per_second: u32) -> Self {
        self.load.requests_per_second = Some(requests_per_second);
        self
    }

    /// Sets the mean time until the application's answers begin from which on such a rule acts.
    ///
    /// The mean is of the last second, or of the last sixteen answers where it had fewer.
    pub fn load_time(mut self, milliseconds: u32) -> Self {
        self.load.upstream_milliseconds = Some(milliseconds);
        self
    }

    /// Adds a header that the rule gives to the responses to those whom it is about.
    ///
    /// It is on the answer of a rule that redirects, refuses or slows down, and on the response
    /// of the application or of heaven where it passes or is served in place. A name may
    /// come several times where its lines are [a list](ResponseHeaders::is_list).
    pub fn response_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.response_headers.push((name.into(), value.into()));
        self
    }

    /// Builds the rule; `place` finds the heaven of a URL, or of none the policy's.
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
        let load = self.load.some();
        shown.extend(load.map(|load| format!("under load, from {load} on")));
        scope.places = places.clone();
        if self.people.is_some() && !scope.robots.is_about(Kind::Person) {
            let reason = "the rule is not about people; set visitors = \"people\" or \"all\", or leave it out";
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
        if rule.is_dry() {
            rule.shown
                .push("only notes, until people = true".to_owned());
        }
        Ok(rule)
    }

    /// Returns its name, if it has one.
    pub(super) fn own_name(&self) -> Option<&str> {
        Some(self.name.trim()).filter(|name| !name.is_empty())
    }

    /// Returns what it was told to be called, or its name.
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

    /// Returns what is set of the load, with the keys of it.
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

    /// Creates the effect of a rule's settings; `place` finds the heaven of a URL, or of
    /// none the policy's.
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
            let reason = "a rule counts requests or errors; write a rule for each";
            return Err(("errors", reason.to_owned()));
        }
        let count = self.requests.or(self.errors);
        let Some(count) = count.filter(|&count| count > 0) else {
            let reason = "say how many requests are let through in a period, such as requests = 10, or after how many answers 404 or the like none is, such as errors = 20";
            return Err(("requests", reason.to_owned()));
        };
        let period = self.per.unwrap_or(PERIOD);
        if period.is_zero() {
            return Err(("per_seconds", "a period has a length".to_owned()));
        }
        for (key, number) in self.load_keys() {
            if number == Some(0) {
                return Err((
                    key,
                    "without load the rule would always act; leave it out".to_owned(),
                ));
            }
        }
        let text = self.text.as_deref().map(told).transpose()?;
        // By default those of a whole period may come at once.
        let burst = self.burst.unwrap_or(count).max(1);
        Ok(RateLimiter::new(Pace {
            count,
            is_of_errors: self.errors.is_some(),
            period,
            burst,
            key: self.rate_key.unwrap_or_default(),
            text,
            load: self.load.some(),
        }))
    }

    /// Refuses what is set and would do nothing.
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
}

impl Rule {
    /// Creates a builder of a rule that matches every robot on a filtered path.
    pub fn builder(action: Action) -> RuleBuilder {
        RuleBuilder::new(action)
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
