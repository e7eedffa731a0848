//! Plan of where the robots.txt of each host comes from.

use crate::fetch::{Conditions, Fetcher, shown_url};
use robot_detection_layer::policy::{HostMap, HostName, RefusedRobots};
use robot_detection_layer::registry::Robot;

use super::{
    RobotsTxtRules,
    upstream::{FetchOutcome, LIMITS},
};

/// Origin of a robots.txt.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotsTxtContent {
    /// The upstream, or the application, answers itself.
    #[default]
    Pass,
    /// A file of the site's, served as it is.
    File {
        /// Its octets.
        text: Vec<u8>,
        /// When it was changed, in milliseconds since 1970.
        modified_ms: Option<i64>,
    },
    /// Rules of our own.
    Settings(RobotsTxtRules),
    /// Rules of our own, merged over the upstream's.
    Merge(RobotsTxtRules),
}

/// Plan of what `/robots.txt` is on each host.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::HostName;
/// use robot_detection_store::robots_file::{RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules};
///
/// let rules = RobotsTxtRules::new().disallow(["/search"])?;
/// let host = |name| HostName::parse(name).expect("a name");
/// let plan = RobotsTxtPlan::new(RobotsTxtContent::Settings(rules.clone())).mirrors(
///     &host("www.example.com"),
///     [host("example.com"), host("example.net")],
///     RobotsTxtContent::Settings(rules),
/// );
/// assert_eq!(plan.who_answers(Some("example.net")), "this program, for a mirror of www.example.com");
/// # Ok::<(), robot_detection_store::robots_file::WrongRule>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RobotsTxtPlan {
    pub(super) entries: HostMap<Entry>,
    pub(super) upstream: Option<Upstream>,
}

/// What one host serves.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A file; that of a main mirror names it.
    Content {
        content: Box<RobotsTxtContent>,
        main: Option<HostName>,
    },
    /// Nothing is to be fetched here, but there (Melkov 2003).
    MirrorOf(HostName),
}

/// Server whose robots.txt is passed or merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Upstream {
    /// Its URL, without a slash at the end.
    pub(super) url: String,
    /// It is asked by the name of each host, as visitors' requests are passed to it.
    pub(super) preserve_host: bool,
    /// Name by which it is asked for all other hosts.
    pub(super) host: Option<String>,
}

impl Entry {
    fn of(content: RobotsTxtContent, main: Option<HostName>) -> Self {
        Self::Content {
            content: Box::new(content),
            main,
        }
    }

    fn content(&self) -> Option<&RobotsTxtContent> {
        match self {
            Self::Content { content, .. } => Some(content),
            Self::MirrorOf(_) => None,
        }
    }

    /// Returns the robots that are refused everything here, if our rules are served.
    pub(super) fn refused(&self) -> Option<&RefusedRobots> {
        self.rules().map(RobotsTxtRules::refused_robots)
    }

    /// Returns our rules, if they are served here.
    fn rules(&self) -> Option<&RobotsTxtRules> {
        match self.content()? {
            RobotsTxtContent::Settings(rules) | RobotsTxtContent::Merge(rules) => Some(rules),
            RobotsTxtContent::Pass | RobotsTxtContent::File { .. } => None,
        }
    }
}

impl RobotsTxtPlan {
    /// Creates the plan of a site that serves the same everywhere.
    pub fn new(content: RobotsTxtContent) -> Self {
        Self {
            entries: HostMap::everywhere(Entry::of(content, None)),
            upstream: None,
        }
    }

    /// Adds a host with a robots.txt of its own.
    pub fn host(self, host: &HostName, content: RobotsTxtContent) -> Self {
        self.entry(host, Entry::of(content, None))
    }

    /// Adds a site with several names, of which one is the main mirror.
    ///
    /// The main mirror serves `content` with a `Host` line; what the upstream
    /// answers itself stays as it is. The others refuse everything and name
    /// the main mirror, as the proposal for the `Host` directive says
    /// (A. Melkov, www-talk, 2003), whether or not a robot knows the directive.
    pub fn mirrors(
        self,
        main: &HostName,
        others: impl IntoIterator<Item = HostName>,
        content: RobotsTxtContent,
    ) -> Self {
        let mut plan = self;
        for other in others {
            plan = plan.entry(&other, Entry::MirrorOf(main.clone()));
        }
        plan.entry(main, Entry::of(content, Some(main.clone())))
    }

    /// Names the server whose robots.txt is merged, and held against robots where it passes.
    ///
    /// With `preserve_host` it is asked for each host by its name, and by `host`
    /// for all others.
    pub fn upstream(mut self, url: &str, preserve_host: bool, host: Option<&str>) -> Self {
        self.upstream = Some(Upstream {
            url: url.trim_end_matches('/').to_owned(),
            preserve_host,
            host: host.map(str::to_owned),
        });
        self
    }

    /// Returns who answers for `/robots.txt` on a host, and from what.
    pub fn who_answers(&self, host: Option<&str>) -> String {
        let upstream = match &self.upstream {
            Some(upstream) => shown_url(&upstream.url).trim_end_matches('/').to_owned(),
            None => "the site itself".to_owned(),
        };
        match self.entries.of(host) {
            Some(Entry::MirrorOf(main)) => format!("this program, for a mirror of {main}"),
            Some(Entry::Content { content, .. }) => match content.as_ref() {
                RobotsTxtContent::Pass => upstream,
                RobotsTxtContent::File { .. } => "this program, from a file".to_owned(),
                RobotsTxtContent::Settings(_) => "this program, from its settings".to_owned(),
                RobotsTxtContent::Merge(_) => {
                    format!("this program, with its settings over what {upstream} serves")
                }
            },
            None => upstream,
        }
    }

