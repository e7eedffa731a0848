//! A plan that specifies the origin of each host's robots.txt.

use crate::fetch::{Conditions, Fetcher, shown_url};
use robot_detection_layer::policy::{HostMap, HostName, RefusedRobots};
use robot_detection_layer::registry::Robot;
use rustls::pki_types::CertificateDer;

use super::{
    RobotsTxtRules,
    upstream::{FetchOutcome, LIMITS},
};

/// The origin of a robots.txt file's content.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotsTxtContent {
    /// Pass requests for robots.txt to the upstream or the application.
    #[default]
    Pass,
    /// Serve a robots.txt file unchanged.
    File {
        /// The content of the file.
        text: Vec<u8>,
        /// The modification time of the file, in milliseconds since 1970.
        modified_ms: Option<i64>,
    },
    /// Serve robots.txt rules from the settings.
    Settings(RobotsTxtRules),
    /// Serve robots.txt rules from the settings, merged into the upstream's file.
    Merge(RobotsTxtRules),
}

/// A plan that specifies where the `/robots.txt` of each host comes from.
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
/// assert_eq!(
///     plan.who_answers(Some("example.net")),
///     "this program, because the host is a mirror of www.example.com"
/// );
/// # Ok::<(), robot_detection_store::robots_file::InvalidRule>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RobotsTxtPlan {
    pub(super) entries: HostMap<Entry>,
    pub(super) upstream: Option<Upstream>,
}

/// The robots.txt plan entry for one host.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A robots.txt file with the given content and, for a main mirror, a `Host` line.
    Content {
        content: Box<RobotsTxtContent>,
        main: Option<HostName>,
    },
    /// A mirror, whose robots.txt disallows everything and specifies the main mirror (Melkov 2003).
    MirrorOf(HostName),
}

/// The upstream server whose robots.txt is passed through or merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Upstream {
    /// The upstream's URL, without a trailing slash.
    pub(super) url: String,
    /// Whether requests to the upstream contain the visitor's host name.
    pub(super) preserve_host: bool,
    /// The host name to send to the upstream instead of a host that is not configured.
    pub(super) host: Option<String>,
    /// The only certificate authorities to trust; the default ones if empty.
    pub(super) authorities: Vec<CertificateDer<'static>>,
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

    /// Returns the robots that are completely disallowed, if rules from the settings are served.
    pub(super) fn refused(&self) -> Option<&RefusedRobots> {
        self.rules().map(RobotsTxtRules::refused_robots)
    }

    /// Returns the robots.txt rules from the settings, if these rules are served.
    fn rules(&self) -> Option<&RobotsTxtRules> {
        match self.content()? {
            RobotsTxtContent::Settings(rules) | RobotsTxtContent::Merge(rules) => Some(rules),
            RobotsTxtContent::Pass | RobotsTxtContent::File { .. } => None,
        }
    }
}

impl RobotsTxtPlan {
    /// Creates a plan that uses the same robots.txt for all hosts of a site.
    pub fn new(content: RobotsTxtContent) -> Self {
        Self {
            entries: HostMap::everywhere(Entry::of(content, None)),
            upstream: None,
        }
    }

    /// Adds a host that has a separate robots.txt file.
    pub fn host(self, host: &HostName, content: RobotsTxtContent) -> Self {
        self.entry(host, Entry::of(content, None))
    }

    /// Adds a site with several host names, one of which is the main mirror.
    ///
    /// The main mirror serves `content` with a `Host` line; responses from the upstream are not
    /// changed. The other hosts disallow everything and specify the main mirror, as proposed for
    /// the `Host` directive (A. Melkov, www-talk, 2003), whether or not robots support the
    /// directive.
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

    /// Sets the upstream whose robots.txt is merged, or passed through and enforced.
    ///
    /// With `preserve_host`, the file is fetched once for each configured host name, and once with
    /// `host` for all other hosts.
    pub fn upstream(mut self, url: &str, preserve_host: bool, host: Option<&str>) -> Self {
        self.upstream = Some(Upstream {
            url: url.trim_end_matches('/').to_owned(),
            preserve_host,
            host: host.map(str::to_owned),
            authorities: Vec::new(),
        });
        self
    }

    /// Sets the only certificate authorities to trust when the upstream's file is fetched.
    pub fn upstream_authorities(mut self, authorities: Vec<CertificateDer<'static>>) -> Self {
        if let Some(upstream) = &mut self.upstream {
            upstream.authorities = authorities;
        }
        self
    }

