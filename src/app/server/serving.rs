//! The sites that a server serves; a reload replaces all of them together.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};
use axum::http::{Request, Uri};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use crate::bans::Bans;
use crate::canonical::{CanonicalKeeper, CanonicalReader, Canonicals};
use crate::check::IDENTIFICATION_HEADER;
use crate::clock::Clock;
use crate::config::CanonicalSection;
use crate::detect::Verdict;
use crate::layer::{
    CanonicalRedirects, ClaimFinding, Client, Decided, Outcome, Pending, RobotDetectionLayer,
    RobotDetectionService, Stats, Traps,
};
use crate::listen::RequestContext;
use crate::observe::SiteObserver;
use crate::operations::{AdminSite, SiteCounts, UpstreamRow};
use crate::policy::{ByAction, Enforcer};
use crate::proxy::ServerState;
use crate::store::Store;
use crate::suspect::{BrowserCheck, Marks, Transport};

use super::{
    RobotDetection, Site, SiteAnswers,
    answerers::Answerers,
    made_pages::MadePages,
    pages::Heaven,
    people::KnownPeople,
    plan::{Plan, SiteInfo, SitePlan, Target, Upstream},
    process_services::ProcessServices,
    server_body::ServerBody,
    site_router::{Parts, SiteFuture, SiteRouter},
    table::{SiteHost, SitePath, Table},
};

/// The current sites, and replaced sites that still have active requests.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) is_demo: bool,
    /// Heaven pages that are served if the configuration specifies none.
    default_pages: Option<MadePages>,
    table: ArcSwap<Sites>,
    services: Arc<ProcessServices>,
    retired: TaskTracker,
    stop: CancellationToken,
}

/// Sites that are in use until the next reload.
#[derive(Debug)]
pub(super) struct Sites {
    /// Sites, indexed by host and path.
    pub(super) places: Table<Arc<ServedSite>>,
    all: Vec<Arc<ServedSite>>,
}

/// A site that the server serves, with the site's layer and services.
#[derive(Debug)]
pub(super) struct ServedSite {
    site: Site,
    about: SiteInfo,
    heaven: Option<Heaven>,
    target: Target,
    service: RobotDetectionService<SiteRouter>,
    router: SiteRouter,
    answers: SiteAnswers,
    observer: SiteObserver,
    bans: Bans,
    /// Marks of the site's visitors, if suspects are detected.
    marks: Option<Marks>,
    /// Canonical URLs of the site's pages, if robots are redirected to them.
    canonicals: Option<Canonicals>,
}

/// Waits for the verdict on a request's claim, up to the limit in `pending`.
pub(super) async fn settled(pending: Pending) -> ClaimFinding {
    let settled = timeout(pending.limit, pending.settling).await;
    ClaimFinding {
        verdict: settled.unwrap_or(Verdict::Pending),
        proof: pending.proof,
    }
}

impl ServedSite {
    /// Makes the decision about a request without waiting.
    ///
    /// Returns `Err(Pending)` if the request must wait for the verdict on its claim.
    pub(super) fn decide(
        &self,
        request: &mut Request<RequestContext>,
    ) -> Result<Decided<ServerBody>, Pending> {
        let decided = self.service.decide(request, client);
        // Inspected in place, because moving a decision costs as much as making it.
        if let Ok((_, Some(outcome))) = &decided {
            self.note(request, outcome);
        }
        decided
    }

    /// Makes the decision about a request after waiting for the verdict on its claim.
    pub(super) fn decide_settled(
        &self,
        request: &mut Request<RequestContext>,
        finding: ClaimFinding,
    ) -> Decided<ServerBody> {
        let decided = self.service.decide_settled(request, client, finding);
        if let (_, Some(outcome)) = &decided {
            self.note(request, outcome);
        }
        decided
    }

    pub(super) fn router(&self) -> &SiteRouter {
        &self.router
    }

    /// Answers a request that passes; the response may contain a canonical URL.
    pub(super) fn answer(
        &self,
        request: &mut Request<RequestContext>,
        is_learnt_from: bool,
    ) -> SiteFuture {
        let is_https = request.body().client().is_https();
        let canonicals = self.canonicals.as_ref().filter(|_| is_learnt_from);
        let reading = canonicals.and_then(|known| CanonicalReader::of(known, request, is_https));
        let answering = self.router.answer(request);
        match reading {
            Some(reading) => answering.read_by(reading),
            None => answering,
        }
    }

