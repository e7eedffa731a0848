//! Responses that the layer gives itself.

use std::{fmt, mem, ptr, sync::Arc, time::Duration};

use arc_swap::{ArcSwap, Guard};
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, VARY, WWW_AUTHENTICATE},
    uri::PathAndQuery,
};

use crate::detect::{Claim, Verdict};
use crate::policy::{
    self, Action, Answer, Decision, Policy, Redirect, Refuse, ResponseHeaders, Rule, SharedPolicy,
    Visitor,
};

use super::{
    Stats, body::RefusalBody, disposition::Disposition, in_place, layer::Shared,
    ready_head::ReadyHead, reply::Reply,
};

/// Time after which a refused robot may ask again, where the status is one of "not now".
const REFUSED_FOR: Duration = Duration::from_hours(24);

/// Time after which a robot whose signature was used before may come with another.
const SIGN_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What it is told.
const SIGN_AGAIN: &str = "The nonce of this signature was used before: sign the request anew.\n";

/// Header that asks for a signature (RFC 9421 §5.1).
const ACCEPT_SIGNATURE: HeaderName = HeaderName::from_static("accept-signature");

/// The policy in force with the heads of its answers, made once for each policy.
#[derive(Debug)]
pub(super) struct PreparedAnswers {
    prepared: ArcSwap<Answers>,
}

/// A policy, and the heads of its answers.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) policy: Arc<Policy>,
    /// That of the shared policy, just before it was read.
    version: u64,
    /// One for each of its redirects, in their order.
    redirects: Vec<Option<Head>>,
    /// One for each of its rules, in their order.
    rules: Vec<RuleAnswer>,
    /// What an impostor is told.
    spoofed: Head,
}

/// What is ready for a rule.
#[derive(Debug)]
enum RuleAnswer {
    /// Nothing, as it lets pass, or redirects as all do.
    Nothing,
    /// What whom it refuses or slows down is told, or redirects with headers of its own.
    Answer(Head),
    /// The page that it serves in place.
    Page(PathAndQuery),
}

/// Response but for its body.
#[derive(Debug)]
struct Head {
    head: Arc<ReadyHead>,
    text: String,
}

/// Returns the answer to a request that does not go on to the application.
///
/// It takes over the memory of the request's headers, which nobody reads any more.
pub(super) fn answer<B, R>(
    shared: &Shared,
    answers: &Answers,
    request: &mut Request<B>,
    disposition: &Disposition<'_>,
    visitor: Option<Visitor<'_>>,
    bodies: &impl RefusalBody<R>,
) -> Option<Reply<R>> {
    let mut counted = disposition.action();
    let made;
    let head = match disposition {
        Disposition::Pass | Disposition::Noted(_) | Disposition::Decided(Decision::Pass(_), _) => {
            return None;
        }
        Disposition::Canonical(to) => {
            made = Head::canonical(to.clone());
            Some(&made)
        }
        Disposition::Decided(Decision::Serve(_), rule) if answers.page(*rule).is_some() => {
            return None;
        }
        // There is no page to serve here.
        Disposition::Misplaced | Disposition::Decided(Decision::Serve(_), _) => {
            counted = Action::Refuse;
            None
        }
        Disposition::Decided(Decision::Refuse(_), None) => Some(&answers.spoofed),
        Disposition::Decided(Decision::Refuse(_), rule) => answers.told(*rule),
        Disposition::Decided(Decision::Redirect(to), rule) => {
            answers.told(*rule).or_else(|| answers.redirect(to))
        }
        // draft-ietf-webbotauth-httpsig-protocol §5.3: a nonce used too often is answered 429.
        Disposition::SignAgain => {
            made = Head::text(StatusCode::TOO_MANY_REQUESTS, SIGN_AGAIN.to_owned());
            Some(&made)
        }
        Disposition::Slow(rule, _) => answers.told(Some(rule)),
        Disposition::Violation(outcome) => {
            counted = Action::Refuse;
            made = Head::violation(outcome);
            answers.redirect_of(outcome).or(Some(&made))
        }
    };
    count(shared, visitor, counted);
    let mut own = None;
    if let (Disposition::Decided(Decision::Redirect(_), _), Some(head)) = (disposition, head) {
        own = shared
            .own_pages
            .find(request.uri(), head.head.header(&LOCATION));
        if own.is_none() && head.text.is_empty() {
            return Some(Reply::Ready(Arc::clone(&head.head)));
        }
    }
    let mut response = match head {
        Some(head) => head.response(request, bodies),
        // A request that is not to pass is refused.
        None => Head::forbidden().response(request, bodies),
    };
    if let Some(own) = own {
        response.headers_mut().insert(LOCATION, own);
    }
    if let Some(wait) = wait_of(disposition) {
        response.headers_mut().insert(RETRY_AFTER, seconds(wait));
    }
    ask_for_signature(shared, visitor, &mut response);
    Some(Reply::Now(Box::new(response)))
}