    /// Describes who serves `/robots.txt` on a host.
    pub fn who_answers(&self, host: Option<&str>) -> String {
        let upstream = match &self.upstream {
            Some(upstream) => shown_url(&upstream.url).trim_end_matches('/').to_owned(),
            None => "the site itself".to_owned(),
        };
        match self.entries.get(host) {
            Some(Entry::MirrorOf(main)) => {
                format!("this program, because the host is a mirror of {main}")
            }
            Some(Entry::Content { content, .. }) => match content.as_ref() {
                RobotsTxtContent::Pass => upstream,
                RobotsTxtContent::File { .. } => "this program, from a file".to_owned(),
                RobotsTxtContent::Settings(_) => "this program, from its settings".to_owned(),
                RobotsTxtContent::Merge(_) => {
                    format!("this program, from its settings merged into the file from {upstream}")
                }
            },
            None => upstream,
        }
    }

    /// Returns `true` if the set of disallowed robots depends on the registry.
    pub fn needs_registry(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(_, entry)| entry.refused().is_some_and(|refused| !refused.is_empty()))
    }

    /// Returns, for each host, the disallowed robots that robots.txt cannot identify by name.
    ///
    /// The host `None` stands for all hosts without a separate robots.txt.
    pub fn unnameable<'r>(&self, robots: &'r [Robot]) -> Vec<(Option<&str>, Vec<&'r Robot>)> {
        let entries = self.entries.iter();
        let unnamed = entries.filter_map(|(host, entry)| {
            let unnamed = entry.rules()?.unnameable(robots);
            (!unnamed.is_empty()).then_some((host, unnamed))
        });
        let mut unnamed: Vec<_> = unnamed.collect();
        unnamed.sort_by_key(|(host, _)| *host);
        unnamed
    }

    /// Fetches each robots.txt file needed from the upstream, and describes the results.
    ///
    /// # Errors
    ///
    /// Returns an error for each file that cannot be fetched.
    pub async fn check_upstream(&self) -> Vec<Result<String, String>> {
        let (Some(upstream), Ok(fetcher)) = (&self.upstream, Fetcher::new(LIMITS)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for host in self.hosts_to_fetch() {
            let name = host.as_deref();
            let outcome = upstream.fetch(&fetcher, name, &Conditions::default()).await;
            let whose = match name {
                Some(name) => format!("the upstream's file for {name}"),
                None => "the upstream's file".to_owned(),
            };
            found.push(match outcome {
                FetchOutcome::Failed(reason) => Err(format!("{whose} cannot be fetched: {reason}")),
                FetchOutcome::File {
                    remark: Some(remark),
                    ..
                } => Err(format!("{whose} {remark}")),
                FetchOutcome::File { text, .. } if text.is_empty() => Ok(format!(
                    "{whose} is empty or missing, which allows everything"
                )),
                FetchOutcome::File { text, .. } => {
                    Ok(format!("{whose} contains {} bytes", text.len()))
                }
                FetchOutcome::Same { .. } => Ok(format!("{whose} is unchanged")),
            });
        }
        found
    }

    /// Returns the host names for which the upstream's robots.txt is needed.
    ///
    /// The host name `None` stands for all hosts without a separate entry.
    pub(super) fn hosts_to_fetch(&self) -> Vec<Option<String>> {
        let is_theirs = |content: &RobotsTxtContent| {
            matches!(content, RobotsTxtContent::Pass | RobotsTxtContent::Merge(_))
        };
        let needs = |entry: &Entry| entry.content().is_some_and(is_theirs);
        let hosts = self.entries.iter().filter(|(_, entry)| needs(entry));
        let mut asked: Vec<_> = hosts.map(|(host, _)| self.upstream_host(host)).collect();
        asked.sort_unstable();
        // Hosts with the same name at the upstream share one file, which is fetched once.
        asked.dedup();
        if self.upstream.is_none() {
            asked.clear();
        }
        asked
    }

    /// Returns the host name to send to the upstream when fetching a host's robots.txt.
    pub(super) fn upstream_host(&self, host: Option<&str>) -> Option<String> {
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
    fn upstream_file_is_fetched_for_each_needed_host_name() {
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
        assert!(
            plan.hosts_to_fetch().is_empty(),
            "fetched without an upstream"
        );
        let preserving = plan
            .clone()
            .upstream("http://up/", true, Some("site.example"));
        let names = ["merged.example", "site.example", "www.example.com"];
        assert_eq!(
            preserving.hosts_to_fetch(),
            names.map(|name| Some(name.to_owned()))
        );
        assert_eq!(
            plan.upstream("http://up/", false, None).hosts_to_fetch(),
            [None]
        );
    }

    #[test]
    fn who_answers_depends_on_the_host() {
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
                "this program, because the host is a mirror of www.example.com:8081",
            ),
            (
                Some("www.example.com:8081"),
                "this program, from its settings merged into the file from http://u:***@up:3000",
            ),
        ] {
            assert_eq!(plan.who_answers(host), who);
        }
    }
}
