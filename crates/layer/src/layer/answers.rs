//! Responses that the layer itself sends.

use std::{ptr, sync::Arc, time::Duration};

use arc_swap::{ArcSwap, Guard};
use http::{
    HeaderName, HeaderValue, Request, Uri,
    header::{LOCATION, RETRY_AFTER},
    uri::PathAndQuery,
};

use crate::detect::{Claim, Verdict};
use crate::policy::{
    Action, Answer, CountedViolation, Decision, Policy, Redirect, Rule, SharedPolicy, Visitor,
};

use super::{
    Stats,
    future::LayerReply,
    head::{Head, RefusalBody, seconds},
    stages::{Disposition, RequestState},
};

/// Header that requests a signature (RFC 9421 §5.1).
const ACCEPT_SIGNATURE: HeaderName = HeaderName::from_static("accept-signature");

/// A function that finds the heaven page generated from the page that a robot has requested.
type FindPage = dyn Fn(&Uri, &HeaderValue) -> Option<HeaderValue> + Send + Sync;

/// The current policy with its prepared response heads, which are created once per policy.
#[derive(Clone)]
pub(super) struct PreparedAnswers {
    prepared: Arc<ArcSwap<Answers>>,
    pub(super) own_pages: Option<Arc<FindPage>>,
    /// A function that returns the `Accept-Signature` header of a refusal.
    pub(super) accept_signature: Option<Arc<dyn Fn() -> Option<HeaderValue> + Send + Sync>>,
}

/// A policy, with the response heads prepared for it.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) policy: Arc<Policy>,
    /// The version of the shared policy, read just before the policy was loaded.
    version: u64,
    /// One response head per redirect of the policy, in order.
    redirects: Vec<Option<Head>>,
    /// One prepared response per rule, in order.
    rules: Vec<RuleAnswer>,
    /// The response to a request with a spoofed claim.
    spoofed: Head,
}

/// A rule's prepared response.
#[derive(Debug)]
enum RuleAnswer {
    /// No prepared response: the rule lets the request pass or redirects it as usual.
    Nothing,
    /// The response head for a refusal, a rate limit, or a redirect with additional headers.
    Answer(Head),
    /// A heaven page that the rule serves directly.
    Page(PathAndQuery),
}

impl PreparedAnswers {
    /// Returns the response to a request that is not forwarded to the application.
    ///
    /// The memory of the request's headers, which are no longer needed, is reused.
    pub(super) fn answer<B, R>(
        &self,
        stats: &Stats,
        request: &mut Request<B>,
        case: &RequestState<'_>,
        visitor: Option<Visitor<'_>>,
        bodies: &impl RefusalBody<R>,
    ) -> Option<LayerReply<R>> {
        let (answers, disposition) = (case.answers, &case.disposition);
        let mut counted = disposition.action();
        let made;
        let head = match disposition {
            Disposition::Pass
            | Disposition::Noted(_)
            | Disposition::Decided(Decision::Pass(_), _) => return None,
            Disposition::Decided(Decision::Serve(_), rule) if answers.page(*rule).is_some() => {
                return None;
            }
            // The rule has no page to serve.
            Disposition::Decided(Decision::Serve(_), _) => {
                counted = Action::Refuse;
                None
            }
            Disposition::Answer(answer) => Some(&answer.head),
            Disposition::Decided(Decision::Refuse(_), None) => Some(&answers.spoofed),
            Disposition::Decided(Decision::Refuse(_), rule) => answers.told(*rule),
            Disposition::Decided(Decision::Redirect(to), rule) => {
                answers.told(*rule).or_else(|| answers.redirect(to))
            }
            Disposition::Slow(rule, _) => answers.told(Some(rule)),
            Disposition::Violation(outcome) => {
                counted = Action::Refuse;
                made = Head::violation(outcome);
                answers.redirect_of(outcome).or(Some(&made))
            }
        };
        // `stats.robots` does not count human visitors.
        if visitor.is_none_or(|visitor| *visitor.claim != Claim::Person) {
            Stats::count(stats.robots.get(counted));
        }
        let mut own = None;
        if let (Disposition::Decided(Decision::Redirect(_), _), Some(head)) = (disposition, head) {
            let location = head.head.header(&LOCATION);
            own = self.own_page(request.uri(), location);
            if own.is_none() && head.has_no_body() {
                return Some(LayerReply::Ready(Arc::clone(&head.head)));
            }
        }
        let mut response = match head {
            Some(head) => head.response(request, bodies),
            // A request without a prepared response is refused.
            None => Head::forbidden().response(request, bodies),
        };
        if let Some(own) = own {
            response.headers_mut().insert(LOCATION, own);
        }
        if let Some(wait) = wait_of(disposition) {
            response.headers_mut().insert(RETRY_AFTER, seconds(wait));
        }
        // Ask unverified robots to sign their requests and retry.
        if visitor.is_none_or(|visitor| visitor.verdict != Verdict::Verified)
            && !response.status().is_redirection()
            && let Some(value) = self.accept_signature.as_ref().and_then(|find| find())
        {
            response.headers_mut().insert(ACCEPT_SIGNATURE, value);
        }
        Some(LayerReply::Now(Box::new(response)))
    }

