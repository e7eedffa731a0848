//! Descriptions of requests that outcomes contain for later display.

use std::{
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use http::{
    HeaderMap, Request, Uri,
    header::{REFERER, USER_AGENT},
};

use crate::detect::Verdict;
use crate::policy::{Action, CountedViolation, visible};

use super::header;

/// Maximum number of characters of a path, of a User-Agent, and of other names in the description
/// of a visit.
const MAX_PATH_CHARS: usize = 500;
const MAX_USER_AGENT_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 100;

/// A request as received, without the query, cookies and body; invisible characters are escaped.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Visit {
    /// The time of the request, in milliseconds since 1970.
    pub at_ms: i64,
    /// The request's method, truncated if too long.
    pub method: Box<str>,
    /// The requested host in lower case; empty if the request has no host.
    pub host: Box<str>,
    /// The request's path, truncated if too long.
    pub path: Box<str>,
    /// The User-Agent, truncated if too long; several headers are joined by commas.
    pub user_agent: Box<str>,
    /// The host of the referring page; empty if the request has no referrer.
    pub referrer: Box<str>,
    /// The client's address, if known.
    pub address: Option<IpAddr>,
    /// The result of the verification, if the claim is contradicted or not yet verified.
    pub proof: Option<ClaimProof>,
    /// The violation of robots.txt, whether refused or only logged.
    pub breach: Option<CountedViolation>,
}

/// The result of verifying one claim, which may arrive after the response; clones share the result.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{detect::Verdict, layer::ClaimProof};
///
/// let proof = ClaimProof::default();
/// assert_eq!(proof.verdict(), None);
/// proof.set_verdict(Verdict::Spoofed, "192.0.2.7 has no host name");
/// assert_eq!(proof.verdict(), Some(Verdict::Spoofed));
/// assert_eq!(proof.evidence(), "192.0.2.7 has no host name");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimProof {
    found: Arc<OnceLock<(Verdict, Box<str>)>>,
}

/// A switch that selects which visits layers describe in their outcomes; clones share the setting.
///
/// By default, no visits are described, so that requests have no overhead.
#[derive(Clone, Debug, Default)]
pub struct VisitSwitch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Bits for the visits to describe, and for the reasons that are on hold.
    wanted: AtomicU32,
    /// The number of visits that were not described because their reason was on hold.
    held: AtomicU64,
}

/// The reason why a visit is noteworthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Noteworthy {
    /// The request violated robots.txt.
    Violation,
    /// The claim is spoofed or not yet verified.
    Impostor,
    /// The request was for a trap, and violated no robots.txt rule that applies to the visitor.
    Trap,
    /// The request came from a suspect and was allowed to pass.
    Suspect,
    /// The decision was an action other than to pass the request.
    Action(Action),
}

impl VisitSwitch {
    const NOTEWORTHY: u32 = 1;

    /// Sets whether noteworthy visits are described in outcomes.
    ///
    /// Noteworthy visits are redirects, pages served directly, refusals and delays (applied or only
    /// logged), spoofed claims, claims that are not yet verified, violations of robots.txt, and
    /// requests from suspects.
    pub fn describe_noteworthy(&self, describe: bool) {
        self.set(Self::NOTEWORTHY, describe);
    }

    /// Stops describing visits with the given reason until [`resume`](Self::resume) is called.
    ///
    /// Use this after collecting enough of these visits: describing a visit costs more than
    /// redirecting it.
    pub fn pause(&self, reason: Noteworthy) {
        self.set(reason.bit(), true);
    }

    /// Resumes describing visits for all reasons that were put on hold.
    pub fn resume(&self) {
        self.shared.wanted.fetch_and(Self::NOTEWORTHY, Relaxed);
    }

    /// Returns the number of noteworthy visits that were not described because their reason was on
    /// hold.
    #[must_use]
    pub fn paused_count(&self) -> u64 {
        self.shared.held.load(Relaxed)
    }

    pub(super) fn wants(&self, reason: Option<Noteworthy>) -> bool {
        let wanted = self.shared.wanted.load(Relaxed);
        if wanted & Self::NOTEWORTHY == 0 {
            return false;
        }
        let Some(reason) = reason else {
            return false;
        };
        let is_held = wanted & reason.bit() != 0;
        self.shared.held.fetch_add(u64::from(is_held), Relaxed);
        !is_held
    }

    fn set(&self, bit: u32, is_set: bool) {
        if is_set {
            self.shared.wanted.fetch_or(bit, Relaxed);
        } else {
            self.shared.wanted.fetch_and(!bit, Relaxed);
        }
    }
}

impl Noteworthy {
    /// Returns the reason why a visit is noteworthy, if any.
    #[must_use]
    pub fn of(action: Action, verdict: Option<Verdict>, is_violation: bool) -> Option<Self> {
        match verdict {
            _ if is_violation => Some(Self::Violation),
            Some(Verdict::Spoofed | Verdict::Pending) => Some(Self::Impostor),
            _ => (action != Action::Pass).then_some(Self::Action(action)),
        }
    }

