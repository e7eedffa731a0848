//! The robots.txt files of many sites, for one robot.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::{
    Access, Dialect, ForRobot, RobotsTxt,
    lines::{MAX_FILE_BYTES, beginning},
    site::Site,
};

/// Sites that are remembered at most, where no other number is set.
const MAX_SITES: usize = 10_000;

/// Octets of files that are remembered at most, where no other number is set.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Rules of many sites for one robot, as `WWW::RobotRules` keeps them.
///
/// Its methods are those of HTTP: The Definitive Guide 9.4.6.
///
/// A site is a host and a port. It is bounded: of more than 10,000 sites, or
/// 64 MiB of files, the one that was parsed or visited longest ago is dropped.
/// Times are milliseconds since 1970, such as `Clock::now_ms` tells; none is
/// read here.
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
    /// Sites by when they were touched, the one touched longest ago first.
    order: BTreeMap<u64, Arc<str>>,
    touches: u64,
    bytes: usize,
    max_sites: usize,
    max_bytes: usize,
}

/// What is remembered of a site.
#[derive(Clone, Debug, Default)]
struct Entry {
    touched: u64,
    known: Option<CachedRules>,
    visits: u64,
    last_visit_ms: Option<i64>,
}

#[derive(Clone, Debug)]
struct CachedRules {
    rules: ForRobot,
    bytes: usize,
    fresh_until_ms: i64,
}

impl RobotsCache {
    /// Creates an empty cache for a robot, by its name or its `User-Agent`.
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

    /// Sets how many sites are remembered; default 10,000, at least 1.
    #[must_use]
    pub fn max_sites(mut self, max_sites: usize) -> Self {
        self.max_sites = max_sites.max(1);
        self.shrink();
        self
    }