    /// Returns the generated heaven page that replaces the location of a redirect, if one exists.
    fn own_page(&self, asked: &Uri, location: Option<&HeaderValue>) -> Option<HeaderValue> {
        let find = self.own_pages.as_ref()?;
        find(asked, location?)
    }

    pub(super) fn new(policy: &SharedPolicy) -> Self {
        Self {
            prepared: Arc::new(ArcSwap::from_pointee(Answers::new(policy))),
            own_pages: None,
            accept_signature: None,
        }
    }

    /// Returns the current policy with its response heads, for use during one request.
    pub(super) fn current(&self, policy: &SharedPolicy) -> Guard<Arc<Answers>> {
        let prepared = self.prepared.load();
        if prepared.version == policy.version() {
            return prepared;
        }
        // Two requests may create the heads concurrently; dropping one is cheaper than a lock.
        let answers = Arc::new(Answers::new(policy));
        self.prepared.store(Arc::clone(&answers));
        Guard::from_inner(answers)
    }
}

impl Answers {
    #[cold]
    fn new(policy: &SharedPolicy) -> Self {
        // Read the version first: if the policy is replaced before it is loaded, the next request
        // sees an old version and creates the heads again.
        let version = policy.version();
        let policy = Guard::into_inner(policy.load());
        Self {
            redirects: policy
                .redirects()
                .map(|to| Head::redirect(to, None))
                .collect(),
            rules: policy.rules().map(RuleAnswer::new).collect(),
            spoofed: Head::refuse(policy.spoofed_refusal(), None),
            policy,
            version,
        }
    }

    /// Returns the response head of a redirect if the redirect belongs to this policy.
    fn redirect(&self, redirect: &Redirect) -> Option<&Head> {
        let mut redirects = self.policy.redirects();
        let index = redirects.position(|known| ptr::eq(known, redirect))?;
        self.redirects.get(index)?.as_ref()
    }

    /// Returns the head of the redirect sent in response to a violation, if configured.
    fn redirect_of(&self, outcome: &CountedViolation) -> Option<&Head> {
        match outcome.answer {
            Answer::Redirect => self.redirect(self.policy.redirect()?),
            _ => None,
        }
    }

    /// Returns the response head of a rule.
    fn told(&self, rule: Option<&Rule>) -> Option<&Head> {
        match self.for_rule(rule)? {
            RuleAnswer::Answer(head) => Some(head),
            RuleAnswer::Nothing | RuleAnswer::Page(_) => None,
        }
    }

    /// Returns the heaven page that a rule serves directly.
    pub(super) fn page(&self, rule: Option<&Rule>) -> Option<&PathAndQuery> {
        match self.for_rule(rule)? {
            RuleAnswer::Page(page) => Some(page),
            RuleAnswer::Nothing | RuleAnswer::Answer(_) => None,
        }
    }

    fn for_rule(&self, rule: Option<&Rule>) -> Option<&RuleAnswer> {
        self.rules.get(rule?.index())
    }
}

impl RuleAnswer {
    fn new(rule: &Rule) -> Self {
        let given = rule.response_headers().map(|given| &**given);
        if let Some(refuse) = rule.refuse() {
            Self::Answer(Head::refuse(refuse, given))
        } else if let Some(limiter) = rule.rate_limiter() {
            Self::Answer(Head::rate_limited(limiter, given))
        } else if let (Some(redirect), Some(_)) = (rule.redirect(), given) {
            Head::redirect(redirect, given).map_or(Self::Nothing, Self::Answer)
        } else if let Some(page) = rule.served_page() {
            match PathAndQuery::try_from(page) {
                Ok(page) => Self::Page(page),
                // No valid policy has such a page; never show the requested page instead.
                Err(_) => Self::Answer(Head::forbidden()),
            }
        } else {
            Self::Nothing
        }
    }
}

/// Returns the duration after which the request may be retried.
fn wait_of(disposition: &Disposition<'_>) -> Option<Duration> {
    match disposition {
        Disposition::Slow(_, until) => Some(*until),
        Disposition::Violation(outcome) => match outcome.answer {
            Answer::TooManyRequests { retry_after } => Some(retry_after),
            _ => None,
        },
        _ => None,
    }
}
