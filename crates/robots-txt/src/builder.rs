//! A robots.txt to be written.

use std::{fmt, time::Duration};

use super::{
    Dialect, RequestRate, RobotsTxt,
    written::{Path, Text},
};

/// Builder of a robots.txt: its `Display` is the file.
///
/// No value can forge another line. Paths and URLs are percent-encoded where
/// they would end their line; in names and sentences, such characters become
/// U+FFFD. Whether values make sense tells [`RobotsTxt::warnings`] of what was
/// [built](Self::build).
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use robot_detection_robots_txt::{GroupBuilder, RobotsTxt};
///
/// let text = RobotsTxt::builder()
///     .comment("Written by robot-detection")
///     .group(GroupBuilder::new("ExampleBot").agent("OtherBot").disallow("/"))
///     .group(
///         GroupBuilder::new("*")
///             .content_signal("search=yes, ai-train=no")
///             .disallow("/private/")
///             .crawl_delay(Duration::from_secs(5)),
///     )
///     .sitemap("https://shop.example/sitemap.xml")
///     .to_string();
/// assert_eq!(text, "\
/// ## Written by robot-detection
///
/// User-agent: ExampleBot
/// User-agent: OtherBot
/// Disallow: /
///
/// User-agent: *
/// Content-Signal: search=yes, ai-train=no
/// Disallow: /private/
/// Crawl-delay: 5
///
/// Sitemap: https://shop.example/sitemap.xml
/// ".replace("##", "#"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RobotsTxtBuilder {
    comments: Vec<String>,
    groups: Vec<GroupBuilder>,
    /// Lines that are about the whole file, each a field and its value.
    ends: Vec<(&'static str, Value)>,
}

/// Builder of a group: robots, and what they are asked for.
#[derive(Clone, Debug)]
pub struct GroupBuilder {
    comments: Vec<String>,
    agents: Vec<String>,
    signals: Vec<(&'static str, String)>,
    /// Whether each is `Allow`, and its path.
    rules: Vec<(bool, String)>,
    crawl_delay: Option<Duration>,
    request_rate: Option<RequestRate>,
}

#[derive(Clone, Debug)]
enum Value {
    Url(String),
    Text(String),
}

impl RobotsTxt {
    /// Returns a builder of a file without lines.
    #[must_use]
    pub fn builder() -> RobotsTxtBuilder {
        RobotsTxtBuilder::default()
    }
}

impl RobotsTxtBuilder {
    /// Adds a comment at the beginning, each line of the text one.
    #[must_use]
    pub fn comment(mut self, text: &str) -> Self {
        self.comments.extend(text.lines().map(str::to_owned));
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: GroupBuilder) -> Self {
        self.groups.push(group);
        self
    }

    /// Adds the absolute URL of a sitemap.
    #[must_use]
    pub fn sitemap(self, url: &str) -> Self {
        self.end("Sitemap", Value::Url(url.to_owned()))
    }

    /// Adds the main name of the site, for Yandex (Melkov 2003) and Geoportal.
    #[must_use]
    pub fn host(self, host: &str) -> Self {
        self.end("Host", Value::Text(host.to_owned()))
    }

    /// Adds parameters that do not change a page below a path, for Yandex.
    #[must_use]
    pub fn clean_param(self, names: &[&str], path: &str) -> Self {
        // A blank would end the names and begin the path.
        let names = names.join("&").replace(char::is_whitespace, "+");
        self.end("Clean-param", Value::Url(format!("{names} {path}")))
    }

    /// Adds the absolute URL of the terms of use (Really Simple Licensing).
    #[must_use]
    pub fn license(self, url: &str) -> Self {
        self.end("License", Value::Url(url.to_owned()))
    }

    /// Parses the file that was built.
    #[must_use]
    pub fn build(&self, dialect: Dialect) -> RobotsTxt {
        RobotsTxt::parse(self.to_string().as_bytes(), dialect)
    }

    fn end(mut self, field: &'static str, value: Value) -> Self {
        self.ends.push((field, value));
        self
    }
}

impl GroupBuilder {
    /// Creates a group about a robot, by its product token, or `*` for all others.
    #[must_use]
    pub fn new(agent: &str) -> Self {
        Self {
            comments: Vec::new(),
            agents: vec![agent.to_owned()],
            signals: Vec::new(),
            rules: Vec::new(),
            crawl_delay: None,
            request_rate: None,
        }
    }

    /// Adds another robot.
    #[must_use]
    pub fn agent(mut self, agent: &str) -> Self {
        self.agents.push(agent.to_owned());
        self
    }

