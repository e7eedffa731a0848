//! The page that identifies the robot of a User-Agent, and shows the decision on its request.

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header::USER_AGENT},
    response::Response,
};
use serde::{Deserialize, Serialize};

use super::{
    decision_view::DecisionView,
    fields::Params,
    page::{Page, html},
    problem::Problem,
    robot_view::link,
    sites::SelectedSite,
    sources::title,
    state::AdminState,
};
use crate::detect::{Claim, Listed};
use crate::policy::{Request, Sender, Visitor};

/// Longest User-Agent and path that are examined.
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
    answer: Option<Identification>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct IdentifyParams {
    #[serde(default)]
    pub(super) user_agent: String,
    #[serde(default)]
    pub(super) path: String,
    /// GET by default.
    #[serde(default)]
    pub(super) method: String,
    /// Host that is asked for; by default that of the page.
    #[serde(default)]
    pub(super) host: String,
}

/// Robot that a User-Agent names, and what the policy does with it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Identification {
    pub(super) user_agent: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) robot: Option<ClaimView>,
    /// Verdict on the robot's claim.
    pub(super) verdict: Option<&'static str>,
    #[serde(flatten)]
    pub(super) decided: DecisionView,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ClaimView {
    /// Id of the robot; `shared` for a User-Agent that many people share.
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) purpose: &'static str,
    /// Evidence in its User-Agent: a pattern, or the sign of an unlisted robot.
    pub(super) evidence: String,
    /// Facts of the registry; `None` for an unlisted robot.
    #[serde(flatten)]
    pub(super) listed: Option<ListedView>,
    /// Range of the match in bytes, the end exclusive.
    pub(super) start: usize,
    pub(super) end: usize,
    #[serde(skip)]
    pub(super) before: String,
    #[serde(skip)]
    pub(super) matched: String,
    #[serde(skip)]
    pub(super) after: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ListedView {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) source_title: String,
    pub(super) operator: Option<String>,
    pub(super) pattern_kind: &'static str,
    /// Empty where no pattern matched.
    pub(super) pattern: String,
    #[serde(skip)]
    pub(super) link: String,
}

/// Shows the form, and the answer to what was asked.
pub(super) async fn show(
    State(state): State<AdminState>,
    Params(question): Params<IdentifyParams>,
    of: SelectedSite,
    page: Page,
) -> Result<Response, Problem> {
    // An empty User-Agent is a question too, and by its value alone not told from none.
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
        method: method_of(&question.method),
        user_agent: question.user_agent,
        host: question.host,
        path,
        answer,
    }))
}

/// Asks the detector and the policy, as the layer does.
pub(super) fn answer(
    state: &AdminState,
    question: &IdentifyParams,
    of: &SelectedSite,
) -> Result<Identification, Problem> {
    let IdentifyParams {
        user_agent,
        path,
        method,
        host,
    } = question;
    let texts = [user_agent, path, method, host];
    if texts.iter().any(|text| text.len() > MAX_BYTES) {
        return Err(Problem::invalid(
            "User-Agent, path, method and host may have 16 KiB each.",
        ));
    }
    let method = method_of(method);
    let target = target_of(&question.path);
    let path = target.split('?').next().unwrap_or_default();
    let detector = state.admin().detector.load();
    let claim = detector.claim(question.user_agent.as_bytes());
    let request = Request {
        method: &method,
        host: of.host.as_deref(),
        path,
    };
    let user_agent = question.user_agent.as_bytes();
    let mut headers = HeaderMap::new();
    if let Ok(user_agent) = HeaderValue::from_bytes(user_agent) {
        headers.insert(USER_AGENT, user_agent);
    }
    let sender = Sender {
        address: None,
        headers: Some(&headers),
        ..Sender::default()
    };
    let visitor = match &claim {
        Some(claim) => Some(Visitor::from(claim).sent_by(sender)),
        None => of
            .policy
            .load()
            .judges_people()
            .then(|| Visitor::person(sender)),
    };
    let decided = DecisionView::new(of, &request, target, visitor, user_agent);
    Ok(Identification {
        user_agent: question.user_agent.clone(),
        path: target.to_owned(),
        verdict: decided.verdict,
        decided,
        method,
        robot: claim.map(|claim| ClaimView::new(&claim, &question.user_agent)),
    })
}

impl ClaimView {
    fn new(claim: &Claim<'_>, user_agent: &str) -> Self {
        let range = claim.range();
        let (before, matched, after) = cut(user_agent, range.start, range.end);
        Self {
            id: claim.id().to_owned(),
            kind: claim.kind().as_str(),
            purpose: claim.purpose().as_str(),
            evidence: claim.to_string(),
            listed: match claim {
                Claim::Listed(listed) | Claim::Shared(listed) => Some(ListedView::new(listed)),
                Claim::Unlisted(_) | Claim::Signed(_) | Claim::Nameless | Claim::Person => None,
            },
            start: range.start,
            end: range.end,
            before,
            matched,
            after,
        }
    }
}

impl ListedView {
    fn new(listed: &Listed<'_>) -> Self {
        let robot = listed.robot;
        Self {
            name: robot.name.clone(),
            source: robot.source.to_string(),
            source_title: title(&robot.source),
            operator: robot.operator.clone(),
            pattern_kind: listed.pattern.map_or("", |pattern| pattern.kind.as_str()),
            pattern: listed
                .pattern
                .map_or_else(String::new, |pattern| pattern.text.clone()),
            link: link(robot.source.as_str(), &robot.id),
        }
    }
}

/// Splits text in three; positions inside a character or beyond the end are no error.
fn cut(text: &str, start: usize, end: usize) -> (String, String, String) {
    let bytes = text.as_bytes();
    let end = end.min(bytes.len());
    let start = start.min(end);
    let (head, after) = bytes.split_at(end);
    let (before, matched) = head.split_at(start);
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(before), text(matched), text(after))
}

/// Returns the method that was typed, as requests spell it.
fn method_of(typed: &str) -> String {
    match typed.trim() {
        "" => "GET".to_owned(),
        method => method.to_ascii_uppercase(),
    }
}

/// Returns path and query of what was typed: a path, or a whole URL.
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
    fn a_path_or_a_whole_url_may_be_typed() {
        assert_eq!(target_of("/a/b?x=1#y"), "/a/b?x=1");
        assert_eq!(target_of(" https://example.com/a?b "), "/a?b");
        assert_eq!(target_of("https://example.com"), "/");
        assert_eq!(target_of("//a"), "//a");
        assert_eq!(target_of(""), DEFAULT_PATH);
    }

    #[test]
    fn the_match_is_cut_out() {
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
