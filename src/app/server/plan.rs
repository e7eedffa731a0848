//! The sites of a configuration; all are checked before any of them is served.

use std::sync::Arc;

use axum::http::HeaderName;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{
    Detection,
    made_pages::generated_pages,
    pages::Heaven,
    table::{SiteHost, SiteMatch, SitePath, Table},
};
use crate::assembly::{
    enforcement, finds_suspects, licensing, path_reading, policy, proxy, robots_txt,
};
use crate::config::{
    CanonicalSection, ConfigErrors, Loaded, ServerSection, SiteLoaded, SiteTable, Value,
};
use crate::licensing::Licensing;
use crate::operations::DEFAULT_SITE;
use crate::proxy::Proxy;

/// The sites that a server will serve, with their common settings.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The policy and enforcement common to all sites; the handle's own site uses them.
    pub(super) common: Detection,
    /// The sites; the site for all other hosts, if any, comes last.
    pub(super) sites: Vec<SitePlan>,
}

/// A site that a server will serve.
#[derive(Clone, Debug)]
pub(super) struct SitePlan {
    pub(super) about: SiteInfo,
    /// The policy and enforcement of the site; `None` if the plan's common policy and enforcement
    /// apply.
    pub(super) detection: Option<Detection>,
    /// Whether the site detects suspects.
    pub(super) finds_suspects: bool,
    /// Whether the site has traps.
    pub(super) has_traps: bool,
    /// The response header in which the upstream reports human visitors.
    pub(super) person_header: Option<HeaderName>,
    pub(super) hosts: Vec<SiteHost>,
    pub(super) path: SitePath,
    pub(super) heaven: Option<Heaven>,
    pub(super) canonical: CanonicalSection,
    pub(super) licensing: Licensing,
    pub(super) target: Target,
}

/// Data about a site, shown to administrators.
#[derive(Clone, Debug)]
pub(super) struct SiteInfo {
    pub(super) name: String,
    /// Hosts as written in the configuration; empty for the site that serves all other hosts.
    pub(super) hosts: Vec<String>,
    pub(super) path: String,
    /// The URL of the upstream; `None` for the demonstration site.
    pub(super) upstream: Option<String>,
    /// The path of robot heaven and the directory of its pages, if this program serves it.
    pub(super) heaven: Option<(String, String)>,
    /// The word that describes the origin of `/robots.txt`.
    pub(super) robots_txt: &'static str,
}

impl Plan {
    /// Checks all settings; reuses proxies from `known` that have the same settings.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub(super) fn new(
        loaded: &Loaded,
        demo: bool,
        known: &mut Vec<Arc<Upstream>>,
    ) -> Result<Self, ConfigErrors> {
        // The common settings are checked even if every site has its own settings.
        heaven(loaded)?;
        let _ = licensing(loaded)?;
        let common = detection(loaded)?;
        let tables = if demo { Vec::new() } else { loaded.sites() };
        let mut sites = Vec::new();
        // This table is only used to find sites with the same host and path.
        let mut places = Table::new(None::<()>);
        for table in &tables {
            let site = site(table, known)?;
            if sites
                .iter()
                .any(|known: &SitePlan| known.about.name == site.about.name)
                || site.about.name == DEFAULT_SITE
            {
                let name = &site.about.name;
                return Err(table.invalid(
                    &SiteTable::KEY.name,
                    format!("a site named {name:?} already exists"),
                ));
            }
            for (host, text) in site.hosts.iter().zip(table.hosts()) {
                if !places.add(host, &site.path, ()) {
                    let path = table.path();
                    let reason = format!("a site at {text}{path} already exists");
                    return Err(table.invalid(&SiteTable::KEY.hosts, reason));
                }
            }
            sites.push(site);
        }
        let has_upstream = !demo && !loaded.settings().server.upstream.is_empty();
        // If only `[[site]]` tables exist, other hosts get status 421; without any site, the
        // demonstration site is served.
        if tables.is_empty() || has_upstream {
            let target = if has_upstream {
                Target::Upstream(Upstream::new(loaded, known)?)
            } else if !demo && loaded.settings().check.listen.is_some() {
                Target::Nothing
            } else {
                Target::Demo
            };
            let about = SiteInfo::new(loaded, DEFAULT_SITE, &[], "/", has_upstream);
            sites.push(SitePlan::new(loaded, about, target)?);
        }
        Ok(Self { common, sites })
    }

    /// Returns `true` if the demonstration site is served.
    pub(super) fn is_demo(&self) -> bool {
        let mut targets = self.sites.iter().map(|site| &site.target);
        targets.any(|target| matches!(target, Target::Demo))
    }
}

/// An index that finds the configured site for a request.
#[derive(Clone, Debug)]
pub struct SiteIndex {
    table: Table<usize>,
    /// Settings of each site; the last element contains the common settings.
    settings: Vec<Loaded>,
    names: Vec<String>,
}

impl SiteIndex {
    /// Reads the hosts and paths of all sites.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid host or path.
    pub fn new(loaded: &Loaded) -> Result<Self, ConfigErrors> {
        let sites = loaded.sites();
        let mut table = Table::new(None);
        for (number, site) in sites.iter().enumerate() {
            let (hosts, path) = place(site)?;
            for host in &hosts {
                table.add(host, &path, number);
            }
        }
        let settings = sites.iter().map(|site| site.loaded().clone());
        let names = sites.iter().map(|site| site.name().to_owned());
        Ok(Self {
            names: names.chain([DEFAULT_SITE.to_owned()]).collect(),
            table,
            settings: settings.chain([loaded.clone()]).collect(),
        })
    }

