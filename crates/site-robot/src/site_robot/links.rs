//! Resolves links either to URLs to visit, or to rejections with a reason.

use std::collections::HashMap;

use url::{Position, Url};

use crate::document::{LinkKind, has_session, normalise, resolve, without_session};
use crate::filter::FoundLink;
use robot_detection_store::{
    fetch::shown_url,
    store::{ClaimedUrl, FoundUrl},
};

use super::{
    Rejection, SiteRobotError, Step, effect, known_links::KnownLinks, scope::host_key,
    settings::Settings, trap,
};

/// Value of `found_on` for a sitemap that robots.txt lists.
pub(super) const SITEMAP: &str = "robots.txt";

/// Maximum length of a visited URL, in bytes, which is limited by the key size of `PostgreSQL`.
pub(super) const MAX_URL_BYTES: usize = 2_000;

/// An accepted link: its URL and the number of steps needed to reach the URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct AcceptedLink {
    pub(super) url: String,
    /// Number of steps: 0 for parts of the page (frames, redirects, sitemap entries), or else 1.
    pub(super) steps: u32,
}

impl AcceptedLink {
    /// Returns the link in the form that is stored for visits that return no page.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.steps, self.url)
    }

    pub(super) fn from_line(line: &str) -> Option<Self> {
        let (steps, url) = line.split_once(' ')?;
        let steps = steps.parse().ok().filter(|steps| *steps <= 1)?;
        let url = url.to_owned();
        Some(Self { url, steps })
    }
}

impl Settings {
    /// Restricts the run to single pages; fails with the first page that must not be visited.
    pub(super) fn restrict_to_pages(&mut self, urls: Vec<Url>) -> Result<(), SiteRobotError> {
        for url in urls {
            let wrong = |reason: String| SiteRobotError::NotVisited {
                url: shown_url(url.as_str()),
                reason,
            };
            let page = normalise(url.clone()).map(|url| to_canonical_form(self, url));
            let page = page.ok_or_else(|| wrong("not a URL that can be fetched".to_owned()))?;
            check(self, &page).map_err(|rejection| wrong(rejection.to_string()))?;
            self.only.push(page);
        }
        Ok(())
    }
}

/// Returns the links of a page that the site robot may follow.
pub(super) fn accept(
    settings: &Settings,
    known: &KnownLinks,
    base: &Url,
    links: &[FoundLink],
) -> Vec<AcceptedLink> {
    let here = &base[..Position::BeforePath];
    let mut taken = Vec::new();
    for link in links {
        if link.is_nofollow {
            continue;
        }
        let belongs = matches!(link.kind, Some(LinkKind::Frame | LinkKind::Refresh));
        let steps = u32::from(!belongs);
        let url = known.get_or_decide(here, &link.url, || to_visit(settings, base, &link.url));
        if let Some(url) = url {
            taken.push(AcceptedLink { url, steps });
        }
    }
    taken
}

/// Returns the URL of a link if the scope and the trap limits allow visiting it.
pub(super) fn to_visit(settings: &Settings, base: &Url, link: &str) -> Option<String> {
    let url = to_canonical_form(settings, resolve(base, link)?);
    check(settings, &url).ok()?;
    Some(url.into())
}

/// Returns the URL of a sitemap that another sitemap lists, which may be anywhere on hosts in
/// scope.
pub(super) fn to_sitemap(settings: &Settings, base: &Url, link: &str) -> Option<String> {
    let url = to_canonical_form(settings, resolve(base, link)?);
    settings.scope.check_host(&url).ok()?;
    (url.as_str().len() <= MAX_URL_BYTES).then(|| url.into())
}

/// Returns a URL on the canonical host, without session id and tracking parameters.
pub(super) fn to_canonical_form(settings: &Settings, mut url: Url) -> Url {
    let is_alias = |alias: &&(Url, Url)| is_same_site(&url, &alias.0);
    if let Some((_, site)) = settings.aliases.iter().find(is_alias) {
        move_to_site(&mut url, site);
    }
    if settings.conf.smart_host_heuristics {
        unite_hosts(&mut url);
    }
    if let Some(clean) = settings.tracking.remove_from(&url) {
        url = clean;
    }
    if has_session(&url) {
        return without_session(&url);
    }
    url
}

/// Moves a URL to the site of another URL, keeping its path and query.
pub fn move_to_site(url: &mut Url, site: &Url) {
    // Both are HTTP URLs, so the setters cannot fail.
    let _ = url.set_scheme(site.scheme());
    let _ = url.set_host(site.host_str());
    let _ = url.set_port(site.port());
}

fn is_same_site(url: &Url, other: &Url) -> bool {
    url.host_str() == other.host_str()
        && url.port_or_known_default() == other.port_or_known_default()
        && url.scheme() == other.scheme()
}

