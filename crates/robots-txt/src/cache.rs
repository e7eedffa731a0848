//! Cache of the robots.txt files of many sites, for one robot.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
    time::Duration,
};

use super::{
    Dialect, RobotRules, RobotsTxt, StatusReading,
    lines::{MAX_FILE_BYTES, parsed_part},
};

/// The default maximum number of cached sites.
const MAX_SITES: usize = 10_000;

/// The default maximum size of cached files in octets.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A cache of many sites' robots.txt rules for one robot, like `WWW::RobotRules`.
///
/// The methods correspond to the methods described in HTTP: The Definitive Guide, section 9.4.6.
///
/// A site is identified by its host and port. The size of the cache is limited: beyond 10,000 sites
/// or 64 MiB of files, the site that was least recently parsed or visited is dropped. The caller
/// passes times in milliseconds since 1970; the cache does not read a clock.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::{Dialect, RobotsCache};
///
/// let mut cache = RobotsCache::new("SuperRobot/1.0", Dialect::v1());
/// let now_ms = 0;
/// assert_eq!(cache.allowed("http://shop.example/a", now_ms), None);
///
/// let body = b"User-agent: *\nDisallow: /private\n";
/// cache.parse("http://shop.example/robots.txt", body, now_ms + 3_600_000);
/// assert_eq!(cache.allowed("http://shop.example/a", now_ms), Some(true));
/// assert_eq!(cache.allowed("http://shop.example/private", now_ms), Some(false));
/// assert_eq!(cache.allowed("http://shop.example/a", now_ms + 3_600_001), None);
/// ```
#[derive(Clone, Debug)]
pub struct RobotsCache {
    agent: String,
    dialect: Dialect,
    sites: HashMap<Arc<str>, Entry>,
    /// The sites in the order of their last use, least recently used first.
    order: BTreeMap<u64, Arc<str>>,
    touches: u64,
    bytes: usize,
    max_sites: usize,
    max_bytes: usize,
}

/// The cached rules and visits of one site.
#[derive(Clone, Debug, Default)]
struct Entry {
    touched: u64,
    known: Option<CachedRules>,
    visits: u64,
    last_visit_ms: Option<i64>,
}

#[derive(Clone, Debug)]
struct CachedRules {
    rules: RobotRules,
    bytes: usize,
    fresh_until_ms: i64,
}

impl RobotsCache {
    /// Creates an empty cache for a robot, given its name or its `User-Agent`.
    #[must_use]
    pub fn new(robot: &str, dialect: Dialect) -> Self {
        Self {
            agent: short_name(robot).to_owned(),
            dialect,
            sites: HashMap::new(),
            order: BTreeMap::new(),
            touches: 0,
            bytes: 0,
            max_sites: MAX_SITES,
            max_bytes: MAX_BYTES,
        }
    }

    /// Sets the maximum number of cached sites, which is at least 1; the default is 10,000.
    #[must_use]
    pub fn max_sites(mut self, max_sites: usize) -> Self {
        self.max_sites = max_sites.max(1);
        self.shrink();
        self
    }

