//! The page that identifies the robot that sent a request and explains the decision on the request.

use askama::Template;
use axum::{
    extract::State,
    http::{self, HeaderMap, HeaderName, HeaderValue, header::USER_AGENT},
    response::Response,
};
use serde::Deserialize;

use super::{
    fields::Params,
    page::{Page, html},
    problem::Problem,
    robot_links::link,
    sites::SelectedSite,
    state::AdminState,
};
use robot_detection_layer::policy::{Request, Sender, Visitor};
use robot_detection_layer::suspect::{Findings, Reason, Transport};
use robot_detection_operations::decisions::{ClaimView, DecisionView, Explanation};
use robot_detection_operations::filled;

/// Maximum length in bytes of each examined text, such as the User-Agent.
const MAX_BYTES: usize = 16 * 1024;
const DEFAULT_PATH: &str = "/members-only-stuff/";

#[derive(Template)]
#[template(path = "admin/identify.html")]
struct IdentifyPage {
    page: Page,
    of: SelectedSite,
    user_agent: String,
    path: String,
    method: String,
    host: String,
    headers: String,
    is_https: bool,
    answer: Option<Explanation>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct IdentifyParams {
    #[serde(default)]
    pub(super) user_agent: String,
    #[serde(default)]
    pub(super) path: String,
    /// HTTP method of the request; `GET` by default.
    #[serde(default)]
    pub(super) method: String,
    /// Host of the request; by default, the host of the page.
    #[serde(default)]
    pub(super) host: String,
    /// Request headers in their original order, one per line; empty if unknown.
    #[serde(default)]
    pub(super) headers: String,
    /// Whether the request was received over HTTPS.
    #[serde(default, deserialize_with = "filled")]
    pub(super) https: Option<bool>,
}

/// Findings that make a request suspicious; empty by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspicion {
    /// Findings about the browser that the request claims to come from.
    findings: Findings,
    /// Reason why the suspect would not be served a copy of the page.
    no_copy: Option<&'static str>,
}

/// Shows the form and, for a submitted request, the result.
pub(super) async fn show(
    State(state): State<AdminState>,
    Params(question): Params<IdentifyParams>,
    of: SelectedSite,
    page: Page,
) -> Result<Response, Problem> {
    // An empty User-Agent can also be submitted, which the field's value alone does not show.
    let has_asked = page.location.local.contains("user_agent=");
    let answer = if has_asked {
        Some(answer(&state, &question, &of)?)
    } else {
        None
    };
    let path = match &answer {
        Some(answer) => answer.path.clone(),
        None => target_of(&question.path).to_owned(),
    };
    Ok(html(&IdentifyPage {
        page,
        of,
        is_https: question.https.unwrap_or_default(),
        headers: question.headers,
        method: method_of(&question.method),
        user_agent: question.user_agent,
        host: question.host,
        path,
        answer,
    }))
}

/// Queries the detector and the policy in the same way as the layer.
pub(super) fn answer(
    state: &AdminState,
    question: &IdentifyParams,
    of: &SelectedSite,
) -> Result<Explanation, Problem> {
    let headers = headers_of(question)?;
    let user_agent = user_agent_of(question, &headers);
    let method = method_of(&question.method);
    let target = target_of(&question.path);
    let detector = state.operations().detector.load();
    let claim = detector.claim(user_agent.as_bytes());
    let request = Request::for_target(&method, of.host.as_deref(), target);
    let mut sender = Sender {
        address: None,
        headers: Some(&headers),
        ..Sender::default()
    };
    let policy = of.policy.load();
    let mut suspicion = Suspicion::default();
    if claim.is_none() && !question.headers.trim().is_empty() {
        suspicion = suspicion_of(state, of, (&method, target), &headers, question);
        let reasons = suspicion.findings.reasons;
        if reasons.is_suspect() && !policy.passes(&request, Visitor::person(sender)) {
            sender.reasons = reasons;
        }
    }
    let is_judged = policy.has_rules_for_people() || !sender.reasons.is_empty();
    let visitor = match &claim {
        Some(claim) => Some(Visitor::from(claim).with_sender(sender)),
        None => is_judged.then(|| Visitor::person(sender)),
    };
    let agent = user_agent.as_bytes();
    Ok(Explanation {
        line: None,
        decided: decide(of, &request, target, visitor, agent, &suspicion),
        claim: claim.map(|claim| ClaimView::new(&claim, agent)),
        path: target.to_owned(),
        host: of.host.clone(),
        method,
        user_agent,
    })
}

/// Queries the policy and robots.txt in the same way as the layer; `target` is the path and query.
pub(super) fn decide(
    of: &SelectedSite,
    request: &Request<'_>,
    target: &str,
    visitor: Option<Visitor<'_>>,
    user_agent: &[u8],
    suspicion: &Suspicion,
) -> DecisionView {
    let policy = of.policy.load();
    let explained = of
        .enforcer
        .explain_all(&policy, request, target, visitor, user_agent);
    let mut explained = explained.suspicion(&suspicion.findings);
    let mut answered_by = None;
    if let Some(site) = &of.site {
        let own = explained.with_heaven_page(|to| (site.own_pages)(target, to));
        explained = own.with_heaven_copy(suspicion.no_copy);
        // The layer itself responds to requests that are refused or redirected.
        if explained.passes() {
            answered_by = (site.answers)(request, target);
        }
    }
    DecisionView::new(explained, answered_by)
}