    /// Returns the bit that represents the reason, above the bit of the switch.
    fn bit(self) -> u32 {
        match self {
            Self::Violation => 1 << 1,
            Self::Impostor => 1 << 2,
            Self::Trap => 1 << 3,
            Self::Suspect => 1 << 4,
            Self::Action(action) => 1 << (5 + action as u32),
        }
    }
}

impl ClaimProof {
    /// Creates a completed verification result.
    #[must_use]
    pub fn with_verdict(verdict: Verdict, evidence: &str) -> Self {
        let proof = Self::default();
        proof.set_verdict(verdict, evidence);
        proof
    }

    /// Records the result of the verification; later calls have no effect.
    pub fn set_verdict(&self, verdict: Verdict, evidence: &str) {
        self.found.get_or_init(|| (verdict, evidence.into()));
    }

    /// Returns the verdict, or `None` if verification is still in progress or was abandoned.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.found.get().map(|(verdict, _)| *verdict)
    }

    /// Returns the evidence that contradicts the claim, or an empty text without such evidence.
    #[must_use]
    pub fn evidence(&self) -> &str {
        self.found.get().map_or("", |(_, evidence)| evidence)
    }
}

impl Visit {
    /// Creates the description of a request received at `at_ms` milliseconds since 1970.
    #[must_use]
    pub fn of<B>(request: &Request<B>, address: Option<IpAddr>, at_ms: i64) -> Self {
        // Userinfo may contain a password (RFC 3986 §3.2.1).
        let host = header::host(request).and_then(|host| host.rsplit('@').next());
        let host = host.unwrap_or_default();
        Self {
            at_ms,
            method: visible(request.method().as_str(), MAX_NAME_CHARS).into(),
            host: visible(&host.to_ascii_lowercase(), MAX_NAME_CHARS).into(),
            path: visible(request.uri().path(), MAX_PATH_CHARS).into(),
            user_agent: visible(&user_agent(request.headers()), MAX_USER_AGENT_CHARS).into(),
            referrer: visible(&referrer(request.headers()), MAX_NAME_CHARS).into(),
            address,
            proof: None,
            breach: None,
        }
    }
}

fn user_agent(headers: &HeaderMap) -> String {
    let values = headers.get_all(USER_AGENT).iter();
    let values: Vec<_> = values
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    values.join(", ")
}

/// Returns only the host of the referrer, because paths and queries of other sites are private.
fn referrer(headers: &HeaderMap) -> String {
    let value = headers.get(REFERER).and_then(|value| value.to_str().ok());
    let uri = value.and_then(|value| value.parse::<Uri>().ok());
    uri.and_then(|uri| uri.host().map(str::to_ascii_lowercase))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visit_has_no_query_no_cookies_and_only_the_host_of_the_referrer() {
        let request = Request::get("/a/b?secret=1")
            .header("host", "www.example.com")
            .header("cookie", "session=secret")
            .header("authorization", "Bearer secret")
            .header(
                "referer",
                "https://user:secret@Other.example:8443/secret?secret",
            )
            .header("user-agent", "ExampleBot/1.0 \u{202e}x".as_bytes())
            .body(())
            .unwrap();
        let visit = Visit::of(&request, None, 7);
        assert!(!format!("{visit:?}").contains("secret"), "{visit:?}");
        assert_eq!((&*visit.path, &*visit.host), ("/a/b", "www.example.com"));
        assert_eq!(&*visit.referrer, "other.example");
        assert_eq!(&*visit.user_agent, r"ExampleBot/1.0 \u{202e}x");
    }

    #[test]
    fn size_of_a_visit_is_bounded() {
        let long = "x".repeat(60_000);
        let request = Request::get(format!("/{long}"))
            .header("user-agent", &long)
            .header("host", &long)
            .body(())
            .unwrap();
        let visit = format!("{:?}", Visit::of(&request, None, 7));
        assert!(visit.len() < 1_500, "{}", visit.len());
    }

    #[test]
    fn visits_are_described_as_the_switch_selects() {
        let passing = Noteworthy::of(Action::Pass, Some(Verdict::Verified), false);
        let pending = Noteworthy::of(Action::Pass, Some(Verdict::Pending), false);
        let slowed = Noteworthy::of(Action::Slow, Some(Verdict::Verified), false);
        let switch = VisitSwitch::default();
        let wanted = || [passing, pending, slowed].map(|reason| switch.wants(reason));
        assert_eq!(wanted(), [false; 3]);
        switch.describe_noteworthy(true);
        assert_eq!(wanted(), [false, true, true]);
        switch.pause(Noteworthy::Action(Action::Slow));
        assert_eq!(wanted(), [false, true, false]);
        assert_eq!(switch.paused_count(), 1);
        switch.resume();
        assert_eq!(wanted(), [false, true, true]);
        assert_eq!(switch.paused_count(), 1);
    }
}