    /// Sets how many octets of files are remembered; default 64 MiB, at least one file.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        // With less room, a file could be dropped as soon as it was parsed.
        self.max_bytes = max_bytes.max(MAX_FILE_BYTES);
        self.shrink();
        self
    }

    /// Renames the robot; unless the name is the same, everything is forgotten.
    pub fn set_agent(&mut self, robot: &str) {
        let agent = short_name(robot);
        if agent != self.agent {
            agent.clone_into(&mut self.agent);
            // The rules were selected for the old name.
            self.sites.clear();
            self.order.clear();
            self.bytes = 0;
        }
    }

    /// Parses the robots.txt of a site, to be used until it is no longer fresh.
    ///
    /// `url` is where it came from. What stands beyond 500 KiB is ignored
    /// (RFC 9309 §2.5), with the line that it cuts. A URL without a site,
    /// such as `mailto:`, is ignored.
    /// [`fresh_until_ms`](super::fresh_until_ms) reads the time from headers.
    pub fn parse(&mut self, url: &str, body: &[u8], fresh_until_ms: i64) {
        self.answer(url, Access::Rules, body, fresh_until_ms);
    }

    /// Remembers how a site answered: its rules, or everything or nothing allowed.
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
        let body = access.file(beginning(body));
        let rules = RobotsTxt::parse_from(url, body, self.dialect).for_robot(&self.agent);
        let known = CachedRules {
            rules,
            bytes: body.len(),
            fresh_until_ms,
        };
        let Some(entry) = self.touch(url) else {
            return;
        };
        // The file that is replaced gives its octets back, else every refresh would add to the sum.
        let before = entry.known.replace(known);
        let freed = before.map_or(0, |known| known.bytes);
        self.bytes = self.bytes.saturating_sub(freed).saturating_add(body.len());
        self.shrink();
    }

    /// Counts a visit of a site, named by a URL or as `host:port`.
    pub fn visit(&mut self, url: &str, now_ms: i64) {
        if let Some(entry) = self.touch(url) {
            entry.visits = entry.visits.saturating_add(1);
            entry.last_visit_ms = Some(now_ms);
        }
        self.shrink();
    }

    /// Returns whether the robot may fetch a URL; `None` if nothing fresh is known of its site.
    ///
    /// Other schemes than http and https have no robots.txt: they are allowed.
    #[must_use]
    pub fn allowed(&self, url: &str, now_ms: i64) -> Option<bool> {
        if Site::of(url) == Site::OtherScheme {
            return Some(true);
        }
        let rules = self.rules(url, now_ms)?;
        Some(rules.check(url).allowed())
    }

    /// Returns what the site of a URL says to the robot, if that is known and fresh.
    #[must_use]
    pub fn rules(&self, url: &str, now_ms: i64) -> Option<&ForRobot> {
        let known = self.entry(url)?.known.as_ref()?;
        (known.fresh_until_ms >= now_ms).then_some(&known.rules)
    }

    /// Returns until when what is known of a site is fresh.
    #[must_use]
    pub fn fresh_until_ms(&self, url: &str) -> Option<i64> {
        Some(self.entry(url)?.known.as_ref()?.fresh_until_ms)
    }

    /// Returns how often a site was visited.
    #[must_use]
    pub fn no_visits(&self, url: &str) -> u64 {
        self.entry(url).map_or(0, |entry| entry.visits)
    }

    /// Returns when a site was last visited.
    #[must_use]
    pub fn last_visit_ms(&self, url: &str) -> Option<i64> {
        self.entry(url)?.last_visit_ms
    }

    /// Returns when a site may be visited next: now, or when its pause is over.
    ///
    /// The pause is the longer of `Crawl-delay` and what `Request-rate` leaves
    /// for one document; a file that is no longer fresh still counts.
    #[must_use]
    pub fn next_visit_ms(&self, url: &str, now_ms: i64) -> i64 {
        let due = self.entry(url).and_then(|entry| {
            let pause = pause(&entry.known.as_ref()?.rules)?;
            let pause_ms = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
            Some(entry.last_visit_ms?.saturating_add(pause_ms))
        });
        due.map_or(now_ms, |due| due.max(now_ms))
    }

    /// Returns the robot's name: the first word of what it was given, without a version.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the dialect that files are read in.
    #[must_use]
    pub const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Returns the number of sites that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Returns `true` if no site is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    fn entry(&self, url: &str) -> Option<&Entry> {
        let Site::Named(site) = Site::of(url) else {
            return None;
        };
        self.sites.get(site.as_str())
    }

    /// Makes the site of a URL the one touched last.
    fn touch(&mut self, url: &str) -> Option<&mut Entry> {
        let Site::Named(site) = Site::of(url) else {
            return None;
        };
        let site: Arc<str> = site.into();
        // A count orders better than the time: no two touches have the same place in `order`.
        self.touches += 1;
        let entry = self.sites.entry(Arc::clone(&site)).or_default();
        self.order.remove(&entry.touched);
        self.order.insert(self.touches, site);
        entry.touched = self.touches;
        Some(entry)
    }

    /// Drops sites until the limits hold.
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

/// First word, without what follows a slash.
fn short_name(robot: &str) -> &str {
    let word = robot.split_whitespace().next().unwrap_or_default();
    word.split('/').next().unwrap_or(word)
}

fn pause(rules: &ForRobot) -> Option<Duration> {
    let by_rate = rules
        .request_rate()
        .filter(|rate| rate.requests > 0)
        .map(|rate| rate.period / rate.requests);
    // `None` is less than any pause.
    rules.crawl_delay().max(by_rate)
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
    fn sites_are_kept_apart_by_host_and_port() {
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
    fn what_is_stale_is_not_known() {
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
    fn an_answer_without_rules_allows_all_or_nothing() {
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
    fn visits_are_counted_by_site() {
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
    fn another_name_forgets_everything() {
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
    fn a_rule_that_the_limit_cuts_is_no_rule() {
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
    fn the_site_touched_longest_ago_is_dropped() {
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
    fn files_take_no_more_room_than_allowed() {
        let mut cache = cache(Dialect::rfc9309()).max_bytes(0);
        let body = vec![b'#'; 10 * MAX_FILE_BYTES];
        for number in 0..10 {
            cache.parse(&robots_txt(&format!("{number}.example")), &body, HOUR_MS);
            assert_eq!((cache.len(), cache.bytes), (1, MAX_FILE_BYTES));
        }
        cache.parse(&robots_txt("9.example"), b"#", HOUR_MS);
        assert_eq!((cache.len(), cache.bytes), (1, 1));
    }
}
