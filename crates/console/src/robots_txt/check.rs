//! The tester, which checks whether a robot may fetch a URL and explains the decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    identify::{Suspicion, decide},
    problem::Problem,
    sites::SelectedSite,
    state::AdminState,
};
use super::violations::seconds;
use robot_detection_layer::detect::{Claim, Detector, Listed};
use robot_detection_layer::policy::{Enforcer, Request};
use robot_detection_operations::{decisions::DecisionView, preferences::PreferencesView};
use robot_detection_robots_txt::{RobotRules, RobotsTxt};
use robot_detection_site_robot::licensing::PageSources;

/// Maximum length in bytes of the robot, URL or host to check.
const MAX_BYTES: usize = 16 * 1024;

#[derive(Clone, Debug, Default, Deserialize)]
pub(in super::super) struct CheckParams {
    /// Robot to check, specified by its ID, its product token or a full User-Agent.
    #[serde(default)]
    pub(super) robot: String,
    /// Path or absolute URL to check.
    #[serde(default)]
    pub(super) url: String,
    /// Host to check if the URL is only a path; ignored if the URL is absolute.
    #[serde(default)]
    pub(super) host: String,
}

/// The verdict of robots.txt, and the decision on the request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(in super::super) struct CheckResult {
    pub(super) robot: String,
    /// Sentence about the robot that the entered text identifies.
    #[serde(rename = "identified_as")]
    pub(super) taken_for: String,
    pub(super) host: Option<String>,
    /// URL path that was checked, including the query.
    pub(super) url: String,
    /// Verdict of robots.txt; `None` if no robots.txt applies.
    pub(super) robots_txt: Option<VerdictView>,
    /// Preferences about the use of the page, from robots.txt and the headers of all its visitors.
    pub(super) preferences: PreferencesView,
    #[serde(flatten)]
    pub(super) decided: DecisionView,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotsTxtResult")]
pub(in super::super) struct VerdictView {
    pub(super) allowed: bool,
    /// Line number of the rule that determines the verdict.
    pub(super) line: Option<usize>,
    pub(super) rule: Option<String>,
    /// Line number at which the group that contains the determining rule starts.
    pub(super) group_line: Option<usize>,
    /// Whether no group names the robot, so that the `*` group applies (RFC 9309 §2.2.1).
    pub(super) is_fallback: bool,
    pub(super) crawl_delay_seconds: Option<f64>,
}

/// The robot that the entered text identifies.
enum RobotName<'d> {
    Claim(Claim<'d>),
    /// A name that is not the name of a known robot; it is looked up in robots.txt.
    Name,
}

/// Checks a URL against the robots.txt in force, and makes the decision as for a visitor's request.
pub(super) fn check(
    state: &AdminState,
    question: &CheckParams,
    of: &SelectedSite,
) -> Result<CheckResult, Problem> {
    let lengths = [&question.robot, &question.url, &question.host].map(String::len);
    if lengths.iter().any(|&length| length > MAX_BYTES) {
        return Err(Problem::invalid(
            "Robot, URL and host are limited to 16 KiB each.",
        ));
    }
    let robot = question.robot.trim();
    let (host, target) = host_and_target(question);
    let host = host.or(of.host.as_deref());
    let detector = state.operations().detector.load();
    let who = RobotName::new(&detector, robot);
    let request = Request::for_target("GET", host, &target);
    let files = of.enforcer.files().load();
    let file = files.get(host);
    let policy = of.policy.load();
    let tags = policy.tags(&request, None).rules;
    let lines = tags.iter().flat_map(|tag| tag.response_headers().iter());
    let sources = PageSources {
        robots_txt: file,
        headers: lines
            .filter_map(|(name, value)| Some(("", name.as_str(), value.to_str().ok()?)))
            .collect(),
        ..PageSources::default()
    };
    Ok(CheckResult {
        preferences: PreferencesView::new(&sources, who.token(robot), &target),
        robot: robot.to_owned(),
        taken_for: who.sentence(),
        host: host.map(str::to_owned),
        url: target.clone(),
        robots_txt: file.map(|file| VerdictView::new(&who.rules(file, robot), &target)),
        decided: decide(
            of,
            &request,
            &target,
            match &who {
                RobotName::Claim(claim) => Some(claim.into()),
                RobotName::Name => None,
            },
            robot.as_bytes(),
            &Suspicion::default(),
        ),
    })
}

