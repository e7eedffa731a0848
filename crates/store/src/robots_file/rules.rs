//! Rules of our own, and the robots.txt made from them.

use std::{borrow::Borrow, collections::HashSet, fmt::Write as _, time::Duration};

use robot_detection_layer::policy::{HostName, RefusedRobots};
use robot_detection_layer::registry::{Purpose, Robot, write_robots_txt};
use robot_detection_robots_txt::{Dialect, RobotsTxt, preference_list};

/// Most paths, of both kinds together.
const MAX_PATHS: usize = 500;

/// Rules of a robots.txt that is made from settings.
///
/// # Example
///
/// ```
/// use robot_detection_layer::registry::{Purpose, bundled};
/// use robot_detection_store::robots_file::RobotsTxtRules;
///
/// let rules = RobotsTxtRules::new()
///     .refuse_purposes([Purpose::AiTraining])
///     .disallow(["/search"])?
///     .sitemaps(["https://www.example.com/sitemap.xml"])?;
/// let text = rules.to_text(&bundled().robots);
/// assert!(text.contains("User-agent: GPTBot\n"));
/// assert!(text.contains("User-agent: *\nDisallow: /search\n"));
/// # Ok::<(), robot_detection_store::robots_file::WrongRule>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct RobotsTxtRules {
    refused: RefusedRobots,
    disallow: Vec<String>,
    allow: Vec<String>,
    crawl_delay: Duration,
    sitemaps: Vec<String>,
    content_signal: String,
    content_usage: Vec<String>,
    licenses: Vec<String>,
}

/// Error of a value that cannot stand in a robots.txt; says what would be right.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct WrongRule(String);