    /// Adds a comment above the group, each line of the text one.
    #[must_use]
    pub fn comment(mut self, text: &str) -> Self {
        self.comments.extend(text.lines().map(str::to_owned));
        self
    }

    /// Allows what a path pattern matches.
    ///
    /// A group without any rule is written with `Allow: /`: otherwise its robots
    /// would share the rules of the group below it.
    #[must_use]
    pub fn allow(mut self, path: &str) -> Self {
        self.rules.push((true, path.to_owned()));
        self
    }

    /// Refuses what a path pattern matches.
    #[must_use]
    pub fn disallow(mut self, path: &str) -> Self {
        self.rules.push((false, path.to_owned()));
        self
    }

    /// Sets the pause that is asked for between two requests.
    #[must_use]
    pub const fn crawl_delay(mut self, delay: Duration) -> Self {
        self.crawl_delay = Some(delay);
        self
    }

    /// Sets the rate that is asked for; a period is written in whole seconds, rounded up.
    #[must_use]
    pub const fn request_rate(mut self, rate: RequestRate) -> Self {
        self.request_rate = Some(rate);
        self
    }

    /// Adds a preference such as `search=yes, ai-train=no` (contentsignals.org).
    #[must_use]
    pub fn content_signal(mut self, signal: &str) -> Self {
        self.signals.push(("Content-Signal", signal.to_owned()));
        self
    }