    /// Returns the settings of each site; the last element contains the common settings.
    #[must_use]
    pub fn settings(&self) -> &[Loaded] {
        &self.settings
    }

    /// Returns the name of each site; the last element is the name of the default site.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the settings that apply to a request.
    #[must_use]
    pub fn find(&self, host: Option<&str>, path: &str) -> usize {
        match self.table.find(host, path) {
            SiteMatch::Site(number) => *number,
            SiteMatch::NoPath | SiteMatch::NoHost => self.settings.len().saturating_sub(1),
        }
    }
}

fn site(table: &SiteLoaded, known: &mut Vec<Arc<Upstream>>) -> Result<SitePlan, ConfigErrors> {
    let loaded = table.loaded();
    let (hosts, path) = place(table)?;
    // A site may also use the upstream of `[server]`, but not the demonstration site.
    if loaded.settings().server.upstream.is_empty() {
        let reason = "the site has no upstream; set an upstream such as upstream = \"http://127.0.0.1:3000\"";
        return Err(table.invalid(&ServerSection::KEY.upstream, reason));
    }
    let about = SiteInfo::new(loaded, table.name(), table.hosts(), table.path(), true);
    let target = Target::Upstream(Upstream::new(loaded, known)?);
    Ok(SitePlan {
        detection: Some(detection(loaded)?),
        hosts,
        path,
        ..SitePlan::new(loaded, about, target)?
    })
}

impl SitePlan {
    /// Checks a site's settings; its hosts, path and detection are added later.
    fn new(loaded: &Loaded, about: SiteInfo, target: Target) -> Result<Self, ConfigErrors> {
        let settings = loaded.settings();
        Ok(Self {
            about,
            detection: None,
            finds_suspects: finds_suspects(loaded),
            has_traps: settings.traps.active,
            person_header: settings.suspects.person_header.clone(),
            hosts: Vec::new(),
            path: SitePath::default(),
            heaven: heaven(loaded)?,
            canonical: settings.canonical.clone(),
            licensing: licensing(loaded)?,
            target,
        })
    }
}

fn place(site: &SiteLoaded) -> Result<(Vec<SiteHost>, SitePath), ConfigErrors> {
    let hosts = site.hosts().iter().map(|host| {
        SiteHost::parse(host)
            .map_err(|reason| site.invalid(&SiteTable::KEY.hosts, format!("{host:?}: {reason}")))
    });
    let path = SitePath::parse(site.path(), path_reading(site.loaded().settings()))
        .map_err(|reason| site.invalid(&SiteTable::KEY.path, reason))?;
    Ok((hosts.collect::<Result<_, _>>()?, path))
}

fn detection(loaded: &Loaded) -> Result<Detection, ConfigErrors> {
    Ok(Detection {
        enforcement: enforcement(loaded)?,
        robots_txt: robots_txt(loaded)?,
        policy: policy(loaded)?,
    })
}

pub(super) fn heaven(loaded: &Loaded) -> Result<Option<Heaven>, ConfigErrors> {
    let settings = loaded.settings();
    let heaven = Heaven::new(&settings.heaven.path, &settings.heaven.directory);
    let made = generated_pages(loaded, settings)?;
    Ok(settings.heaven.serve.then(|| heaven.with_generated(made)))
}

impl SiteInfo {
    fn new(loaded: &Loaded, name: &str, hosts: &[String], path: &str, has_upstream: bool) -> Self {
        let settings = loaded.settings();
        Self {
            name: name.to_owned(),
            hosts: hosts.to_vec(),
            path: path.to_owned(),
            upstream: has_upstream.then(|| settings.server.upstream.join(", ")),
            heaven: settings.heaven.serve.then(|| {
                (
                    settings.heaven.path.to_string(),
                    settings.heaven.directory.clone(),
                )
            }),
            robots_txt: settings.robots_txt.serve.as_str(),
        }
    }
}

/// The destination of a site's requests that pass.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Demo,
    /// No destination: the site is behind another proxy, which queries the decision endpoint.
    Nothing,
    Upstream(Arc<Upstream>),
}

/// A proxy shared by all sites with the same upstream settings.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) proxy: Proxy,
    /// A tracker of active requests; each request holds a token until its response has ended.
    pub(super) requests: TaskTracker,
    settings: Vec<(&'static str, Value)>,
}

impl Upstream {
    /// Creates a site's proxy, or reuses a proxy from `known` that has the same settings.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub(super) fn new(
        loaded: &Loaded,
        known: &mut Vec<Arc<Self>>,
    ) -> Result<Arc<Self>, ConfigErrors> {
        let settings = loaded.upstream_settings();
        if let Some(same) = known.iter().find(|known| known.settings == settings) {
            return Ok(Arc::clone(same));
        }
        let upstream = Arc::new(Self {
            proxy: proxy(loaded, loaded.settings())?,
            requests: TaskTracker::new(),
            settings,
        });
        known.push(Arc::clone(&upstream));
        Ok(upstream)
    }

    /// Waits for active requests and tunnels, at most until `stop` is cancelled, then closes the
    /// proxy.
    pub(super) async fn retire(self: Arc<Self>, stop: CancellationToken) {
        self.requests.close();
        let ended = async {
            self.requests.wait().await;
            self.proxy.wait_for_tunnels().await;
        };
        // At shutdown, the listeners have already been drained, so remaining requests had time to
        // finish.
        stop.run_until_cancelled(ended).await;
        self.proxy.close().await;
    }
}