    /// Sets the maximum total size of the cached files in octets; the default is 64 MiB. At least
    /// one file is always cached.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        // A smaller limit could drop a file immediately after parsing.
        self.max_bytes = max_bytes.max(MAX_FILE_BYTES);
        self.shrink();
        self
    }

    /// Sets the robot's name, and clears the cache if the name changes.
    pub fn set_agent(&mut self, robot: &str) {
        let agent = short_name(robot);
        if agent != self.agent {
            agent.clone_into(&mut self.agent);
            // The cached rules apply to the old name.
            self.sites.clear();
            self.order.clear();
            self.bytes = 0;
        }
    }

    /// Parses the robots.txt of a site and caches it until `fresh_until_ms`.
    ///
    /// `url` is the URL from which the file was fetched. Content beyond 500 KiB is ignored (RFC
    /// 9309 §2.5), including a truncated last line. URLs without a site, such as `mailto:` URLs,
    /// are ignored. Use [`fresh_until_ms`](super::fresh_until_ms) to compute `fresh_until_ms` from
    /// the response headers.
    pub fn parse(&mut self, url: &str, body: &[u8], fresh_until_ms: i64) {
        self.answer(url, Access::Rules, body, fresh_until_ms);
    }

    /// Caches a site's response for /robots.txt as rules, full access or no access.
    ///
    /// ```
    /// use robot_detection_robots_txt::{Access, Dialect, RobotsCache};
    ///
    /// let mut cache = RobotsCache::new("SuperRobot", Dialect::rfc9309());
    /// let access = Access::from_status(503, 0, &Dialect::rfc9309());
    /// cache.answer("http://shop.example/robots.txt", access, b"", 60_000);
    /// assert_eq!(cache.allowed("http://shop.example/", 0), Some(false));
    /// ```
    pub fn answer(&mut self, url: &str, access: Access, body: &[u8], fresh_until_ms: i64) {
        let body = access.file(parsed_part(body));
        let rules = RobotsTxt::parse_from(url, body, self.dialect).for_robot(&self.agent);
        let known = CachedRules {
            rules,
            bytes: body.len(),
            fresh_until_ms,
        };
        let Some(entry) = self.touch(url) else {
            return;
        };
        // Subtract the size of the replaced file.
        let before = entry.known.replace(known);
        let freed = before.map_or(0, |known| known.bytes);
        self.bytes = self.bytes.saturating_sub(freed).saturating_add(body.len());
        self.shrink();
    }

    /// Counts a visit to a site, which is specified as a URL or as `host:port`.
    pub fn visit(&mut self, url: &str, now_ms: i64) {
        if let Some(entry) = self.touch(url) {
            entry.visits = entry.visits.saturating_add(1);
            entry.last_visit_ms = Some(now_ms);
        }
        self.shrink();
    }

    /// Checks whether the robot may fetch a URL. Returns `None` if no fresh rules are cached for
    /// the URL's site.
    ///
    /// URLs with a scheme other than http and https have no robots.txt and are always allowed.
    #[must_use]
    pub fn allowed(&self, url: &str, now_ms: i64) -> Option<bool> {
        if Site::parse(url) == Site::OtherScheme {
            return Some(true);
        }
        let rules = self.rules(url, now_ms)?;
        Some(rules.check(url).allowed())
    }

    /// Returns the rules of a URL's site if fresh rules are cached.
    #[must_use]
    pub fn rules(&self, url: &str, now_ms: i64) -> Option<&RobotRules> {
        let known = self.entry(url)?.known.as_ref()?;
        (known.fresh_until_ms >= now_ms).then_some(&known.rules)
    }

    /// Returns the time until which a site's rules are fresh.
    #[must_use]
    pub fn fresh_until_ms(&self, url: &str) -> Option<i64> {
        Some(self.entry(url)?.known.as_ref()?.fresh_until_ms)
    }

    /// Returns the number of visits to a site.
    #[must_use]
    pub fn no_visits(&self, url: &str) -> u64 {
        self.entry(url).map_or(0, |entry| entry.visits)
    }

    /// Returns the time of the last visit to a site.
    #[must_use]
    pub fn last_visit_ms(&self, url: &str) -> Option<i64> {
        self.entry(url)?.last_visit_ms
    }

    /// Returns the earliest time of the next visit to a site: the current time, or the end of the
    /// pause between visits.
    ///
    /// The pause is the longer of `Crawl-delay` and the interval derived from `Request-rate`. Rules
    /// that are no longer fresh still determine the pause.
    #[must_use]
    pub fn next_visit_ms(&self, url: &str, now_ms: i64) -> i64 {
        let due = self.entry(url).and_then(|entry| {
            let pause = pause(&entry.known.as_ref()?.rules)?;
            let pause_ms = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
            Some(entry.last_visit_ms?.saturating_add(pause_ms))
        });
        due.map_or(now_ms, |due| due.max(now_ms))
    }

    /// Returns the robot's name: the first word of the name passed to the cache, without a version.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the dialect that files are parsed in.
    #[must_use]
    pub const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Returns the number of sites in the cache.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Returns `true` if no site is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    fn entry(&self, url: &str) -> Option<&Entry> {
        let Site::Named(site) = Site::parse(url) else {
            return None;
        };
        self.sites.get(site.as_str())
    }

    /// Marks a URL's site as the most recently used one.
    fn touch(&mut self, url: &str) -> Option<&mut Entry> {
        let Site::Named(site) = Site::parse(url) else {
            return None;
        };
        let site: Arc<str> = site.into();
        // Unlike a time, a counter gives each use a unique position in `order`.
        self.touches += 1;
        let entry = self.sites.entry(Arc::clone(&site)).or_default();
        self.order.remove(&entry.touched);
        self.order.insert(self.touches, site);
        entry.touched = self.touches;
        Some(entry)
    }

    /// Removes the least recently used sites until the limits are met.
    fn shrink(&mut self) {
        while self.sites.len() > self.max_sites || self.bytes > self.max_bytes {
            let Some((_, site)) = self.order.pop_first() else {
                return;
            };
            let dropped = self.sites.remove(&site).and_then(|entry| entry.known);
            let freed = dropped.map_or(0, |known| known.bytes);
            self.bytes = self.bytes.saturating_sub(freed);
        }
    }
}

