//! The rules of a robots.txt file that apply to one robot.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    Permission, RequestRate, RobotsTxt, Rule,
    dialect::{CrawlDelay, Escapes, HostUse, RobotsTxtPath},
    field::Field,
    host,
    index::Decision,
    names::{is_any, value},
    parsed::Extra,
    pattern::{PathPattern, matches},
    request_rate::{crawl_delay, whole_crawl_delay},
    selection::{OwnGroups, Selection, is_for_any},
    target::{SplitUrl, is_robots_txt, target},
};

/// The rules of a robots.txt file that apply to one robot.
///
/// Cloning is cheap. An index is built after a few queries and used for later queries.
#[derive(Clone)]
pub struct RobotRules {
    file: RobotsTxt,
    /// The selected groups if a group names the robot; robots that no group names share the file's
    /// selection.
    own: Option<Arc<Selection>>,
}

impl RobotRules {
    pub(super) const fn new(file: RobotsTxt, own: Option<Arc<Selection>>) -> Self {
        Self { file, own }
    }

    /// Checks whether the robot may fetch a URL. The URL is absolute or starts with the path.
    ///
    /// The query of the URL is compared too, and a fragment is ignored. The returned permission
    /// contains the deciding rule.
    #[must_use]
    pub fn check(&self, url: &str) -> Permission<'_> {
        if self.is_exempt(url) {
            return self.unruled();
        }
        match self.decide(url) {
            Some(decision) => self.ruled(decision),
            None => self.closed(url).unwrap_or_else(|| self.unruled()),
        }
    }

    /// Returns the robot's rules in lower case, for sites whose paths are case-insensitive.
    ///
    /// Convert URLs to lower case before checking them.
    #[must_use]
    pub fn in_lower_case(&self) -> Self {
        let file = self.file.in_lower_case();
        file.select(self.own().map(|own| own.name.clone()))
    }

    /// Builds the index of the rules immediately instead of after a few queries.
    ///
    /// Afterwards, [`check`](Self::check) does not allocate for paths without escapes.
    pub fn prepare(&self) {
        let inner = &self.file.inner;
        let base = inner.url.as_deref();
        self.selection()
            .prepare(&inner.parsed, &inner.dialect, base);
    }

    /// Returns `true` if a group names the robot; otherwise the `*` groups apply.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.own.is_some()
    }

    /// Returns the pause that the robot should make between two requests.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        let mut lines = self.file.inner.parsed.extras_of(Field::CrawlDelay);
        let own = || self.of_group(Field::CrawlDelay, crawl_delay);
        match self.file.dialect().crawl_delay {
            CrawlDelay::Unknown => None,
            CrawlDelay::OwnGroup => own(),
            CrawlDelay::OwnGroupElseAny => {
                own().or_else(|| lines.find_map(|line| self.if_for_any(line)))
            }
            CrawlDelay::LastInFile => lines
                .filter(|line| line.group.is_some())
                .filter_map(|line| {
                    whole_crawl_delay(&value(self.file.octets(line), self.file.dialect()))
                })
                .last(),
        }
    }

    /// Returns the request rate that the robot should not exceed.
    #[must_use]
    pub fn request_rate(&self) -> Option<RequestRate> {
        match self.file.dialect().crawl_delay {
            CrawlDelay::Unknown | CrawlDelay::LastInFile => None,
            CrawlDelay::OwnGroup | CrawlDelay::OwnGroupElseAny => {
                self.of_group(Field::RequestRate, RequestRate::parse)
            }
        }
    }

    /// Returns the first value of a field that applies to the robot, or to all robots if no group
    /// names the robot.
    fn of_group<V>(&self, field: Field, parse: impl Fn(&[u8]) -> Option<V>) -> Option<V> {
        let mut lines = self.file.inner.parsed.extras_of(field);
        lines.find_map(|line| {
            let is_about = match self.own() {
                Some(own) => self.names(line, |value| own.name.is_meant_by(value)),
                None => self.names_any(line),
            };
            is_about.then(|| parse(self.file.octets(line))).flatten()
        })
    }

    fn if_for_any(&self, line: &Extra) -> Option<Duration> {
        self.names_any(line)
            .then(|| crawl_delay(self.file.octets(line)))
            .flatten()
    }

    fn names_any(&self, line: &Extra) -> bool {
        let dialect = self.file.dialect();
        self.names(line, |written| {
            is_any(&value(written, dialect), dialect.names)
        })
    }

    /// Returns `true` if a line applies to an agent for which `is_meant` returns `true`.
    fn names(&self, line: &Extra, is_meant: impl Fn(&[u8]) -> bool) -> bool {
        let parsed = &self.file.inner.parsed;
        let agents = parsed.agents.get(line.agents.clone()).unwrap_or_default();
        let mut values = agents.iter().map(|agent| parsed.octets(agent.value));
        values.any(is_meant)
    }

    /// Returns the fields, groups, line numbers and values of the robot's lines about the use of
    /// pages.
    pub(super) fn lines_of_use(
        &self,
    ) -> impl Iterator<Item = (Field, Option<usize>, usize, &[u8])> {
        let inner = &self.file.inner;
        let of_all = move |group: usize| {
            let group = inner.parsed.groups.get(group);
            group.is_some_and(|group| is_for_any(&inner.parsed, &inner.dialect, group))
        };
        let applies = move |group: usize| {
            self.own()
                .map_or_else(|| of_all(group), |own| own.names(group))
        };
        let is_about_use =
            |extra: &&Extra| matches!(extra.field, Field::ContentUsage | Field::ContentSignal);
        let lines = inner.parsed.extras.iter().filter(is_about_use);
        lines
            .filter(move |extra| extra.group.is_none_or(applies))
            .map(|extra| {
                (
                    extra.field,
                    extra.group,
                    extra.line as usize,
                    self.file.octets(extra),
                )
            })
    }

    /// Returns the length of a path that matches a URL, as for rules.
    pub(super) fn path_length(&self, path: &[u8], url: &str) -> Option<usize> {
        let dialect = self.file.dialect();
        let pattern = PathPattern::new(path, dialect)?;
        let target = target(url, dialect.escapes)?;
        let texts = pattern.texts.iter().map(AsRef::as_ref);
        matches(texts, pattern.ends, &target).then_some(pattern.length)
    }

    /// Returns `true` if a URL may be fetched regardless of the rules.
    fn is_exempt(&self, url: &str) -> bool {
        let dialect = self.file.dialect();
        match dialect.robots_txt {
            RobotsTxtPath::Allowed => is_robots_txt(url, false),
            RobotsTxtPath::AllowedAnyCase => is_robots_txt(url, true),
            RobotsTxtPath::Ruled => {
                dialect.escapes == Escapes::Resolved && is_of_another_scheme(url)
            }
        }
    }

    fn decide(&self, url: &str) -> Option<Decision> {
        let inner = &self.file.inner;
        let path = target(url, inner.dialect.escapes);
        self.selection().decide(
            &inner.parsed,
            &inner.dialect,
            inner.url.as_deref(),
            path.as_deref(),
        )
    }

    fn ruled(&self, decision: Decision) -> Permission<'_> {
        let parsed = &self.file.inner.parsed;
        let rule = parsed.rules.get(decision.rule).map(|rule| Rule {
            line: rule.line as usize,
            allow: rule.allow,
            path: parsed.octets(rule.path),
            implied: false,
        });
        Permission {
            allowed: decision.allow,
            rule,
            group_line: self.line_of(decision.group),
            fallback: !self.own().is_some_and(|own| own.names(decision.group)),
        }
    }

    /// Returns the permission that applies if no rule matches.
    fn unruled(&self) -> Permission<'_> {
        Permission {
            allowed: true,
            rule: None,
            group_line: self.first_group().and_then(|at| self.line_of(at)),
            fallback: !self.is_named(),
        }
    }

    /// Returns the implied refusal if the group has valid `Host` lines but none of them names the
    /// site.
    fn closed(&self, url: &str) -> Option<Permission<'_>> {
        let inner = &self.file.inner;
        if inner.dialect.host != HostUse::CloseMirrors {
            return None;
        }
        // If the file's URL is unknown, assume that the page is on the same host.
        let here = SplitUrl::parse(inner.url.as_deref().unwrap_or(url));
        let (host, port) = here.host_and_port()?;
        let group = self.first_group()?;
        let lines = inner.parsed.extras_of(Field::Host);
        let ours = lines.filter(|line| line.group == Some(group));
        let mut last = None;
        for line in ours.filter(|line| host::is_host(self.file.octets(line))) {
            if host::names_host(self.file.octets(line), host, port) {
                return None;
            }
            last = Some(line.line as usize);
        }
        Some(Permission {
            allowed: false,
            rule: Some(Rule {
                line: last?,
                allow: false,
                path: b"/",
                implied: true,
            }),
            ..self.unruled()
        })
    }

    fn selection(&self) -> &Selection {
        match &self.own {
            Some(own) => own,
            None => &self.file.inner.any,
        }
    }

    fn own(&self) -> Option<&OwnGroups> {
        self.own.as_ref()?.own.as_ref()
    }

    fn first_group(&self) -> Option<usize> {
        let inner = &self.file.inner;
        self.selection().first_group(&inner.parsed, &inner.dialect)
    }

    fn line_of(&self, group: usize) -> Option<usize> {
        let parsed = &self.file.inner.parsed;
        parsed.groups.get(group).map(|group| parsed.line_of(group))
    }
}

/// Returns `true` if a URL is absolute and its scheme is neither http nor https.
fn is_of_another_scheme(url: &str) -> bool {
    SplitUrl::parse(url).origin.is_some_and(|(scheme, _)| {
        !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https")
    })
}

impl fmt::Debug for RobotRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ForRobot")
            .field("file", &self.file)
            .field("named", &self.is_named())
            .finish_non_exhaustive()
    }
}
