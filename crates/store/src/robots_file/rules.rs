//! Robots.txt rules from the settings, and the file generated from these rules.

use std::{borrow::Borrow, collections::HashSet, fmt::Write as _, time::Duration};

use robot_detection_layer::policy::{HostName, RefusedRobots};
use robot_detection_layer::registry::{Purpose, Robot, write_robots_txt};
use robot_detection_robots_txt::{Dialect, PolicyToken, RobotsTxt, preference_list};

/// The maximum number of paths in `Disallow` and `Allow` rules combined.
const MAX_PATHS: usize = 500;

/// Rules for a robots.txt file that is generated from the settings.
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
/// let text = rules.text(&bundled().robots, None);
/// assert!(text.contains("User-agent: GPTBot\n"));
/// assert!(text.contains("User-agent: *\nDisallow: /search\n"));
/// # Ok::<(), robot_detection_store::robots_file::InvalidRule>(())
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

/// The error for a value that cannot be used in a robots.txt file; the message contains advice.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRule(String);

impl RobotsTxtRules {
    /// Creates robots.txt rules that disallow nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Disallows everything for robots with the given purposes.
    ///
    /// The file identifies robots by their product tokens in the registry, or else by their
    /// [names](Robot::token). Enforcement also covers robots that cannot be identified this way.
    pub fn refuse_purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.refused = self.refused.purposes(purposes);
        self
    }

    /// Disallows everything for the robots with the given IDs.
    pub fn refuse_robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        let ids = ids.into_iter().map(|id| id.as_ref().trim().to_owned());
        self.refused = self.refused.ids(ids);
        self
    }

    /// Disallows the given paths for every robot.
    ///
    /// # Errors
    ///
    /// Returns an error if a path does not begin with `/` or `*`, contains blanks or a `#`, or if
    /// there are more than 500 paths.
    pub fn disallow<S: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidRule> {
        self.disallow = checked(paths, path)?;
        self.bounded()
    }

    /// Allows the given paths, even if they are within disallowed paths.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`disallow`](Self::disallow).
    pub fn allow<S: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidRule> {
        self.allow = checked(paths, path)?;
        self.bounded()
    }

    /// Sets the `Crawl-delay` between two requests from a robot; the line is omitted if the delay
    /// is zero.
    pub fn crawl_delay(mut self, delay: Duration) -> Self {
        self.crawl_delay = delay;
        self
    }

    /// Sets the URLs of the sitemaps.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is not an `http:` or `https:` URL.
    pub fn sitemaps<S: AsRef<str>>(
        mut self,
        urls: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidRule> {
        self.sitemaps = checked(urls, url)?;
        Ok(self)
    }

    /// Adds a sitemap unless it is already listed.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not an `http:` or `https:` URL.
    pub fn sitemap(mut self, address: &str) -> Result<Self, InvalidRule> {
        let address = url(address)?;
        if !self.sitemaps.contains(&address) {
            self.sitemaps.push(address);
        }
        Ok(self)
    }

    /// Sets the permitted uses of the content as a `Content-Signal` line; the line is omitted if
    /// the text is empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a list such as `search=yes, ai-train=no`, or contains
    /// unknown words.
    pub fn content_signal(mut self, signals: &str) -> Result<Self, InvalidRule> {
        self.content_signal = preference_list("Content-Signal", signals).map_err(InvalidRule)?;
        Ok(self)
    }

    /// Sets the permitted uses as `Content-Usage` lines (draft-ietf-aipref-attach §3.1), if any.
    ///
    /// A line that begins with a path applies to everything below this path; any other line applies
    /// to all paths.
    ///
    /// # Errors
    ///
    /// Returns an error if a line is not a list such as `train-ai=n, search=y`, if it contains
    /// unknown words, or if two lines have the same path.
    pub fn content_usage<S: AsRef<str>>(
        mut self,
        lines: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidRule> {
        self.content_usage = checked(lines, usage)?;
        let mut paths = HashSet::new();
        let mut lines = self.content_usage.iter();
        if let Some(line) = lines.find(|line| !paths.insert(split_usage(line).0)) {
            let reason = "another line has the same path; join the lines with a comma";
            return Err(InvalidRule(format!("{line:?}: {reason}")));
        }
        Ok(self)
    }

    /// Sets the content's licenses as `License` lines (RSL 1.0 §4.4); empty by default.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is not an `http:` or `https:` URL.
    pub fn licenses<S: AsRef<str>>(
        mut self,
        urls: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidRule> {
        self.licenses = checked(urls, url)?;
        Ok(self)
    }

    /// Adds a license unless it is already listed.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not an `http:` or `https:` URL.
    pub fn license(mut self, address: &str) -> Result<Self, InvalidRule> {
        let address = url(address)?;
        if !self.licenses.contains(&address) {
            self.licenses.push(address);
        }
        Ok(self)
    }

    fn bounded(self) -> Result<Self, InvalidRule> {
        if self.disallow.len() + self.allow.len() > MAX_PATHS {
            return Err(InvalidRule(format!(
                "there are more than {MAX_PATHS} paths; combine some paths with *"
            )));
        }
        Ok(self)
    }

    /// Returns `true` if the set of disallowed robots depends on the registry.
    pub fn needs_registry(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns the robots for which everything is disallowed, including those that robots.txt
    /// cannot identify.
    pub(super) fn refused_robots(&self) -> &RefusedRobots {
        &self.refused
    }

    /// Returns the text of the robots.txt file, with a `Host` line if there is a main mirror
    /// (Melkov 2003). `robots` contains the robots that may be disallowed by name.
    pub fn text<R: Borrow<Robot>>(&self, robots: &[R], main: Option<&HostName>) -> String {
        let mut text = String::new();
        for license in &self.licenses {
            line(&mut text, "License", license);
        }
        let refused = self.groups(robots);
        if !refused.is_empty() {
            text.push_str(&refused);
            text.push('\n');
        }
        for token in &PolicyToken::ALL {
            text.push_str(&self.policy_group(token));
        }
        text.push_str("User-agent: *\n");
        line(&mut text, "Content-Signal", &self.content_signal);
        for usage in &self.content_usage {
            line(&mut text, "Content-Usage", usage);
        }
        // Allow lines come first, for robots that obey the first matching line (draft-koster-robots
        // §3.2.2); by RFC 9309 §2.2.2 the longest match wins, in any order.
        for path in &self.allow {
            line(&mut text, "Allow", path);
        }
        for path in &self.disallow {
            line(&mut text, "Disallow", path);
        }
        // A group must contain a rule; an empty Disallow allows everything (robotstxt.org, 1994).
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

    /// Returns the group that states for which paths a use is permitted, from `Content-Usage` and
    /// the refused purposes; empty if the use is forbidden nowhere.
    fn policy_group(&self, token: &PolicyToken) -> String {
        let mut rules = Vec::new();
        for usage in &self.content_usage {
            let (path, list) = split_usage(usage);
            let path = if path.is_empty() { "/" } else { path };
            let members = list.split(',').rev();
            let mut members = members.filter_map(|member| member.trim().split_once('='));
            let value = members.find(|(label, _)| *label == token.usage);
            rules.extend(value.map(|(_, value)| (path, value == "y")));
        }
        let is_refused = token.usage == "train-ai" && self.refused.has_purpose(Purpose::AiTraining);
        if is_refused && !rules.iter().any(|(path, _)| *path == "/") {
            rules.push(("/", false));
        }
        let mut text = String::new();
        if rules.iter().any(|(_, allows)| !allows) {
            let _ = writeln!(text, "User-agent: {}", token.token);
            for (path, allows) in rules {
                line(&mut text, if allows { "Allow" } else { "Disallow" }, path);
            }
            text.push('\n');
        }
        text
    }

    /// Returns the disallowed robots that robots.txt cannot identify by name.
    ///
    /// When robots.txt is enforced, requests from these robots are refused nevertheless.
    pub fn unnameable<'r, R: Borrow<Robot>>(&self, robots: &'r [R]) -> Vec<&'r Robot> {
        self.by_name(robots).1
    }

    /// Returns the robots.txt groups of the robots for which everything is disallowed.
    fn groups<R: Borrow<Robot>>(&self, robots: &[R]) -> String {
        write_robots_txt(&self.by_name(robots).0).text
    }

    /// Splits the disallowed robots into those that robots.txt can identify by name and the rest.
    ///
    /// A name that is also the published token of another robot identifies only the other robot.
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
                // Product tokens are case-insensitive (RFC 9309 §2.2.1).
                token.is_published() || !taken.contains(&token.as_str().to_ascii_lowercase())
            })
        })
    }
}