impl RobotsTxtRules {
    /// Creates rules that refuse nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses everything to the robots of these purposes.
    ///
    /// They are named by the product tokens that the registry knows, or else by their
    /// [names](Robot::token); where robots are held to robots.txt those that it cannot
    /// name are refused too.
    pub fn refuse_purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.refused = self.refused.purposes(purposes);
        self
    }

    /// Refuses everything to the robots with these ids.
    pub fn refuse_robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        let ids = ids.into_iter().map(|id| id.as_ref().trim().to_owned());
        self.refused = self.refused.ids(ids);
        self
    }

    /// Refuses these paths to every robot.
    ///
    /// # Errors
    ///
    /// Fails for a path that does not begin with `/` or `*`, or has blanks or a
    /// `#` in it, and for more than 500 paths.
    pub fn disallow<S: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, WrongRule> {
        self.disallow = checked(paths, path)?;
        self.bounded()
    }

    /// Allows these paths below those that are refused.
    ///
    /// # Errors
    ///
    /// Fails as [`disallow`](Self::disallow) does.
    pub fn allow<S: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, WrongRule> {
        self.allow = checked(paths, path)?;
        self.bounded()
    }

    /// Asks every robot to wait between two requests; zero: nothing is said.
    pub fn crawl_delay(mut self, delay: Duration) -> Self {
        self.crawl_delay = delay;
        self
    }

    /// Names sitemaps.
    ///
    /// # Errors
    ///
    /// Fails for what is no `http:` or `https:` URL.
    pub fn sitemaps<S: AsRef<str>>(
        mut self,
        urls: impl IntoIterator<Item = S>,
    ) -> Result<Self, WrongRule> {
        self.sitemaps = checked(urls, url)?;
        Ok(self)
    }

    /// Adds a sitemap; one that is named already is not named again.
    ///
    /// # Errors
    ///
    /// Fails for what is no `http:` or `https:` URL.
    pub fn sitemap(mut self, address: &str) -> Result<Self, WrongRule> {
        let address = url(address)?;
        if !self.sitemaps.contains(&address) {
            self.sitemaps.push(address);
        }
        Ok(self)
    }

    /// Sets what content may be used for, as `Content-Signal`; empty: no such line.
    ///
    /// # Errors
    ///
    /// Fails for what is no list such as `search=yes, ai-train=no`, and for words that
    /// robots do not know.
    pub fn content_signal(mut self, signals: &str) -> Result<Self, WrongRule> {
        self.content_signal = preference_list("Content-Signal", signals).map_err(WrongRule)?;
        Ok(self)
    }

    /// Sets the same as `Content-Usage` lines (draft-ietf-aipref-attach §3.1); none by default.
    ///
    /// A line is about everything, or about what is below the path that it begins with.
    ///
    /// # Errors
    ///
    /// Fails for what is no list such as `train-ai=n, search=y`, for words that robots do not
    /// know, and for two lines about one path.
    pub fn content_usage<S: AsRef<str>>(
        mut self,
        lines: impl IntoIterator<Item = S>,
    ) -> Result<Self, WrongRule> {
        self.content_usage = checked(lines, usage)?;
        let mut paths = HashSet::new();
        let mut lines = self.content_usage.iter();
        if let Some(line) = lines.find(|line| !paths.insert(split_usage(line).0)) {
            let reason = "another line is about the same path; join them with a comma";
            return Err(WrongRule(format!("{line:?}: {reason}")));
        }
        Ok(self)
    }

    /// Names licences for the content, as `License` lines (RSL 1.0 §4.4); none by default.
    ///
    /// # Errors
    ///
    /// Fails for what is no `http:` or `https:` URL.
    pub fn licenses<S: AsRef<str>>(
        mut self,
        urls: impl IntoIterator<Item = S>,
    ) -> Result<Self, WrongRule> {
        self.licenses = checked(urls, url)?;
        Ok(self)
    }

    /// Adds a licence; one that is named already is not named again.
    ///
    /// # Errors
    ///
    /// Fails for what is no `http:` or `https:` URL.
    pub fn license(mut self, address: &str) -> Result<Self, WrongRule> {
        let address = url(address)?;
        if !self.licenses.contains(&address) {
            self.licenses.push(address);
        }
        Ok(self)
    }

    fn bounded(self) -> Result<Self, WrongRule> {
        if self.disallow.len() + self.allow.len() > MAX_PATHS {
            return Err(WrongRule(format!(
                "there are more than {MAX_PATHS} paths; use * for what they have in common"
            )));
        }
        Ok(self)
    }

    /// Returns `true` if which robots are refused depends on the registry.
    pub fn needs_registry(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns the robots that are refused everything, whatever the robots.txt can say.
    pub(super) fn refused_robots(&self) -> &RefusedRobots {
        &self.refused
    }

    /// Returns the robots.txt; `robots` are those that may be refused by name.
    pub fn to_text<R: Borrow<Robot>>(&self, robots: &[R]) -> String {
        self.text(robots, None)
    }

    /// Returns the robots.txt of a main mirror, which names it (Melkov 2003).
    pub(super) fn text<R: Borrow<Robot>>(&self, robots: &[R], main: Option<&HostName>) -> String {
        let mut text = String::new();
        for license in &self.licenses {
            line(&mut text, "License", license);
        }
        let refused = self.groups(robots);
        if !refused.is_empty() {
            text.push_str(&refused);
            text.push('\n');
        }
        text.push_str("User-agent: *\n");
        line(&mut text, "Content-Signal", &self.content_signal);
        for usage in &self.content_usage {
            line(&mut text, "Content-Usage", usage);
        }
        // First, for robots that obey the first line that matches (draft-koster-robots §3.2.2); by
        // RFC 9309 §2.2.2 the longest counts, whatever the order.
        for path in &self.allow {
            line(&mut text, "Allow", path);
        }
        for path in &self.disallow {
            line(&mut text, "Disallow", path);
        }
        // A group needs a rule; an empty Disallow allows everything (robotstxt.org, 1994).
        if self.disallow.is_empty() && self.allow.is_empty() {
            text.push_str("Disallow:\n");
        }
        if !self.crawl_delay.is_zero() {
            let _ = writeln!(text, "Crawl-delay: {}", self.crawl_delay.as_secs_f64());
        }
        if let Some(main) = main {
            line(&mut text, "Host", &main.to_string());
        }
        if !self.sitemaps.is_empty() {
            text.push('\n');
        }
        for sitemap in &self.sitemaps {
            line(&mut text, "Sitemap", sitemap);
        }
        text
    }

    /// Returns the robots that are refused, and that no robots.txt can name.
    ///
    /// Where robots are held to robots.txt they are refused nevertheless.
    pub fn unnamed<'r, R: Borrow<Robot>>(&self, robots: &'r [R]) -> Vec<&'r Robot> {
        self.by_name(robots).1
    }

    /// Returns the groups of the robots that are refused everything, by their operators.
    fn groups<R: Borrow<Robot>>(&self, robots: &[R]) -> String {
        write_robots_txt(&self.by_name(robots).0).text
    }

    /// Splits the robots that are refused into those that have a name and those that have none.
    ///
    /// A name that is another robot's published token stands for that one alone.
    fn by_name<'r, R: Borrow<Robot>>(&self, robots: &'r [R]) -> (Vec<&'r Robot>, Vec<&'r Robot>) {
        let (refused, others): (Vec<&Robot>, Vec<_>) = robots
            .iter()
            .map(Borrow::borrow)
            .partition(|robot| self.refused.reason(robot).is_some());
        let taken = others
            .iter()
            .filter_map(|robot| robot.product_token.as_deref());
        let taken: HashSet<String> = taken.map(str::to_ascii_lowercase).collect();
        refused.into_iter().partition(|robot| {
            robot.token().is_ok_and(|token| {
                // Product tokens are matched without regard to case (RFC 9309 §2.2.1).
                token.is_published() || !taken.contains(&token.as_str().to_ascii_lowercase())
            })
        })
    }
}