    /// Counts a refusal for bans, unless several visitors may share the address.
    fn note(&self, request: &Request<RequestContext>, outcome: &Outcome) {
        if let Some(address) = request.body().client().network() {
            self.bans.count_outcome(outcome, address);
        }
    }

    pub(super) fn observer(&self) -> &SiteObserver {
        &self.observer
    }

    /// Returns the marks of the site's visitors, if suspects are detected.
    pub(super) fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    fn new(
        site: Site,
        plan: SitePlan,
        services: &Arc<ProcessServices>,
        canonicals: Option<Canonicals>,
    ) -> Self {
        let own_pages = plan.heaven.as_ref().and_then(Heaven::own_pages);
        let robots_txt = site.served_robots_txt().clone();
        let heaven = plan.heaven.clone();
        let traps = services.visitors.traps(plan.has_traps, &plan.about.name);
        let paths = traps.iter().flat_map(|traps| traps.paths().iter());
        let paths: Vec<_> = paths.map(str::to_owned).collect();
        robots_txt.set_disallowed_paths(paths.clone());
        let mut answerers = Answerers::new(services, robots_txt, plan.licensing, heaven);
        answerers.traps = traps;
        let behind = SiteRouter::new(Parts {
            answerers: answerers.clone(),
            target: plan.target.clone(),
            way_out: services.way_out.clone(),
        });
        let mut layer = site
            .bare_layer()
            .identification_header(IDENTIFICATION_HEADER)
            .report_outcome(true);
        let marks = services.visitors.marks.for_site(&plan.about.name);
        let marks = plan.finds_suspects.then_some(marks);
        if let Some(marks) = marks.clone() {
            let copies = plan.heaven.as_ref().and_then(Heaven::copies);
            layer = looking_for_suspects(layer, services, copies.cloned()).marks(marks);
        }
        if !paths.is_empty() {
            let readers = services.visitors.readers.for_site(&plan.about.name);
            layer = layer.traps(Traps::new(paths, readers));
        }
        if let Some(name) = plan.person_header {
            layer = layer.person_header(name);
        }
        let pages = plan.heaven.as_ref().and_then(Heaven::at_originals);
        layer = at_originals(layer, pages, plan.canonical, canonicals.clone());
        if let Some(pages) = own_pages {
            layer = layer.own_pages(move |asked, to| pages.location(asked, to));
        }
        Self {
            service: layer.around(behind.clone()),
            router: behind,
            answers: SiteAnswers::new(answerers),
            observer: services.observer.site(&services.traffic, &plan.about.name),
            bans: services.bans.clone(),
            marks,
            canonicals,
            site,
            about: plan.about,
            heaven: plan.heaven,
            target: plan.target,
        }
    }
}

impl Serving {
    /// Starts to serve the sites of a plan; `is_demo` and the default pages also apply to reloads.
    pub(super) fn new(
        robots: &RobotDetection,
        plan: Plan,
        services: Arc<ProcessServices>,
        is_demo: bool,
        default_pages: Option<MadePages>,
    ) -> Self {
        let serving = Self {
            is_demo,
            default_pages,
            table: ArcSwap::from_pointee(Sites::default()),
            services,
            retired: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        serving.put(robots, plan.sites, || {});
        serving
    }

    /// Returns the current sites for use during one request.
    pub(super) fn sites(&self) -> Guard<Arc<Sites>> {
        self.table.load()
    }

    /// Returns the upstream proxies in use.
    pub(super) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.table.load().upstreams().collect()
    }

    /// Returns each site's name, enforcer and upstream servers, for the metrics.
    pub(super) fn states(&self) -> Vec<(String, Enforcer, Vec<ServerState>)> {
        let sites = self.table.load();
        let states = sites.all.iter().map(|served| {
            let servers = served.upstream().map(|upstream| upstream.proxy.servers());
            let enforcer = served.site.enforcer().clone();
            (
                served.about.name.clone(),
                enforcer,
                servers.unwrap_or_default(),
            )
        });
        states.collect()
    }

    /// Returns each site's name and counters, for the metrics.
    pub(super) fn stats(&self) -> Vec<(String, Arc<Stats>)> {
        let sites = self.table.load();
        let stats = sites.all.iter().map(|served| {
            let stats = Arc::clone(served.site.stats());
            (served.about.name.clone(), stats)
        });
        stats.collect()
    }