/// Appends a line to a robots.txt file unless the value is empty.
fn line(text: &mut String, field: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "{field}: {value}");
    }
}

fn checked<S: AsRef<str>>(
    items: impl IntoIterator<Item = S>,
    check: impl Fn(&str) -> Result<String, InvalidRule>,
) -> Result<Vec<String>, InvalidRule> {
    items
        .into_iter()
        .map(|item| check(item.as_ref().trim()))
        .collect()
}

/// Splits a `Content-Usage` line into its path, which may be empty, and its list of uses.
pub fn split_usage(line: &str) -> (&str, &str) {
    match line.split_once(|c: char| c.is_ascii_whitespace()) {
        Some((path, list)) if path.starts_with('/') => (path, list),
        None if line.starts_with('/') => (line, ""),
        _ => ("", line),
    }
}

fn usage(line: &str) -> Result<String, InvalidRule> {
    let (about, list) = split_usage(line);
    if about.is_empty() && list.contains('/') {
        let reason = "a path must begin with /, as in /open/ train-ai=y";
        return Err(InvalidRule(format!("{line:?}: {reason}")));
    }
    let list = preference_list("Content-Usage", list).map_err(InvalidRule)?;
    if list.is_empty() {
        let reason = "the list is empty; write, for example, train-ai=n or /open/ train-ai=y";
        return Err(InvalidRule(format!("{line:?}: {reason}")));
    }
    if about.is_empty() {
        return Ok(list);
    }
    Ok(format!("{} {list}", path(about)?))
}