/// Writes a line; a value that is empty makes none.
fn line(text: &mut String, field: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "{field}: {value}");
    }
}

fn checked<S: AsRef<str>>(
    items: impl IntoIterator<Item = S>,
    check: impl Fn(&str) -> Result<String, WrongRule>,
) -> Result<Vec<String>, WrongRule> {
    items
        .into_iter()
        .map(|item| check(item.as_ref().trim()))
        .collect()
}

/// Splits a line of `Content-Usage` into its path, which may be empty, and its list.
pub fn split_usage(line: &str) -> (&str, &str) {
    match line.split_once(|c: char| c.is_ascii_whitespace()) {
        Some((path, list)) if path.starts_with('/') => (path, list),
        None if line.starts_with('/') => (line, ""),
        _ => ("", line),
    }
}

fn usage(line: &str) -> Result<String, WrongRule> {
    let (about, list) = split_usage(line);
    let list = preference_list("Content-Usage", list).map_err(WrongRule)?;
    if list.is_empty() {
        let reason = "it says nothing; write such as train-ai=n, or /open/ train-ai=y";
        return Err(WrongRule(format!("{line:?}: {reason}")));
    }
    if about.is_empty() {
        return Ok(list);
    }
    Ok(format!("{} {list}", path(about)?))
}

fn path(path: &str) -> Result<String, WrongRule> {
    let wrong = |reason: &str| Err(WrongRule(format!("{path:?}: {reason}")));
    if !path.starts_with(['/', '*']) {
        return wrong("a path begins with / or *");
    }
    if path.contains('#') {
        return wrong("a # begins a comment; write %23");
    }
    // A line break would begin a line of its own, and could open another group.
    if path.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return wrong("a path has no blanks; write %20");
    }
    // Our own parser has the last word: robots have to read the path as it is written here.
    let file = format!("User-agent: *\nDisallow: {path}\n");
    let file = RobotsTxt::parse(file.as_bytes(), Dialect::rfc9309());
    let is_read = file.groups().any(|group| {
        group
            .rules
            .iter()
            .any(|rule| rule.path() == path.as_bytes())
    });
    if is_read {
        Ok(path.to_owned())
    } else {
        wrong("robots would not read it so")
    }
}