    /// Returns `true` if which robots are refused somewhere depends on the registry.
    pub fn needs_registry(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(_, entry)| entry.refused().is_some_and(|refused| !refused.is_empty()))
    }

    /// Returns the robots that are refused and that robots.txt cannot name, by host.
    ///
    /// `None` is every host without a robots.txt of its own.
    pub fn unnamed<'r>(&self, robots: &'r [Robot]) -> Vec<(Option<&str>, Vec<&'r Robot>)> {
        let entries = self.entries.iter();
        let unnamed = entries.filter_map(|(host, entry)| {
            let unnamed = entry.rules()?.unnamed(robots);
            (!unnamed.is_empty()).then_some((host, unnamed))
        });
        let mut unnamed: Vec<_> = unnamed.collect();
        unnamed.sort_by_key(|(host, _)| *host);
        unnamed
    }

    /// Fetches each file that is needed of the upstream, and describes it.
    ///
    /// # Errors
    ///
    /// Each that cannot be fetched says why.
    pub async fn check_upstream(&self) -> Vec<Result<String, String>> {
        let (Some(upstream), Ok(fetcher)) = (&self.upstream, Fetcher::new(LIMITS)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for host in self.fetched() {
            let name = host.as_deref();
            let outcome = upstream.fetch(&fetcher, name, &Conditions::default()).await;
            let whose = match name {
                Some(name) => format!("that of the upstream for {name}"),
                None => "that of the upstream".to_owned(),
            };
            found.push(match outcome {
                FetchOutcome::Failed(reason) => Err(format!("{whose} is not known: {reason}")),
                FetchOutcome::File {
                    remark: Some(remark),
                    ..
                } => Err(format!("{whose} {remark}")),
                FetchOutcome::File { text, .. } if text.is_empty() => {
                    Ok(format!("{whose} is empty or missing: it allows everything"))
                }
                FetchOutcome::File { text, .. } => Ok(format!("{whose} has {} bytes", text.len())),
                FetchOutcome::Same { .. } => Ok(format!("{whose} is the same")),
            });
        }
        found
    }

    /// Returns the hosts for which the upstream's robots.txt has to be known.
    ///
    /// `None` is every host without an entry of its own.
    pub(super) fn fetched(&self) -> Vec<Option<String>> {
        let is_theirs = |content: &RobotsTxtContent| {
            matches!(content, RobotsTxtContent::Pass | RobotsTxtContent::Merge(_))
        };
        let needs = |entry: &Entry| entry.content().is_some_and(is_theirs);
        let hosts = self.entries.iter().filter(|(_, entry)| needs(entry));
        let mut asked: Vec<_> = hosts.map(|(host, _)| self.asked(host)).collect();
        asked.sort_unstable();
        // Hosts that share one name at the upstream share its file, which is fetched once.
        asked.dedup();
        if self.upstream.is_none() {
            asked.clear();
        }
        asked
    }

    /// Returns the name by which the upstream is asked for a host.
    pub(super) fn asked(&self, host: Option<&str>) -> Option<String> {
        let upstream = self.upstream.as_ref()?;
        if !upstream.preserve_host {
            return None;
        }
        host.or(upstream.host.as_deref()).map(str::to_owned)
    }

    fn entry(mut self, host: &HostName, entry: Entry) -> Self {
        self.entries = self.entries.host(&host.to_string(), entry);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> HostName {
        HostName::parse(name).unwrap()
    }

    #[test]
    fn the_upstream_is_asked_by_the_names_that_need_it() {
        let rules = RobotsTxtRules::new();
        let plan = RobotsTxtPlan::new(RobotsTxtContent::Pass)
            .host(
                &host("own.example"),
                RobotsTxtContent::Settings(rules.clone()),
            )
            .host(&host("merged.example"), RobotsTxtContent::Merge(rules))
            .mirrors(
                &host("www.example.com"),
                [host("example.com")],
                RobotsTxtContent::Pass,
            );
        assert!(plan.fetched().is_empty(), "there is none");
        let preserving = plan
            .clone()
            .upstream("http://up/", true, Some("site.example"));
        let names = ["merged.example", "site.example", "www.example.com"];
        assert_eq!(
            preserving.fetched(),
            names.map(|name| Some(name.to_owned()))
        );
        assert_eq!(plan.upstream("http://up/", false, None).fetched(), [None]);
    }

    #[test]
    fn who_answers_is_told_by_host() {
        let plan = RobotsTxtPlan::new(RobotsTxtContent::Pass)
            .mirrors(
                &host("www.example.com:8081"),
                [host("example.com")],
                RobotsTxtContent::Merge(RobotsTxtRules::new()),
            )
            .upstream("http://u:geheim@up:3000/", true, None);
        for (host, who) in [
            (None, "http://u:***@up:3000"),
            (
                Some("example.com"),
                "this program, for a mirror of www.example.com:8081",
            ),
            (
                Some("www.example.com:8081"),
                "this program, with its settings over what http://u:***@up:3000 serves",
            ),
        ] {
            assert_eq!(plan.who_answers(host), who);
        }
    }
}