/// Returns the first word of a robot's name, up to a slash.
fn short_name(robot: &str) -> &str {
    let word = robot.split_whitespace().next().unwrap_or_default();
    word.split('/').next().unwrap_or(word)
}

fn pause(rules: &RobotRules) -> Option<Duration> {
    let by_rate = rules
        .request_rate()
        .filter(|rate| rate.requests > 0)
        .map(|rate| rate.period / rate.requests);
    // `None` is smaller than any pause.
    rules.crawl_delay().max(by_rate)
}

/// The maximum number of redirects for a file; if there are more, the file is treated as missing
/// (RFC 9309 §2.3.1.2).
const MAX_REDIRECTS: u32 = 5;

/// The access to a site, derived from the response for /robots.txt.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::{Access, Dialect};
///
/// let dialect = Dialect::rfc9309();
/// assert_eq!(Access::from_status(200, 0, &dialect), Access::Rules);
/// assert_eq!(Access::from_status(404, 0, &dialect), Access::AllowAll);
/// assert_eq!(Access::from_status(503, 0, &dialect), Access::DenyAll { retry: true });
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Access is determined by the rules in the robots.txt file.
    Rules,
    /// Everything on the site is allowed, because there are no rules.
    AllowAll,
    /// Nothing on the site is allowed.
    DenyAll {
        /// Whether the cause of the refusal is temporary, so that a retry may succeed.
        retry: bool,
    },
}

impl Access {
    /// The time after which an unreachable file is treated as missing (RFC 9309 §2.3.1.4).
    pub const UNREACHABLE_LIMIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    /// Returns the access that a dialect derives from the response status and the number of
    /// redirects that preceded the response.
    ///
    /// Status 0 means that there was no response, because of an unknown host, a failed connection
    /// or a timeout. A 3xx status means that the redirects were not followed to the end. Do not
    /// pass status 304, which means that the cached copy is still valid.
    ///
    /// | dialect's `status` | rules | full access | no access |
    /// | --- | --- | --- | --- |
    /// | `Standard` (RFC 9309 §2.3.1) | 2xx | 3xx, over five redirects, 4xx | 5xx, 0 |
    /// | `Google` | 2xx | the same, except 429 | 429, 5xx, 0 |
    /// | `Restricted` (HTTP:TDG 9.4.2) | 2xx | 3xx, other 4xx | 401, 403; temporarily 5xx, 0 |
    /// | `AllowsAll` | 2xx | everything else | |
    /// | `OnlyOk` | 200 | everything else | |
    #[must_use]
    pub const fn from_status(status: u16, redirects: u32, dialect: &Dialect) -> Self {
        match (dialect.status, status) {
            (
                StatusReading::Standard | StatusReading::Google | StatusReading::OnlyOk,
                200..=299,
            ) if redirects > MAX_REDIRECTS => Self::AllowAll,
            (StatusReading::OnlyOk, 200) => Self::Rules,
            (StatusReading::OnlyOk, _) => Self::AllowAll,
            (_, 200..=299) => Self::Rules,
            (StatusReading::Google, 429) => Self::DenyAll { retry: true },
            (StatusReading::Restricted, 401 | 403) => Self::DenyAll { retry: false },
            (StatusReading::AllowsAll, _) | (_, 300..=499) => Self::AllowAll,
            _ => Self::DenyAll { retry: true },
        }
    }