fn url(address: &str) -> Result<String, WrongRule> {
    let wrong = || {
        WrongRule(format!(
            "{address:?} is no URL such as https://www.example.com/x"
        ))
    };
    let parsed = url::Url::parse(address).map_err(|_| wrong())?;
    let is_http = matches!(parsed.scheme(), "http" | "https");
    // The file is public: a password in it would be published.
    let is_safe = parsed.username().is_empty() && parsed.password().is_none();
    let has_odd = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    if is_http && is_safe && !address.contains(has_odd) {
        Ok(address.to_owned())
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::registry::{Pattern, PatternKind, Source};

    fn robot(id: &str, purpose: Purpose, token: Option<&str>) -> Robot {
        let mut robot = Robot::new(id, Source::manual());
        robot.purpose = purpose;
        robot.product_token = token.map(str::to_owned);
        robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
        robot
    }

    #[test]
    fn everything_that_can_be_said_is_said() {
        let robots = [
            robot("trainbot", Purpose::AiTraining, Some("TrainBot")),
            robot("seobot", Purpose::Seo, Some("SeoBot")),
            robot("otherbot", Purpose::Search, Some("OtherBot")),
            robot("namelessbot", Purpose::AiTraining, None),
            robot("two words", Purpose::AiTraining, None),
            robot("otherbot", Purpose::AiTraining, None),
        ];
        let rules = RobotsTxtRules::new()
            .refuse_purposes([Purpose::AiTraining])
            .refuse_robots([" seobot"])
            .disallow(["/search", "/*.php$"])
            .and_then(|rules| rules.allow(["/search/about"]))
            .and_then(|rules| rules.sitemaps(["https://www.example.com/sitemap.xml"]))
            .and_then(|rules| rules.content_signal("search=yes,ai-train=no"))
            .and_then(|rules| rules.content_usage(["train-ai=n,search=y", "/open/  train-ai=y"]))
            .and_then(|rules| rules.licenses(["https://example.com/license.xml"]))
            .and_then(|rules| rules.license("https://example.com/archive.xml"))
            .and_then(|rules| rules.license("https://example.com/license.xml"))
            .unwrap()
            .crawl_delay(Duration::from_millis(1500));
        let main = HostName::parse("www.example.com:80").unwrap();
        assert_eq!(
            rules.text(&robots, Some(&main)),
            "License: https://example.com/license.xml\nLicense: https://example.com/archive.xml\n\
             # No operator known\nUser-agent: TrainBot\nUser-agent: SeoBot\nUser-agent: namelessbot\n\
             Disallow: /\n\n\
             User-agent: *\nContent-Signal: search=yes, ai-train=no\n\
             Content-Usage: train-ai=n, search=y\nContent-Usage: /open/ train-ai=y\n\
             Allow: /search/about\nDisallow: /search\nDisallow: /*.php$\nCrawl-delay: 1.5\n\
             Host: www.example.com\n\nSitemap: https://www.example.com/sitemap.xml\n"
        );
        // One is no word, and the name of another is the token of a robot that is let in.
        let unnamed = rules.unnamed(&robots);
        let unnamed: Vec<_> = unnamed.iter().map(|robot| robot.id.as_str()).collect();
        assert_eq!(unnamed, ["two words", "otherbot"]);
    }

    #[test]
    fn nothing_to_say_allows_everything() {
        let none: [Robot; 0] = [];
        let text = RobotsTxtRules::new().to_text(&none);
        assert_eq!(text, "User-agent: *\nDisallow:\n");
    }

    #[test]
    fn what_robots_would_read_otherwise_is_refused() {
        let rules = RobotsTxtRules::new;
        for path in ["", "a", "/a#b", "/a b", "/a\nDisallow: /", "https://x/"] {
            assert!(rules().disallow([path]).is_err(), "{path:?}");
        }
        for url in [
            "/s.xml",
            "ftp://x/",
            "https://u:p@x/",
            "https://x/\nHost: y",
        ] {
            assert!(rules().sitemaps([url]).is_err(), "{url:?}");
        }
        for signal in [
            "search",
            "search=maybe",
            "serch=yes",
            "ai-train=no\nAllow: /x",
        ] {
            assert!(rules().content_signal(signal).is_err(), "{signal:?}");
        }
        for usage in [
            "train-ai=no",
            "trian-ai=n",
            "Train-AI=n",
            "train-ai",
            "train-ai=n search=y",
            "/open/",
            "/open",
            "/a#b train-ai=n",
            "*.pdf train-ai=n",
        ] {
            assert!(rules().content_usage([usage]).is_err(), "{usage:?}");
        }
        assert!(rules().disallow(vec!["/a"; 501]).is_err());
        let twice = ["/a train-ai=n", "/a search=y"];
        assert!(rules().content_usage(twice).is_err());
        assert!(rules().license("").is_err());
        assert!(rules().licenses(["/license.xml"]).is_err());
    }
}
