//! robots.txt files of the hosts that are visited.

use std::{borrow::Cow, net::IpAddr, time::Duration};

use url::Url;

use crate::document::resolve;
use robot_detection_robots_txt::{
    Access, Dialect, HostUse, MAX_FILE_BYTES, RobotRules, RobotsTxt, parsed_part,
};
use robot_detection_store::store::RobotsTxtCopy;

use super::{
    Rejection, Step,
    robots_copy::{CopyChange, conditions, stored_copy},
    scope::host_key,
    settings::Settings,
    source::{PageRequest, SourceError},
};

/// Maximum number of redirects followed for a robots.txt file (RFC 9309 §2.3.1.2).
const MAX_REDIRECTS: u32 = 5;

/// Maximum number of sitemaps visited per robots.txt file.
const MAX_SITEMAPS: usize = 100;

/// robots.txt rules of a host.
#[derive(Debug)]
pub(super) struct HostRules {
    rules: RobotRules,
    /// Reason why no page on the host may be visited at present.
    unreachable: Option<String>,
    pub(super) sitemaps: Vec<String>,
    pub(super) ip: Option<IpAddr>,
    /// The host's robots.txt file, if that file specifies a main host.
    main_host: Option<RobotsTxt>,
}

/// Whether a URL may be visited according to robots.txt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Permission {
    Allowed,
    /// The robots.txt file could not be requested; existing descriptions are kept.
    Unknown(String),
    Refused(Rejection),
}

impl HostRules {
    /// Fetches the robots.txt file of a URL's host, unless the file is unchanged.
    ///
    /// If the server fails, the request is retried as often as for a page.
    pub(super) async fn read(settings: &Settings, url: &Url) -> Self {
        let Some(file) = robots_txt_url(settings, url) else {
            return Self::new(settings, url.as_str(), Access::AllowAll, b"", None);
        };
        let copy = stored_copy(settings, &file).await;
        let (retries, mut pause) = settings.retries;
        let mut attempt = 0;
        loop {
            let (answer, reason) = ask(settings, &file, copy.as_ref()).await;
            let is_last = attempt >= retries;
            match answer.access {
                // RFC 9309 §2.3.1.4: while a server fails, everything is disallowed. The failure
                // may be short, so the request is retried.
                Access::DenyAll { retry: true } if !is_last => {
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(4);
                    attempt += 1;
                }
                access => {
                    answer.news.apply(settings, copy.as_ref()).await;
                    let mut rules =
                        Self::new(settings, file.as_str(), access, &answer.body, answer.peer);
                    rules.unreachable =
                        matches!(access, Access::DenyAll { retry: true }).then_some(reason);
                    return rules;
                }
            }
        }
    }

    /// Determines whether a URL on the host may be visited.
    pub(super) fn permission(&self, url: &str) -> Permission {
        let verdict = self.rules.check(url);
        if verdict.allowed() {
            return Permission::Allowed;
        }
        if let Some(reason) = &self.unreachable {
            return Permission::Unknown(reason.clone());
        }
        let reason = match verdict.rule() {
            Some(rule) => format!("line {}, {}", rule.line(), shown(&rule.to_string())),
            None => "all paths are disallowed".to_owned(),
        };
        Permission::Refused(Rejection::new(Step::RobotsTxt, reason))
    }

    /// Returns the corresponding URL on the main host specified by a `Host` line, if it is
    /// different.
    pub(super) fn on_main_host(&self, url: &Url) -> Option<Url> {
        let file = self.main_host.as_ref()?;
        let main = Url::parse(&file.effective_url(url.as_str())).ok()?;
        (host_key(&main) != host_key(url) || main.scheme() != url.scheme()).then_some(main)
    }

    /// Returns the pause that robots.txt requests between two visits.
    pub(super) fn delay(&self) -> Option<Duration> {
        let rate = self.rules.request_rate().filter(|rate| rate.requests > 0);
        let by_rate = rate.map(|rate| rate.period / rate.requests);
        self.rules.crawl_delay().max(by_rate)
    }