    /// Returns the access after the file has been unreachable for the given duration.
    ///
    /// A temporary refusal ends after 30 days ([`UNREACHABLE_LIMIT`](Self::UNREACHABLE_LIMIT)): the
    /// file is then treated as missing (RFC 9309 §2.3.1.4). A robot that has an older copy of the
    /// file may use that copy instead. Do not call this method if your robot should be stricter.
    ///
    /// ```
    /// use std::time::Duration;
    /// use robot_detection_robots_txt::{Access, Dialect};
    ///
    /// let access = Access::from_status(0, 0, &Dialect::rfc9309());
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// assert_eq!(access.unreachable_for(day), access);
    /// assert_eq!(access.unreachable_for(31 * day), Access::AllowAll);
    /// ```
    #[must_use]
    pub const fn unreachable_for(self, duration: Duration) -> Self {
        match self {
            Self::DenyAll { retry: true }
                if duration.as_secs() >= Self::UNREACHABLE_LIMIT.as_secs() =>
            {
                Self::AllowAll
            }
            _ => self,
        }
    }

    /// Returns the file content to parse, given the response body.
    ///
    /// If the access does not depend on rules, the result is an empty file or a file that disallows
    /// everything; /robots.txt itself remains allowed if the dialect specifies this.
    #[must_use]
    pub const fn file(self, body: &[u8]) -> &[u8] {
        match self {
            Self::Rules => body,
            Self::AllowAll => b"",
            Self::DenyAll { .. } => b"User-agent: *\nDisallow: /\n",
        }
    }

    /// Returns the name of the variant: `rules`, `allow_all` or `disallow_all`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::AllowAll => "allow_all",
            Self::DenyAll { .. } => "disallow_all",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The site whose robots.txt applies to a URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Site {
    /// A site, identified by `host:port` in lower case.
    Named(String),
    /// The URL belongs to no site, because its scheme is neither http nor https.
    OtherScheme,
    /// The URL has no host or an invalid port.
    Unknown,
}

impl Site {
    /// Parses a URL, or a host with or without a port.
    pub(super) fn parse(url: &str) -> Self {
        match scheme(url) {
            Some((name, rest)) if name.eq_ignore_ascii_case("http") => authority(rest, "80"),
            Some((name, rest)) if name.eq_ignore_ascii_case("https") => authority(rest, "443"),
            Some(_) => Self::OtherScheme,
            None => named(url.split(['/', '?', '#']).next().unwrap_or(url), "80"),
        }
    }
}

/// Splits the scheme from a URL; digits after the colon are treated as a port.
pub(super) fn scheme(url: &str) -> Option<(&str, &str)> {
    let (name, rest) = url.split_once(':')?;
    let is_scheme = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let port = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_scheme && !is_port).then_some((name, rest))
}

fn authority(rest: &str, default_port: &str) -> Site {
    rest.strip_prefix("//").map_or(Site::Unknown, |rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        named(authority, default_port)
    })
}

