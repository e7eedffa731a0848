//! What is told of a request beside its outcome, to show it later.

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
use crate::policy::{Action, CountedBreach, visible};

use super::header;

/// Characters of a path, of a User-Agent, and of a name that are told.
const MAX_PATH_CHARS: usize = 500;
const MAX_USER_AGENT_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 100;

/// Request as it came, without its query, cookies and body; what is not visible is escaped.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Visit {
    /// When it came, in milliseconds since 1970.
    pub at_ms: i64,
    /// Method.
    pub method: Box<str>,
    /// Host that was asked for, in lower case; empty where none was named.
    pub host: Box<str>,
    /// Path, cut when long.
    pub path: Box<str>,
    /// User-Agent, cut when long; several headers are joined by commas.
    pub user_agent: Box<str>,
    /// Host of the page that led there; empty where none is named.
    pub referrer: Box<str>,
    /// Address of the client, where it is known.
    pub address: Option<IpAddr>,
    /// What was found of the claim, where it is contradicted or still to be proven.
    pub proof: Option<ClaimProof>,
    /// What the request broke of robots.txt, whether that was answered or only noted.
    pub breach: Option<CountedBreach>,
}

/// Finding on one claim, which may come after the request was answered; clones share it.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{detect::Verdict, layer::ClaimProof};
///
/// let proof = ClaimProof::default();
/// assert_eq!(proof.verdict(), None);
/// proof.end(Verdict::Spoofed, "192.0.2.7 is nobody's");
/// assert_eq!(proof.verdict(), Some(Verdict::Spoofed));
/// assert_eq!(proof.evidence(), "192.0.2.7 is nobody's");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimProof {
    found: Arc<OnceLock<(Verdict, Box<str>)>>,
}

/// Switch that tells layers which visits to describe in their outcomes; clones share it.
///
/// By default none is described, so that requests cost nothing.
#[derive(Clone, Debug, Default)]
pub struct VisitSwitch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Which visits are described, and bits of the reasons that are on hold.
    wanted: AtomicU32,
    /// Visits that were not described because of that.
    held: AtomicU64,
}

/// Why a visit is noteworthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Noteworthy {
    /// It broke a rule of robots.txt.
    Violation,
    /// It claims to be a robot that it is not, or that is not proven yet.
    Impostor,
    /// It is in a trap, which breaks no rule that it is held to.
    Trap,
    /// It comes from a suspect, and passed.
    Suspect,
    /// It did not simply pass.
    Action(Action),
}

impl VisitSwitch {
    const NOTEWORTHY: u32 = 1;
    const ALL: u32 = 2;

    /// Sets whether visits are described that did not simply pass, or that are worth a proof.
    ///
    /// These are redirects, pages in place, refusals and waits, done or noted, impostors,
    /// claims to be proven still, violations of robots.txt, and suspects.
    pub fn describe_noteworthy(&self, describe: bool) {
        self.set(Self::NOTEWORTHY, describe);
    }

    /// Sets whether all robots' visits are described.
    pub fn describe_all(&self, describe: bool) {
        self.set(Self::ALL, describe);
    }

    /// Describes no more visits that are noteworthy for one reason, until [`resume`](Self::resume).
    ///
    /// For whoever has enough of them: to describe a visit costs more than to redirect it.
    pub fn hold(&self, reason: Noteworthy) {
        self.set(reason.bit(), true);
    }

    /// Describes visits again, whatever they are noteworthy for.
    pub fn resume(&self) {
        let whole = Self::NOTEWORTHY | Self::ALL;
        self.shared.wanted.fetch_and(whole, Relaxed);
    }

    /// Returns how many noteworthy visits were not described because they were on hold.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.shared.held.load(Relaxed)
    }

    pub(super) fn wants(&self, reason: Option<Noteworthy>) -> bool {
        let wanted = self.shared.wanted.load(Relaxed);
        if wanted & Self::ALL != 0 {
            return true;
        }
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
    /// Returns the reason why a visit is noteworthy, if it is.
    #[must_use]
    pub fn of(action: Action, verdict: Option<Verdict>, is_violation: bool) -> Option<Self> {
        match verdict {
            _ if is_violation => Some(Self::Violation),
            Some(Verdict::Spoofed | Verdict::Pending) => Some(Self::Impostor),
            _ => (action != Action::Pass).then_some(Self::Action(action)),
        }
    }

    /// Returns a bit above those of the switch.
    fn bit(self) -> u32 {
        match self {
            Self::Violation => 1 << 2,
            Self::Impostor => 1 << 3,
            Self::Trap => 1 << 4,
            Self::Suspect => 1 << 5,
            Self::Action(action) => 1 << (6 + action as u32),
        }
    }
}

impl ClaimProof {
    /// Creates one that has ended.
    #[must_use]
    pub fn ended(verdict: Verdict, evidence: &str) -> Self {
        let proof = Self::default();
        proof.end(verdict, evidence);
        proof
    }

    /// Notes what was found; a second finding changes nothing.
    pub fn end(&self, verdict: Verdict, evidence: &str) {
        self.found.get_or_init(|| (verdict, evidence.into()));
    }

    /// Returns the verdict; `None` while the proof is under way, and where it was given up.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.found.get().map(|(verdict, _)| *verdict)
    }

    /// Returns what contradicts the claim, where something does.
    #[must_use]
    pub fn evidence(&self) -> &str {
        self.found.get().map_or("", |(_, evidence)| evidence)
    }
}

impl Visit {
    /// Creates the description of a request that came at a time in milliseconds since 1970.
    #[must_use]
    pub fn of<B>(request: &Request<B>, address: Option<IpAddr>, at_ms: i64) -> Self {
        // Userinfo may hold a password (RFC 3986 §3.2.1).
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

/// Returns the host alone: paths and queries of other sites are nobody's business.
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
    fn a_visit_has_neither_query_nor_cookies_nor_more_of_a_referrer_than_its_host() {
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
    fn a_visit_is_bounded() {
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
    fn a_visit_is_described_where_somebody_wants_it() {
        let passing = Noteworthy::of(Action::Pass, Some(Verdict::Verified), false);
        let pending = Noteworthy::of(Action::Pass, Some(Verdict::Pending), false);
        let slowed = Noteworthy::of(Action::Slow, Some(Verdict::Verified), false);
        let switch = VisitSwitch::default();
        let wanted = || [passing, pending, slowed].map(|reason| switch.wants(reason));
        assert_eq!(wanted(), [false; 3]);
        switch.describe_noteworthy(true);
        assert_eq!(wanted(), [false, true, true]);
        switch.describe_all(true);
        assert_eq!(wanted(), [true; 3]);
        switch.describe_all(false);
        switch.hold(Noteworthy::Action(Action::Slow));
        assert_eq!(wanted(), [false, true, false]);
        assert_eq!(switch.held(), 1);
        switch.resume();
        assert_eq!(wanted(), [false, true, true]);
        assert_eq!(switch.held(), 1);
    }
}