    /// Reloads each site's list of heaven pages.
    pub(super) async fn reload_heavens(&self) {
        let sites = self.table.load_full();
        for heaven in sites.all.iter().filter_map(|site| site.heaven.as_ref()) {
            heaven.reload().await;
        }
    }

    /// Replaces the sites; active requests finish with the old sites.
    ///
    /// Sites with the same name keep their counters. `first` is called immediately before the sites
    /// are replaced.
    pub(super) fn put(&self, robots: &RobotDetection, plans: Vec<SitePlan>, first: impl FnOnce()) {
        let old = self.table.load_full();
        let mut changes = Vec::new();
        let mut new = Sites::default();
        for mut plan in plans {
            let mut sites = old.all.iter();
            let known = sites.find(|old| old.about.name == plan.about.name);
            let (hosts, path) = (std::mem::take(&mut plan.hosts), plan.path.clone());
            let site = match (plan.detection.take(), known) {
                (None, _) => robots.main_site().clone(),
                (Some(detection), Some(known)) => {
                    // Applied after the loop, so that no site uses new rules while another is still
                    // being created.
                    changes.push((known.site.clone(), detection));
                    known.site.clone()
                }
                (Some(detection), None) => robots.start_site(&plan.about.name, detection),
            };
            if let Some(heaven) = &mut plan.heaven {
                if let Some(pages) = &self.default_pages {
                    heaven.set_default_generated(pages);
                }
                heaven.start(robots.store(), &plan.about.name, &self.services, &self.stop);
            }
            let canonicals = self.canonicals(&plan, robots.store());
            let served = Arc::new(ServedSite::new(site, plan, &self.services, canonicals));
            new.add(&hosts, &path, served);
        }
        first();
        for (site, detection) in changes {
            site.replace(detection);
        }
        let new = Arc::new(new);
        self.table.store(Arc::clone(&new));
        let sites = new.all.iter().map(|served| served.site.clone());
        let shown = new.all.iter().map(|served| {
            let coherence = &self.services.coherence;
            served.shown(coherence)
        });
        robots.list_sites(sites.collect(), shown.collect());
        new.warn_of_idle();
        self.retire(&old, &new);
    }

    /// Starts to track the canonical URLs of a site's pages, if robots are redirected to these
    /// URLs.
    fn canonicals(&self, plan: &SitePlan, store: &Store) -> Option<Canonicals> {
        if plan.canonical.redirect.is_empty() {
            return None;
        }
        let (name, clock) = (&plan.about.name, Clock::system());
        let (canonicals, keeper) = CanonicalKeeper::new(name, store.clone(), clock, &self.stop);
        self.services
            .tasks
            .spawn_on(keeper.run(), &self.services.runtime);
        Some(canonicals)
    }

    /// Waits for active requests of replaced sites, and closes all upstream proxies.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.retired.close();
        self.retired.wait().await;
        for upstream in self.upstreams() {
            upstream.proxy.close().await;
        }
    }

    fn retire(&self, old: &Sites, new: &Sites) {
        let mut retired: Vec<Arc<Upstream>> = Vec::new();
        for upstream in old.upstreams() {
            let is = |other: &Arc<Upstream>| Arc::ptr_eq(other, &upstream);
            // Several sites may share a proxy, which is retired once.
            if !new.upstreams().any(|used| is(&used)) && !retired.iter().any(is) {
                retired.push(upstream);
            }
        }
        for upstream in retired {
            // Closed in the background: a download may last for hours, and a reload must not wait
            // for it.
            self.retired.spawn(upstream.retire(self.stop.clone()));
        }
    }
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            places: Table::new(None),
            all: Vec::new(),
        }
    }
}

impl Sites {
    /// Adds a site; a site without hosts serves all other hosts.
    fn add(&mut self, hosts: &[SiteHost], path: &SitePath, site: Arc<ServedSite>) {
        for host in hosts {
            self.places.add(host, path, Arc::clone(&site));
        }
        if hosts.is_empty() {
            self.places.set_other(Arc::clone(&site));
        }
        self.all.push(site);
    }

    fn warn_of_idle(&self) {
        for served in &self.all {
            let (site, policy) = (served.site.name(), served.site.policy().load());
            // A pause is reported elsewhere.
            if policy.is_dry_run() && !policy.is_paused() {
                warn!(
                    site,
                    "the mode of the site {site:?} is report: all requests pass, and decisions are only logged"
                );
            }
            if policy.is_disabled() {
                warn!(
                    site,
                    "no paths are filtered on the site {site:?}: set filter_pattern and redirect_url"
                );
            }
        }
    }