/// Replaces `www123.example.com` with `www.example.com` (Sun 7.1 `smart-host-heuristics`).
pub(super) fn unite_hosts(url: &mut Url) {
    let first_and_rest = url.host_str().and_then(|host| host.split_once('.'));
    let Some((first, rest)) = first_and_rest else {
        return;
    };
    let number = first.strip_prefix("www").unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && rest.contains('.') {
        let host = format!("www.{rest}");
        // The shortened host is always valid.
        let _ = url.set_host(Some(&host));
    }
}

/// Checks a URL against all rules that do not require a request.
pub(super) fn check(settings: &Settings, url: &Url) -> Result<(), Rejection> {
    let length = url.as_str().len();
    if length > MAX_URL_BYTES {
        let reason = format!("the URL has {length} bytes, more than {MAX_URL_BYTES}");
        return Err(Rejection::new(Step::Url, reason));
    }
    settings.scope.check(url)?;
    // A starting point has been configured explicitly, so it is never treated as a trap.
    let is_start = settings.starts.iter().any(|start| start.url == *url);
    if is_start {
        return Ok(());
    }
    // Links in pages must not make the site robot read local files.
    if url.scheme() == "file" {
        let reason = "local files are read only as starting points";
        return Err(Rejection::new(Step::Scope, reason));
    }
    if let Some(effect) = effect(url) {
        return Err(Rejection::new(Step::Trap, effect.to_string()));
    }
    let trap = trap(url, &settings.traps, this_year(settings.clock.now_ms()));
    match trap {
        Some(trap) => Err(Rejection::new(Step::Trap, trap.to_string())),
        None => Ok(()),
    }
}

/// Returns the current year, which may be wrong within a day of the turn of the year.
fn this_year(now_ms: i64) -> i32 {
    const YEAR_MS: i64 = 31_556_952_000;
    i32::try_from(1970 + now_ms.div_euclid(YEAR_MS)).unwrap_or(i32::MAX)
}

/// Returns the URLs found on a page for the frontier, except URLs beyond the maximum depth.
pub(super) fn found_urls(claimed: &ClaimedUrl, taken: &[AcceptedLink]) -> Vec<FoundUrl> {
    let mut all = Vec::new();
    // Most links stay on the same host, so its name need not be parsed from the link.
    let here = origin(&claimed.url);
    let host = |url: &str| match here {
        Some(here) if url.strip_prefix(here).is_some_and(is_path) => Some(claimed.host.clone()),
        _ => Some(host_key(&Url::parse(url).ok()?)),
    };
    for link in taken {
        let depth = claimed.depth.saturating_add(link.steps);
        let is_too_deep = claimed.max_depth.is_some_and(|max| depth > max);
        if is_too_deep || link.url == claimed.url {
            continue;
        }
        if let Some(host) = host(&link.url) {
            all.push(FoundUrl {
                host,
                url: link.url.clone(),
                depth,
                max_depth: claimed.max_depth,
                found_on: claimed.url.clone(),
            });
        }
    }
    all
}

/// Removes duplicate URLs, keeping the smallest number of steps of each.
pub(super) fn unique(mut taken: Vec<AcceptedLink>) -> Vec<AcceptedLink> {
    let mut nearest: HashMap<&str, u32> = HashMap::with_capacity(taken.len());
    for link in &taken {
        let steps = nearest.entry(&link.url).or_insert(link.steps);
        *steps = link.steps.min(*steps);
    }
    // The first occurrence of each URL is kept; later occurrences find no entry.
    let steps: Vec<Option<u32>> = taken.iter().map(|it| nearest.remove(&*it.url)).collect();
    let mut steps = steps.into_iter();
    taken.retain_mut(|link| {
        let nearest = steps.next().flatten();
        link.steps = nearest.unwrap_or(link.steps);
        nearest.is_some()
    });
    taken
}

/// Returns the part of a URL before its path.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let length = scheme.len() + "://".len() + rest.find('/')?;
    url.get(..length)
}

fn is_path(rest: &str) -> bool {
    rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_moved_to_another_site() {
        for (url, site, expected) in [
            (
                "http://127.0.0.1:3000/a?b#c",
                "https://h.example/x",
                "https://h.example/a?b#c",
            ),
            (
                "https://h.example/",
                "http://127.0.0.1:3000/",
                "http://127.0.0.1:3000/",
            ),
            (
                "http://a.example/",
                "https://a.example:80/",
                "https://a.example:80/",
            ),
            (
                "https://a.example:80/",
                "http://a.example/",
                "http://a.example/",
            ),
        ] {
            let mut url = url.parse().unwrap();
            move_to_site(&mut url, &site.parse().unwrap());
            assert_eq!(url.as_str(), expected);
        }
    }

    #[test]
    fn numbered_hosts_are_united() {
        for (host, expected) in [
            ("www123.example.com", "www.example.com"),
            ("www1.example.com:81", "www.example.com:81"),
            ("www.example.com", "www.example.com"),
            ("www1.local", "www1.local"),
            ("www1a.example.com", "www1a.example.com"),
            ("web1.example.com", "web1.example.com"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            let mut url = format!("http://{host}/a").parse().unwrap();
            unite_hosts(&mut url);
            assert_eq!(url.as_str(), format!("http://{expected}/a"));
        }
    }
}