    fn new(
        settings: &Settings,
        url: &str,
        access: Access,
        body: &[u8],
        ip: Option<IpAddr>,
    ) -> Self {
        let file = RobotsTxt::parse_from(url, access.file(parsed_part(body)), own_dialect());
        let sitemaps = file.sitemaps().take(MAX_SITEMAPS).map(Cow::into_owned);
        Self {
            sitemaps: sitemaps.collect(),
            rules: file.for_robot(settings.user_agent()),
            main_host: file.host().is_some().then_some(file),
            unreachable: None,
            ip,
        }
    }
}

/// Returns the RFC 9309 dialect, with `Host` lines supported as in Geoportal's robot.
fn own_dialect() -> Dialect {
    let mut dialect = Dialect::rfc9309();
    dialect.host = HostUse::RewriteByLast;
    dialect
}

/// Response to the request for a robots.txt file.
struct RobotsTxtAnswer {
    access: Access,
    body: bytes::Bytes,
    peer: Option<IpAddr>,
    news: CopyChange,
}

/// Fetches a robots.txt file, following redirects within the scope; the returned text describes the
/// outcome.
async fn ask(
    settings: &Settings,
    file: &Url,
    copy: Option<&RobotsTxtCopy>,
) -> (RobotsTxtAnswer, String) {
    let mut url = file.clone();
    let mut redirects = 0;
    loop {
        // Validators apply only to the original URL, not to the target of a redirect.
        let copy = copy.filter(|_| redirects == 0);
        let request = request(&url).if_changed(conditions(copy));
        let answer = match settings.source.fetch(&request).await {
            Ok(answer) => answer,
            Err(error) => return (failed(&error), error.to_string()),
        };
        if let Some(copy) = copy
            && answer.status == 304
        {
            let asked = RobotsTxtAnswer {
                access: Access::Rules,
                body: copy.body.clone().into(),
                peer: answer.peer,
                news: CopyChange::None,
            };
            return (asked, format!("{url} is unmodified"));
        }
        let target = answer.is_redirect().then(|| answer.location()).flatten();
        let target = target.and_then(|location| resolve(&url, &location));
        // RFC 9309 allows redirects to any host; here, only redirects to hosts in scope are
        // followed.
        let target = target.filter(|target| settings.scope.check_host(target).is_ok());
        if let Some(target) = target
            && redirects < MAX_REDIRECTS
        {
            redirects += 1;
            url = target;
            continue;
        }
        let access = Access::from_status(answer.status, redirects, &own_dialect());
        let news = if redirects == 0 {
            CopyChange::from_response(file, access, &answer)
        } else {
            CopyChange::Gone
        };
        let asked = RobotsTxtAnswer {
            access,
            body: answer.body,
            peer: answer.peer,
            news,
        };
        return (asked, format!("{url} returned status {}", answer.status));
    }
}

/// Creates a request for a robots.txt file; if the file is too long, only its first part is used.
fn request(url: &Url) -> PageRequest<'_> {
    PageRequest::get(url).max_bytes(MAX_FILE_BYTES as u64)
}

/// Treats a missing response like a server error, and a permanent error like a missing file.
fn failed(error: &SourceError) -> RobotsTxtAnswer {
    let status = if error.is_temporary() { 0 } else { 404 };
    RobotsTxtAnswer {
        access: Access::from_status(status, 0, &own_dialect()),
        body: bytes::Bytes::new(),
        peer: None,
        news: CopyChange::None,
    }
}

fn robots_txt_url(settings: &Settings, url: &Url) -> Option<Url> {
    let is_http = matches!(url.scheme(), "http" | "https");
    if !settings.obeys_robots_of(url) || !is_http {
        return None;
    }
    let mut file = url.clone();
    file.set_path("/robots.txt");
    file.set_query(None);
    file.set_fragment(None);
    Some(file)
}

/// Returns a rule truncated and escaped for display, because it comes from an untrusted file.
fn shown(rule: &str) -> String {
    let short: String = rule.chars().take(100).collect();
    short.escape_debug().to_string()
}