/// Returns the time after which the request may be sent again.
fn wait_of(disposition: &Disposition<'_>) -> Option<Duration> {
    match disposition {
        Disposition::SignAgain => Some(SIGN_AGAIN_AFTER),
        Disposition::Slow(_, until) => Some(*until),
        Disposition::Violation(outcome) => match outcome.answer {
            Answer::TooManyRequests { retry_after } => Some(retry_after),
            _ => None,
        },
        _ => None,
    }
}

/// Counts what is answered here; the statistics of the site are of robots.
fn count(shared: &Shared, visitor: Option<Visitor<'_>>, action: Action) {
    if visitor.is_none_or(|visitor| *visitor.claim != Claim::Person) {
        Stats::count(shared.stats.robots.of(action));
    }
}

/// Readies a request that goes on for what was decided.
///
/// Returns `true` if it asks for another page now, which is served in place.
pub(super) fn ready<B>(
    answers: &Answers,
    request: &mut Request<B>,
    disposition: &Disposition<'_>,
    is_suspect: bool,
) -> bool {
    let Disposition::Decided(Decision::Serve(_), rule) = disposition else {
        return false;
    };
    let page = answers.page(*rule);
    page.map(|page| in_place::ask_for(request, page, is_suspect))
        .is_some()
}

impl PreparedAnswers {
    pub(super) fn new(policy: &SharedPolicy) -> Self {
        Self {
            prepared: ArcSwap::from_pointee(Answers::new(policy)),
        }
    }

    /// Returns the policy in force with its answers, for one request.
    pub(super) fn in_force(&self, policy: &SharedPolicy) -> Guard<Arc<Answers>> {
        let prepared = self.prepared.load();
        if prepared.version == policy.version() {
            return prepared;
        }
        // Two requests may make them at once, and one is dropped: cheaper than a lock for all.
        let answers = Arc::new(Answers::new(policy));
        self.prepared.store(Arc::clone(&answers));
        Guard::from_inner(answers)
    }
}

impl Answers {
    #[cold]
    fn new(policy: &SharedPolicy) -> Self {
        // The version first: if the policy is replaced before it is read, the next request sees an
        // old version and makes the answers anew.
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

    /// Returns the head of a redirect, if it is one of this policy.
    fn redirect(&self, redirect: &Redirect) -> Option<&Head> {
        let mut redirects = self.policy.redirects();
        let index = redirects.position(|known| ptr::eq(known, redirect))?;
        self.redirects.get(index)?.as_ref()
    }

    /// Returns the head of the redirect that answers a violation, if one does.
    fn redirect_of(&self, outcome: &policy::CountedBreach) -> Option<&Head> {
        match outcome.answer {
            Answer::Redirect => self.redirect(self.policy.redirect()?),
            _ => None,
        }
    }

    /// Returns the head of what a rule tells a robot.
    fn told(&self, rule: Option<&Rule>) -> Option<&Head> {
        match self.of_rule(rule)? {
            RuleAnswer::Answer(head) => Some(head),
            RuleAnswer::Nothing | RuleAnswer::Page(_) => None,
        }
    }

    /// Returns the page that a rule serves in place.
    fn page(&self, rule: Option<&Rule>) -> Option<&PathAndQuery> {
        match self.of_rule(rule)? {
            RuleAnswer::Page(page) => Some(page),
            RuleAnswer::Nothing | RuleAnswer::Answer(_) => None,
        }
    }

    fn of_rule(&self, rule: Option<&Rule>) -> Option<&RuleAnswer> {
        self.rules.get(rule?.index())
    }
}

impl RuleAnswer {
    fn new(rule: &Rule) -> Self {
        let given = rule.response_headers().map(|given| &**given);
        if let Some(refuse) = rule.refuse() {
            Self::Answer(Head::refuse(refuse, given))
        } else if let Some(limiter) = rule.rate_limiter() {
            let headers = with(uncached(plain_text()), given);
            let status = StatusCode::TOO_MANY_REQUESTS;
            Self::Answer(Head::new(status, headers, limiter.text()))
        } else if let (Some(redirect), Some(_)) = (rule.redirect(), given) {
            Head::redirect(redirect, given).map_or(Self::Nothing, Self::Answer)
        } else if let Some(page) = rule.served() {
            match PathAndQuery::try_from(page) {
                Ok(page) => Self::Page(page),
                // No policy has such a page; the one that was asked for is not to be seen.
                Err(_) => Self::Answer(Head::forbidden()),
            }
        } else {
            Self::Nothing
        }
    }
}

impl Head {
    fn redirect(redirect: &Redirect, given: Option<&ResponseHeaders>) -> Option<Self> {
        let location = HeaderValue::try_from(&redirect.location).ok()?;
        let status = StatusCode::from_u16(redirect.status).ok()?;
        let headers = with(uncached((LOCATION, location)), given);
        Some(Self::new(status, headers, String::new()))
    }