    /// Adds a preference such as `train-ai=n`, a path before it or not (IETF AI Preferences).
    #[must_use]
    pub fn content_usage(mut self, usage: &str) -> Self {
        self.signals.push(("Content-Usage", usage.to_owned()));
        self
    }
}

impl fmt::Display for RobotsTxtBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        comments(&self.comments, formatter)?;
        let mut is_first = self.comments.is_empty();
        for group in &self.groups {
            separate(&mut is_first, formatter)?;
            group.fmt(formatter)?;
        }
        if !self.ends.is_empty() {
            separate(&mut is_first, formatter)?;
        }
        for (field, value) in &self.ends {
            match value {
                // Blanks around a URL are a slip: `Path` would keep them as `%20`.
                Value::Url(url) => writeln!(formatter, "{field}: {}", Path(url.trim().as_bytes()))?,
                Value::Text(text) => writeln!(formatter, "{field}: {}", Text(text.as_bytes()))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for GroupBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        comments(&self.comments, formatter)?;
        for agent in &self.agents {
            // In old dialects, a name that is empty is part of everybody's.
            let agent = if agent.trim().is_empty() {
                "\u{fffd}"
            } else {
                agent
            };
            writeln!(formatter, "User-agent: {}", Text(agent.as_bytes()))?;
        }
        for (field, signal) in &self.signals {
            writeln!(formatter, "{field}: {}", Text(signal.as_bytes()))?;
        }
        for (is_allow, path) in &self.rules {
            let field = if *is_allow { "Allow" } else { "Disallow" };
            let line = format!("{field}: {}", Path(path.as_bytes()));
            writeln!(formatter, "{}", line.trim_end())?;
        }
        if self.rules.is_empty() {
            writeln!(formatter, "Allow: /")?;
        }
        if let Some(delay) = self.crawl_delay {
            writeln!(formatter, "Crawl-delay: {}", delay.as_secs_f64())?;
        }
        if let Some(rate) = self.request_rate {
            let seconds = rate.period.as_millis().div_ceil(1_000);
            writeln!(formatter, "Request-rate: {}/{seconds}", rate.requests)?;
        }
        Ok(())
    }
}

fn comments(comments: &[String], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for comment in comments {
        let comment = Text(comment.as_bytes()).to_string();
        writeln!(formatter, "{}", format!("# {comment}").trim_end())?;
    }
    Ok(())
}

/// Writes a blank line, but not at the beginning.
fn separate(is_first: &mut bool, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    if std::mem::replace(is_first, false) {
        return Ok(());
    }
    writeln!(formatter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a builder says, and what is read of it: agents, then rules, of each group.
    type Groups = Vec<(Vec<String>, Vec<(bool, String)>)>;

    fn groups(file: &RobotsTxt) -> Groups {
        let groups = file.groups().map(|group| {
            let rules = group.rules.iter().map(|rule| {
                let path = String::from_utf8(rule.path().to_vec()).expect("text was written");
                (rule.is_allow(), path)
            });
            let agents = group.agents.iter().map(ToString::to_string);
            (agents.collect(), rules.collect())
        });
        groups.collect()
    }

    fn built(groups: &Groups) -> RobotsTxtBuilder {
        let mut builder = RobotsTxt::builder().comment("All of it\nis invented");
        for (agents, rules) in groups {
            let (first, rest) = agents.split_first().expect("an agent");
            let group = rest
                .iter()
                .fold(GroupBuilder::new(first), |group, agent| group.agent(agent));
            let group = rules.iter().fold(group, |group, (is_allow, path)| {
                if *is_allow {
                    group.allow(path)
                } else {
                    group.disallow(path)
                }
            });
            builder = builder.group(group);
        }
        builder
    }

    fn any_groups(
        agent: impl Strategy<Value = String>,
        path: impl Strategy<Value = String>,
    ) -> impl Strategy<Value = Groups> {
        let agents = proptest::collection::vec(agent, 1..4);
        let rules = proptest::collection::vec((any::<bool>(), path), 1..5);
        proptest::collection::vec((agents, rules), 0..5)
    }

    #[test]
    fn a_group_without_rules_does_not_join_the_next() {
        let file = RobotsTxt::builder()
            .group(GroupBuilder::new("a").crawl_delay(Duration::from_millis(500)))
            .group(GroupBuilder::new("b").disallow("/"));
        for dialect in [
            Dialect::rfc9309(),
            Dialect::google(),
            Dialect::v1(),
            Dialect::v0(),
        ] {
            let file = file.build(dialect);
            assert!(file.for_robot("a").check("/x").allowed(), "{dialect}");
            assert!(!file.for_robot("b").check("/x").allowed(), "{dialect}");
        }
        let robot = file.build(Dialect::rfc9309()).for_robot("a");
        assert_eq!(robot.crawl_delay(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn no_value_forges_a_line() {
        let evil = "x\r\nUser-agent: *\nDisallow: /\u{2028}Disallow: /\n";
        let rate = RequestRate::new(2, Duration::from_millis(1_500)).expect("a rate");
        let builder = RobotsTxt::builder()
            .comment(evil)
            .group(
                GroupBuilder::new(evil)
                    .comment(evil)
                    .agent("")
                    .content_signal(evil)
                    .content_usage(evil)
                    .allow(evil)
                    .request_rate(rate),
            )
            .sitemap(evil)
            .host(evil)
            .clean_param(&[evil, "a b"], evil)
            .license(evil);
        for name in Dialect::names() {
            let file = builder.build(name.parse().expect("a preset"));
            assert_eq!(file.groups().count(), 1, "{name}");
            assert!(file.for_robot("AnyRobot").check("/x").allowed(), "{name}");
            assert_eq!(file.sitemaps().count(), 1, "{name}");
        }
        let text = builder.to_string();
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(lines.count(), 10, "{text}");
        assert!(text.contains("\nRequest-rate: 2/2\n"));
    }

    proptest! {
        #[test]
        fn what_is_built_is_what_is_read(
            groups_in in any_groups(
                "[A-Za-z][A-Za-z_-]{0,8}|\\*".prop_map(|name| name),
                "|(/[a-zä%*$?= ]{0,6}[a-z])".prop_map(|path| path),
            ),
            sitemaps in proptest::collection::vec("https://[a-z]{1,5}/[a-zé?&=]{0,5}", 0..3),
            host in proptest::option::of("[a-z]{1,5}\\.example(:[1-9]{1,3})?"),
        ) {
            let mut builder = built(&groups_in);
            for url in &sitemaps {
                builder = builder.sitemap(url);
            }
            if let Some(host) = &host {
                builder = builder.host(host);
            }
            let file = builder.build(Dialect::rfc9309());
            prop_assert_eq!(groups(&file), groups_in);
            prop_assert!(file.sitemaps().eq(sitemaps));
            prop_assert_eq!(file.host().map(String::from), host);
            // Written again it is the same file.
            let again = RobotsTxt::parse(file.to_string().as_bytes(), Dialect::rfc9309());
            prop_assert_eq!(groups(&again), groups(&file));
            prop_assert!(again.sitemaps().eq(file.sitemaps()));
            prop_assert_eq!(again.host(), file.host());
        }

        #[test]
        fn any_values_make_as_many_groups_and_rules(
            groups_in in any_groups(".{0,20}|(?s:.{0,20})", "(?s:.{0,20})"),
        ) {
            let file = built(&groups_in).build(Dialect::rfc9309());
            let read = groups(&file);
            prop_assert_eq!(read.len(), groups_in.len());
            for (read, asked) in read.iter().zip(&groups_in) {
                prop_assert_eq!((read.0.len(), read.1.len()), (asked.0.len(), asked.1.len()));
            }
        }
    }
}