fn named(authority: &str, default_port: &str) -> Site {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    // The colons of an IPv6 address are inside brackets.
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (host, ""),
    };
    let port = if port.is_empty() { default_port } else { port };
    match port.parse::<u16>() {
        Ok(port) if !host.is_empty() => Site::Named(format!("{}:{port}", host.to_lowercase())),
        _ => Site::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn cache(dialect: Dialect) -> RobotsCache {
        RobotsCache::new("SuperRobot/1.0 (+http://robots.example)", dialect)
    }

    fn robots_txt(host: &str) -> String {
        format!("http://{host}/robots.txt")
    }

    #[test]
    fn sites_are_distinguished_by_host_and_port() {
        let mut cache = cache(Dialect::v1());
        cache.parse(
            &robots_txt("joe.example"),
            b"User-agent: *\nDisallow: /a\n",
            HOUR_MS,
        );
        let others = "http://joe.example:8080/robots.txt";
        cache.parse(others, b"User-agent: superrobot\nDisallow: /b\n", HOUR_MS);
        for (url, expected) in [
            ("http://joe.example/a", Some(false)),
            ("http://JOE.example:80/b", Some(true)),
            ("http://joe.example:8080/a", Some(true)),
            ("http://joe.example:8080/b", Some(false)),
            ("https://joe.example/a", None),
            ("http://mary.example/a", None),
            ("mailto:joe@joe.example", Some(true)),
            ("not a URL", None),
        ] {
            assert_eq!(cache.allowed(url, 0), expected, "{url}");
        }
    }

    #[test]
    fn stale_rules_are_not_returned() {
        let mut cache = cache(Dialect::rfc9309());
        cache.parse(&robots_txt("joe.example"), b"", HOUR_MS);
        let url = "http://joe.example/";
        assert_eq!(cache.allowed(url, HOUR_MS), Some(true));
        assert_eq!(cache.allowed(url, HOUR_MS + 1), None);
        assert_eq!(cache.fresh_until_ms(url), Some(HOUR_MS));
        cache.parse(&robots_txt("joe.example"), b"", 3 * HOUR_MS);
        assert_eq!(cache.allowed(url, HOUR_MS + 1), Some(true));
    }

    #[test]
    fn response_without_rules_allows_all_or_nothing() {
        let mut cache = cache(Dialect::tdg());
        let url = "http://joe.example/a";
        for (status, expected) in [(404, true), (403, false), (503, false)] {
            let access = Access::from_status(status, 0, cache.dialect());
            let body = b"User-agent: *\nDisallow: /\n";
            cache.answer(&robots_txt("joe.example"), access, body, HOUR_MS);
            assert_eq!(cache.allowed(url, 0), Some(expected), "{status}");
        }
        assert_eq!(
            cache.allowed("http://joe.example/robots.txt", 0),
            Some(true)
        );
    }

    #[test]
    fn visits_are_counted_per_site() {
        let mut cache = cache(Dialect::v0());
        let url = "http://joe.example/a";
        assert_eq!((cache.no_visits(url), cache.last_visit_ms(url)), (0, None));
        cache.visit(url, 5);
        cache.visit("joe.example:80", 7);
        assert_eq!(
            (cache.no_visits(url), cache.last_visit_ms(url)),
            (2, Some(7))
        );
        assert_eq!(cache.no_visits("https://joe.example/a"), 0);
        cache.parse(&robots_txt("joe.example"), b"", HOUR_MS);
        assert_eq!(cache.no_visits(url), 2);
    }

    #[test]
    fn changing_the_name_clears_the_cache() {
        let mut cache = cache(Dialect::v0());
        cache.parse(&robots_txt("joe.example"), b"", HOUR_MS);
        assert_eq!(cache.agent(), "SuperRobot");
        cache.set_agent("SuperRobot/2.0");
        assert_eq!(cache.len(), 1);
        cache.set_agent("OtherRobot/2.0");
        assert_eq!((cache.agent(), cache.is_empty()), ("OtherRobot", true));
        assert_eq!(cache.allowed("http://joe.example/", 0), None);
    }

    #[test]
    fn the_next_visit_waits_for_the_longer_pause() {
        let mut cache = cache(Dialect::rfc9309());
        let url = "http://joe.example/a";
        let body = b"User-agent: *\nCrawl-delay: 10\nRequest-rate: 1/20\nDisallow:\n";
        assert_eq!(cache.next_visit_ms(url, 1_000), 1_000);
        cache.parse(&robots_txt("joe.example"), body, HOUR_MS);
        assert_eq!(cache.next_visit_ms(url, 1_000), 1_000);
        cache.visit(url, 1_000);
        assert_eq!(cache.next_visit_ms(url, 1_500), 21_000);
        assert_eq!(cache.next_visit_ms(url, 30_000), 30_000);
    }

    #[test]
    fn rule_truncated_by_the_limit_is_ignored() {
        let mut cache = cache(Dialect::rfc9309());
        let (group, rule) = ("User-agent: *\n", "Disallow: /private\n");
        let kept = "Disallow: /kept\n";
        for end in ["\n", "\r", "\r\n"] {
            let read = MAX_FILE_BYTES - group.len() - kept.len() - "Disallow: /".len();
            let comment = format!("{}{end}", "#".repeat(read - end.len()));
            let body = format!("{group}{kept}{comment}{rule}");
            assert!(body.as_bytes()[..MAX_FILE_BYTES].ends_with(b"Disallow: /"));
            cache.parse(&robots_txt("joe.example"), body.as_bytes(), HOUR_MS);
            let allowed = |path: &str| cache.allowed(&format!("http://joe.example{path}"), 0);
            assert_eq!(allowed("/x"), Some(true), "{end:?}");
            assert_eq!(allowed("/kept"), Some(false), "{end:?}");
        }
    }

    #[test]
    fn least_recently_used_site_is_dropped() {
        let mut cache = cache(Dialect::rfc9309()).max_sites(2);
        for host in ["a.example", "b.example"] {
            cache.parse(&robots_txt(host), b"", HOUR_MS);
        }
        cache.visit("http://a.example/", 0);
        cache.parse(&robots_txt("c.example"), b"", HOUR_MS);
        let known = |host: &str| cache.allowed(&format!("http://{host}/"), 0).is_some();
        assert!(known("a.example") && !known("b.example") && known("c.example"));
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn size_of_cached_files_is_limited() {
        let mut cache = cache(Dialect::rfc9309()).max_bytes(0);
        let body = vec![b'#'; 10 * MAX_FILE_BYTES];
        for number in 0..10 {
            cache.parse(&robots_txt(&format!("{number}.example")), &body, HOUR_MS);
            assert_eq!((cache.len(), cache.bytes), (1, MAX_FILE_BYTES));
        }
        cache.parse(&robots_txt("9.example"), b"#", HOUR_MS);
        assert_eq!((cache.len(), cache.bytes), (1, 1));
    }

    const RULES: &str = "rules";
    const ALL: &str = "allow_all";
    const NONE: &str = "disallow_all";

    fn words(status: u16, redirects: u32) -> Vec<&'static str> {
        ["rfc9309", "google", "tdg", "v0", "yandex"]
            .map(|name| Access::from_status(status, redirects, &name.parse().unwrap()).as_str())
            .to_vec()
    }

    #[test]
    fn meaning_of_the_status_depends_on_the_dialect() {
        for (status, expected) in [
            (200, [RULES, RULES, RULES, RULES, RULES]),
            (204, [RULES, RULES, RULES, RULES, ALL]),
            (301, [ALL, ALL, ALL, ALL, ALL]),
            (400, [ALL, ALL, ALL, ALL, ALL]),
            (401, [ALL, ALL, NONE, ALL, ALL]),
            (403, [ALL, ALL, NONE, ALL, ALL]),
            (404, [ALL, ALL, ALL, ALL, ALL]),
            (410, [ALL, ALL, ALL, ALL, ALL]),
            (429, [ALL, NONE, ALL, ALL, ALL]),
            (500, [NONE, NONE, NONE, ALL, ALL]),
            (503, [NONE, NONE, NONE, ALL, ALL]),
            (0, [NONE, NONE, NONE, ALL, ALL]),
            (999, [NONE, NONE, NONE, ALL, ALL]),
        ] {
            assert_eq!(words(status, 0), expected, "{status}");
        }
    }

    #[test]
    fn file_after_six_redirects_counts_as_missing() {
        assert_eq!(words(200, 5), [RULES; 5]);
        assert_eq!(words(200, 6), [ALL, ALL, RULES, RULES, ALL]);
    }

    #[test]
    fn only_temporary_refusals_end_after_thirty_days() {
        let days = |days: u64| Duration::from_hours(24 * days);
        let down = Access::from_status(503, 0, &Dialect::rfc9309());
        assert_eq!(down.unreachable_for(days(29)), down);
        assert_eq!(down.unreachable_for(days(30)), Access::AllowAll);
        let forbidden = Access::from_status(403, 0, &Dialect::tdg());
        assert_eq!(forbidden.unreachable_for(days(99)), forbidden);
    }

    #[test]
    fn host_and_port_identify_the_site() {
        for (url, site) in [
            ("http://Shop.Example/a", "shop.example:80"),
            ("https://shop.example", "shop.example:443"),
            ("HTTP://shop.example:8080?q", "shop.example:8080"),
            ("http://shop.example:/", "shop.example:80"),
            ("http://me:pass@shop.example#a@b", "shop.example:80"),
            ("http://[2001:DB8::1]/", "[2001:db8::1]:80"),
            ("http://[::1]:81/", "[::1]:81"),
            ("shop.example:8080", "shop.example:8080"),
            ("shop.example", "shop.example:80"),
        ] {
            assert_eq!(Site::parse(url), Site::Named(site.to_owned()), "{url}");
        }
    }

    #[test]
    fn other_schemes_have_no_site() {
        for url in ["mailto:a@shop.example", "ftp://shop.example/", "data:,a"] {
            assert_eq!(Site::parse(url), Site::OtherScheme, "{url}");
        }
        for url in [
            "",
            "/a",
            "http:",
            "http:///a",
            "http://a:99999/",
            "http://:80/",
        ] {
            assert_eq!(Site::parse(url), Site::Unknown, "{url}");
        }
    }
}