fn path(path: &str) -> Result<String, InvalidRule> {
    let wrong = |reason: &str| Err(InvalidRule(format!("{path:?}: {reason}")));
    if !path.starts_with(['/', '*']) {
        return wrong("a path must begin with / or *");
    }
    if path.contains('#') {
        return wrong("# would start a comment; write %23");
    }
    // A line break would start a new line, which could start another group.
    if path.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return wrong("a path cannot contain blanks; write %20");
    }
    // Verify with our own parser that robots read the path as written.
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
        wrong("robots would interpret the path differently")
    }
}

fn url(address: &str) -> Result<String, InvalidRule> {
    let wrong = || {
        InvalidRule(format!(
            "{address:?} is not a URL such as https://www.example.com/x"
        ))
    };
    let parsed = url::Url::parse(address).map_err(|_| wrong())?;
    let is_http = matches!(parsed.scheme(), "http" | "https");
    // The file is public, so a password in it would be published.
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
    fn all_settings_appear_in_the_file() {
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
             User-agent: __usage_ai-training\nDisallow: /\nAllow: /open/\n\n\
             User-agent: *\nContent-Signal: search=yes, ai-train=no\n\
             Content-Usage: train-ai=n, search=y\nContent-Usage: /open/ train-ai=y\n\
             Allow: /search/about\nDisallow: /search\nDisallow: /*.php$\nCrawl-delay: 1.5\n\
             Host: www.example.com\n\nSitemap: https://www.example.com/sitemap.xml\n"
        );
        // The first name is not a single word, the second is the token of an allowed robot.
        let unnamed = rules.unnameable(&robots);
        let unnamed: Vec<_> = unnamed.iter().map(|robot| robot.id.as_str()).collect();
        assert_eq!(unnamed, ["two words", "otherbot"]);
    }

    #[test]
    fn empty_rules_allow_everything() {
        let none: [Robot; 0] = [];
        let text = RobotsTxtRules::new().text(&none, None);
        assert_eq!(text, "User-agent: *\nDisallow:\n");
    }

    #[test]
    fn values_that_robots_would_misread_are_rejected() {
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