    fn upstreams(&self) -> impl Iterator<Item = Arc<Upstream>> {
        self.all.iter().filter_map(|served| served.upstream())
    }
}

impl ServedSite {
    fn upstream(&self) -> Option<Arc<Upstream>> {
        match &self.target {
            Target::Demo | Target::Nothing => None,
            Target::Upstream(upstream) => Some(Arc::clone(upstream)),
        }
    }

    /// Returns the site in the form shown on the admin pages.
    fn shown(&self, coherence: &Arc<BrowserCheck>) -> AdminSite {
        let SiteInfo {
            name,
            hosts,
            path,
            heaven,
            robots_txt,
            ..
        } = self.about.clone();
        let upstream = self.upstream();
        let stats = Arc::clone(self.site.stats());
        let front = Arc::clone(self.site.stats());
        let [pages, copies, answers] = [(); 3].map(|()| self.answers.clone());
        AdminSite {
            name,
            hosts,
            path,
            policy: self.site.policy().clone(),
            enforcer: self.site.enforcer().clone(),
            heaven,
            robots_txt: robots_txt.to_owned(),
            traps: self.answers.trap_link(),
            suspects: self.marks.as_ref().map(|_| Arc::clone(coherence)),
            no_copy: Arc::new(move |asked| copies.no_copy(asked)),
            upstreams: Arc::new(move || servers(upstream.as_deref())),
            counts: Arc::new(move || counts(&stats)),
            front: Arc::new(move || front.front().map(|front| front.to_string())),
            own_pages: Arc::new(move |target, to| pages.own_page(target, to)),
            answers: Arc::new(move |asked, target| answers.who_answers(asked, target)),
        }
    }
}

/// Enables the detection of suspects in a layer; the layer may serve copies of pages to suspects.
fn looking_for_suspects(
    layer: RobotDetectionLayer,
    services: &ProcessServices,
    copies: Option<MadePages>,
) -> RobotDetectionLayer {
    let people = KnownPeople {
        suspicion: services.traffic.suspicion().cloned(),
        way_out: services.way_out.clone(),
    };
    let layer = layer
        .suspects(Arc::clone(&services.coherence))
        .people(Arc::new(people));
    match copies {
        Some(copies) => layer.copies(move |asked| copies.contains(asked)),
        None => layer,
    }
}

/// Enables Markdown responses and redirects to canonical URLs in a layer.
fn at_originals(
    mut layer: RobotDetectionLayer,
    pages: Option<MadePages>,
    canonical: CanonicalSection,
    canonicals: Option<Canonicals>,
) -> RobotDetectionLayer {
    if let Some(pages) = pages {
        layer = layer.markdown(Arc::new(pages));
    }
    if let Some(canonicals) = canonicals {
        let CanonicalSection {
            redirect, verdicts, ..
        } = canonical;
        let find = move |host: Option<&str>, asked: &Uri| canonicals.find(host, asked);
        let redirects = CanonicalRedirects::new(redirect, find).verdicts(verdicts);
        layer = layer.canonical_redirects(redirects);
    }
    layer
}

fn client(request: &Request<RequestContext>) -> Client {
    let client = request.body().client();
    // A request from a trusted proxy is not direct, whatever address its headers contain.
    let is_direct = client.direct && !client.trusted;
    let port = if is_direct { client.peer.port() } else { 0 };
    Client {
        address: client.client,
        network: client.network(),
        scheme: client.scheme(),
        transport: Transport {
            is_https: client.is_https(),
            is_direct,
            front: client.trusted.then(|| client.peer.ip()),
            sender: Some(SocketAddr::new(client.client, port)),
        },
    }
}

fn servers(upstream: Option<&Upstream>) -> Vec<UpstreamRow> {
    let servers = upstream.map(|upstream| upstream.proxy.servers());
    let rows = servers.into_iter().flatten().map(|server| {
        let state = match (server.is_healthy, server.last_error) {
            (true, _) => format!("healthy, {} in flight", server.in_flight),
            (false, Some(error)) => format!("down: {error}"),
            (false, None) => "down".to_owned(),
        };
        UpstreamRow {
            url: server.url,
            state,
            is_down: !server.is_healthy,
        }
    });
    rows.collect()
}

fn counts(stats: &Stats) -> SiteCounts {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    SiteCounts {
        people: read(&stats.people),
        nameless: read(&stats.nameless_passed),
        robots: ByAction::new(|action| read(stats.robots.get(action))),
    }
}