/// Returns the findings about the browser that a request claims to come from, if browsers are
/// checked.
fn suspicion_of(
    state: &AdminState,
    of: &SelectedSite,
    (method, target): (&str, &str),
    headers: &HeaderMap,
    question: &IdentifyParams,
) -> Suspicion {
    let asked = http::Request::builder().method(method).uri(target);
    // A request with an invalid method or target could never have been received.
    let (Some(site), Ok(mut asked)) = (&of.site, asked.body(())) else {
        return Suspicion::default();
    };
    let Some(coherence) = &site.suspects else {
        return Suspicion::default();
    };
    asked.headers_mut().clone_from(headers);
    let transport = Transport {
        is_https: question.https.unwrap_or_default(),
        is_direct: true,
        ..Transport::default()
    };
    let mut findings = coherence.explain(&asked, transport);
    let fleets = state.operations().traffic.suspicion();
    if fleets.is_some_and(|fleets| fleets.has_matching_fleet(headers, asked.version())) {
        findings.reasons = findings.reasons.with(Reason::Fleet);
        let seen = "the User-Agent and the fingerprint of a fleet".to_owned();
        findings.seen.push((Reason::Fleet, seen));
    }
    Suspicion {
        findings,
        no_copy: (site.no_copy)(&asked),
    }
}

/// Returns the User-Agent from the `user_agent` field or, if this field is empty, from the headers.
fn user_agent_of(question: &IdentifyParams, headers: &HeaderMap) -> String {
    match headers.get(USER_AGENT) {
        Some(told) if question.user_agent.is_empty() => {
            String::from_utf8_lossy(told.as_bytes()).into_owned()
        }
        _ => question.user_agent.clone(),
    }
}

/// Returns the submitted headers, including the User-Agent.
fn headers_of(question: &IdentifyParams) -> Result<HeaderMap, Problem> {
    let IdentifyParams {
        user_agent,
        path,
        method,
        host,
        headers,
        ..
    } = question;
    let texts = [user_agent, path, method, host, headers];
    if texts.iter().any(|text| text.len() > MAX_BYTES) {
        return Err(Problem::invalid(
            "User-Agent, path, method, host and headers are limited to 16 KiB each.",
        ));
    }
    let mut headers = HeaderMap::new();
    let typed = &question.user_agent;
    // The User-Agent is added first, because at least one browser sends it first.
    if let (false, Ok(user_agent)) = (typed.is_empty(), HeaderValue::from_bytes(typed.as_bytes())) {
        headers.insert(USER_AGENT, user_agent);
    }
    let lines = question.headers.lines().map(str::trim);
    // A copied request head may still contain its request line, which is skipped.
    let is_header = |line: &&str| !line.is_empty() && !line.contains(" HTTP/");
    for line in lines.filter(is_header) {
        let read = line.split_once(':').and_then(|(name, value)| {
            let name = name.trim().parse::<HeaderName>().ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        });
        let (name, value) = read.ok_or_else(|| {
            Problem::invalid(format!(
                "{line:?} is not a header; enter one header per line, such as Accept-Language: de"
            ))
        })?;
        if name != USER_AGENT || typed.is_empty() {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

impl IdentifyPage {
    /// Returns the part of the User-Agent that the pattern matched, and the parts before and after
    /// it.
    fn parts(answer: &Explanation, claim: &ClaimView) -> (String, String, String) {
        cut(&answer.user_agent, claim.start, claim.end)
    }

    /// Returns the link to the page about the claimed robot.
    fn link(claim: &ClaimView) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        link(&text(&claim.source), &text(&claim.robot))
    }
}

/// Splits a text into three parts; positions inside a character or beyond the end are allowed.
fn cut(text: &str, start: usize, end: usize) -> (String, String, String) {
    let bytes = text.as_bytes();
    let end = end.min(bytes.len());
    let start = start.min(end);
    let (head, after) = bytes.split_at(end);
    let (before, matched) = head.split_at(start);
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(before), text(matched), text(after))
}

/// Returns the HTTP method in upper case; `GET` if the text is empty.
fn method_of(typed: &str) -> String {
    match typed.trim() {
        "" => "GET".to_owned(),
        method => method.to_ascii_uppercase(),
    }
}

/// Returns the path and query from a path or URL.
fn target_of(typed: &str) -> &str {
    let typed = typed.trim();
    let local = match typed.split_once("://") {
        Some(("http" | "https", rest)) => {
            rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
        }
        _ => typed,
    };
    match local.split('#').next().unwrap_or_default() {
        "" => DEFAULT_PATH,
        target => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_or_full_url_is_accepted() {
        assert_eq!(target_of("/a/b?x=1#y"), "/a/b?x=1");
        assert_eq!(target_of(" https://example.com/a?b "), "/a?b");
        assert_eq!(target_of("https://example.com"), "/");
        assert_eq!(target_of("//a"), "//a");
        assert_eq!(target_of(""), DEFAULT_PATH);
    }

    #[test]
    fn match_is_cut_out() {
        let parts = cut("Mozilla (Foo/1)", 9, 12);
        assert_eq!(
            parts,
            ("Mozilla (".to_owned(), "Foo".to_owned(), "/1)".to_owned())
        );
        let beyond = cut("abc", 2, 99);
        assert_eq!(beyond, ("ab".to_owned(), "c".to_owned(), String::new()));
        assert_eq!(cut("é", 1, 1).1, "");
    }
}