    /// Returns the redirect to a page's canonical URL, which stays where it is.
    fn canonical(to: HeaderValue) -> Self {
        let headers = uncached((LOCATION, to));
        Self::new(StatusCode::MOVED_PERMANENTLY, headers, String::new())
    }

    fn refuse(refuse: &Refuse, given: Option<&ResponseHeaders>) -> Self {
        let status = StatusCode::from_u16(refuse.status).unwrap_or(StatusCode::FORBIDDEN);
        let mut headers = uncached(plain_text());
        match status {
            // RFC 9110 §15.5.2: it names a scheme.
            StatusCode::UNAUTHORIZED => {
                let challenge = HeaderValue::from_static("Basic realm=\"not for robots\"");
                headers.push((WWW_AUTHENTICATE, challenge));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.push((RETRY_AFTER, seconds(REFUSED_FOR)));
            }
            _ => {}
        }
        Self::new(status, with(headers, given), refuse.text.clone())
    }

    /// Returns the text that says which rule the robot broke; all of it is visible characters.
    fn violation(outcome: &policy::CountedBreach) -> Self {
        let status = match outcome.answer {
            Answer::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::FORBIDDEN,
        };
        let breach = &outcome.breach;
        let text = format!("This robot does not keep to /robots.txt: {breach}.\n");
        Self::text(status, text)
    }

    fn forbidden() -> Self {
        Self::text(StatusCode::FORBIDDEN, String::new())
    }

    /// Creates the head of an answer in plain text.
    fn text(status: StatusCode, text: String) -> Self {
        Self::new(status, uncached(plain_text()), text)
    }

    fn new(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>, text: String) -> Self {
        let head = Arc::new(ReadyHead::new(status, headers));
        Self { head, text }
    }

    /// Returns the response to a request; to HEAD it has no body.
    fn response<B, R>(
        &self,
        request: &mut Request<B>,
        bodies: &impl RefusalBody<R>,
    ) -> Response<R> {
        let body = if self.text.is_empty() || request.method() == Method::HEAD {
            bodies.empty()
        } else {
            bodies.body(self.text.clone())
        };
        self.head.response(body, mem::take(request.headers_mut()))
    }
}

/// Finds the `Accept-Signature` of a refusal; by default there is none.
#[derive(Clone, Default)]
pub(super) struct AcceptSignature {
    find: Option<Arc<dyn Fn() -> Option<HeaderValue> + Send + Sync>>,
}

impl AcceptSignature {
    pub(super) fn new(find: impl Fn() -> Option<HeaderValue> + Send + Sync + 'static) -> Self {
        let find = Some(Arc::new(find) as Arc<_>);
        Self { find }
    }

    /// Returns the value as of now.
    fn find(&self) -> Option<HeaderValue> {
        let find = self.find.as_ref()?;
        find()
    }
}

impl fmt::Debug for AcceptSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_there = self.find.is_some();
        f.debug_tuple("AcceptSignature").field(&is_there).finish()
    }
}

/// Asks an unverifiable robot to sign its request and send it again.
fn ask_for_signature<R>(shared: &Shared, visitor: Option<Visitor<'_>>, response: &mut Response<R>) {
    if visitor.is_none_or(|visitor| visitor.verdict != Verdict::Verified)
        && !response.status().is_redirection()
        && let Some(value) = shared.accept_signature.find()
    {
        response.headers_mut().insert(ACCEPT_SIGNATURE, value);
    }
}

/// A second that has begun is waited for to its end.
fn seconds(wait: Duration) -> HeaderValue {
    // With `Retry-After: 0` it would come back at once.
    let seconds = wait.as_micros().div_ceil(1_000_000).max(1);
    HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX))
}

fn plain_text() -> (HeaderName, HeaderValue) {
    let value = HeaderValue::from_static("text/plain; charset=utf-8");
    (CONTENT_TYPE, value)
}

/// Adds the headers that a rule gives; what it says itself is not said otherwise.
fn with(
    mut headers: Vec<(HeaderName, HeaderValue)>,
    given: Option<&ResponseHeaders>,
) -> Vec<(HeaderName, HeaderValue)> {
    if let Some(given) = given {
        headers.retain(|(name, _)| !given.has(name));
        let lines = given.iter();
        headers.extend(lines.map(|(name, value)| (name.clone(), value.clone())));
    }
    headers
}

fn uncached(first: (HeaderName, HeaderValue)) -> Vec<(HeaderName, HeaderValue)> {
    // No cache may give a person what a robot was told.
    vec![
        first,
        (VARY, HeaderValue::from_static("User-Agent")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]
}