impl<'d> RobotName<'d> {
    /// Interprets a text as an ID or, if no robot has this ID, as a product token, and finally as a
    /// User-Agent.
    fn new(detector: &'d Detector, text: &str) -> Self {
        let robots = detector.robots().iter();
        let named = robots
            .clone()
            .find(|robot| robot.id.eq_ignore_ascii_case(text))
            .or_else(|| {
                let mut robots = robots.clone();
                robots.find(|robot| {
                    let token = robot.product_token.as_deref();
                    token.is_some_and(|token| token.eq_ignore_ascii_case(text))
                })
            });
        // A robot without patterns is never detected, so its text is interpreted as a User-Agent.
        if let Some(robot) = named
            && let Some(pattern) = robot.patterns.first()
        {
            let range = 0..text.len();
            return Self::Claim(Claim::Listed(Listed {
                robot,
                pattern: Some(pattern),
                range,
            }));
        }
        let claim = detector.identify(text.as_bytes());
        claim.map_or(Self::Name, Self::Claim)
    }

    fn rules(&self, file: &RobotsTxt, text: &str) -> RobotRules {
        match self {
            Self::Claim(claim) => Enforcer::rules_for_claim(file, claim, text.as_bytes()),
            Self::Name if text.contains([' ', '/']) => file.for_header(text),
            Self::Name => file.for_robot(text),
        }
    }

    /// Returns the robot's name in robots.txt.
    fn token<'t>(&'t self, text: &'t str) -> &'t str {
        let Self::Claim(claim) = self else {
            return text;
        };
        let token = claim
            .robot()
            .and_then(|robot| robot.product_token.as_deref());
        token.unwrap_or(text)
    }

    fn sentence(&self) -> String {
        match self {
            Self::Claim(Claim::Listed(listed)) => {
                let robot = &listed.robot;
                let id = &robot.id;
                match robot.token() {
                    Ok(token) if token.is_published() => format!(
                        "Robot {id}, named {} in robots.txt.",
                        token.as_str()
                    ),
                    Ok(token) => format!(
                        "Robot {id}; no registry lists its product token for robots.txt, so the name {} is used.",
                        token.as_str()
                    ),
                    Err(_) => format!("Robot {id}, which has no name in robots.txt."),
                }
            }
            Self::Claim(Claim::Unlisted(_) | Claim::Signed(_)) => {
                "Unlisted robot; robots.txt is searched for the names in its User-Agent."
                    .to_owned()
            }
            Self::Claim(Claim::Nameless | Claim::Shared(_) | Claim::Person) | Self::Name => {
                "No known robot. A visitor with this User-Agent is treated as a person; robots.txt is checked for this name."
                    .to_owned()
            }
        }
    }
}

impl VerdictView {
    fn new(rules: &RobotRules, target: &str) -> Self {
        let verdict = rules.check(target);
        Self {
            allowed: verdict.allowed(),
            line: verdict.rule().map(|rule| rule.line()),
            rule: verdict.rule().map(|rule| rule.to_string()),
            group_line: verdict.group_line(),
            is_fallback: verdict.is_fallback(),
            crawl_delay_seconds: seconds(rules.crawl_delay()),
        }
    }
}

/// Returns the host, if one was entered, and the path with its query.
fn host_and_target(question: &CheckParams) -> (Option<&str>, String) {
    let typed = question.url.trim();
    let typed = typed.split('#').next().unwrap_or_default();
    let host = Some(question.host.trim()).filter(|host| !host.is_empty());
    let (host, target) = match typed.split_once("://") {
        Some(("http" | "https", rest)) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
            // A user name and password before the host are not part of the host (RFC 3986 §3.2.1).
            let typed = authority.rsplit_once('@');
            (Some(typed.map_or(authority, |(_, host)| host)), target)
        }
        _ => (host, typed),
    };
    let slash = if target.starts_with('/') { "" } else { "/" };
    (host, format!("{slash}{target}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_or_full_url_is_accepted() {
        for (url, host, expected) in [
            ("/a?b=c#d", "", (None, "/a?b=c")),
            ("a", "x.example", (Some("x.example"), "/a")),
            (
                "https://u@y.example:81/a?b",
                "x",
                (Some("y.example:81"), "/a?b"),
            ),
            ("http://y.example?b", "", (Some("y.example"), "/?b")),
            (" http://y.example ", "", (Some("y.example"), "/")),
            (
                "/?to=http://z.example/",
                "x",
                (Some("x"), "/?to=http://z.example/"),
            ),
            ("", "", (None, "/")),
        ] {
            let question = CheckParams {
                url: url.to_owned(),
                host: host.to_owned(),
                ..CheckParams::default()
            };
            let (host, target) = host_and_target(&question);
            assert_eq!((host, &*target), expected, "{url:?}");
        }
    }
}
