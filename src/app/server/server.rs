//! The standalone server, with its listeners, sites and admin page.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::Router;
use tokio::{runtime::Handle, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use crate::alerts::Alert;
use crate::assembly::{self, listen, listeners, operation_listener};
use crate::bans::BanRule;
use crate::check::CheckToken;
use crate::config::{ConfigErrors, Loaded, Settings};
use crate::listen::{
    ADMIN_CLIENTS, CertificateState, ClientCapacity, ClientPermits, HttpService, ListenAddr,
    ListenSettings, Listener, OpenFileLimit, Tls, TrustedProxies, Workers,
};
use crate::observe::Observer;
use crate::origins::{Origins, WantedOrigins};
use crate::probe::Probes;
use crate::proxy::ProxyError;
use crate::suspect::BrowserCheck;

use super::{
    RobotDetection,
    check_service::CheckService,
    demo,
    destination::Destinations,
    listener_metrics::ListenerMetrics,
    made_pages::MadePages,
    operations::{self, Operations},
    plan::{Plan, Target},
    process_services::{KnownVisitors, ProcessServices},
    server_service::ServerService,
    serving::Serving,
};

/// The name of the optional listener for health checks and metrics.
pub(crate) const OPERATION: &str = "operation listen";

/// The checked settings of the server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    listens: AllListenerSettings,
    demo: bool,
    plan: Plan,
    settings: Settings,
    alerts: Vec<Alert>,
    bans: Vec<BanRule>,
    trusted_proxies: TrustedProxies,
    origins: Origins,
    wanted: WantedOrigins,
}

/// Settings for all listeners of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct AllListenerSettings {
    visitors: Vec<ListenSettings>,
    admin: Option<ListenSettings>,
    /// The listener for health checks and metrics; `None` if the admin page's listener serves them.
    operation: Option<ListenSettings>,
    /// The listener for the decision endpoint.
    check: Option<ListenSettings>,
}

/// A server whose listen addresses are bound.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Listener>,
    workers: Workers,
    admin_listener: Option<Listener>,
    operation_listener: Option<Listener>,
    check_listener: Option<Listener>,
    check_token: Option<CheckToken>,
    observer: Observer,
    /// The checked settings; boxed, so that the future of [`Server::run`] stays small.
    judged: Box<ServerSettings>,
}

impl ServerSettings {
    /// Checks the settings; `demo` replaces all sites with the demonstration site.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub fn new(loaded: &Loaded, demo: bool) -> Result<Self, ConfigErrors> {
        let settings = loaded.settings();
        let wanted = assembly::wanted_origins(loaded)?;
        let listens = AllListenerSettings::new(loaded)?;
        let plan = Plan::new(loaded, demo, &mut Vec::new())?;
        Ok(Self {
            listens,
            demo,
            plan,
            settings: settings.clone(),
            alerts: assembly::alerts(loaded)?,
            bans: assembly::bans(loaded)?,
            trusted_proxies: assembly::trusted_proxies(loaded),
            origins: loaded.origins().clone(),
            wanted,
        })
    }

    /// Returns `true` if the demonstration site is served.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        self.plan.is_demo()
    }

    /// Returns a line of text about each `[[site]]`, with its name, upstream, hosts and path.
    pub fn sites(&self) -> impl Iterator<Item = String> {
        let sites = self.plan.sites.iter().map(|site| &site.about);
        sites.filter(|site| !site.hosts.is_empty()).map(|site| {
            let (name, hosts, path) = (&site.name, site.hosts.join(", "), &site.path);
            let upstream = site.upstream.as_deref().unwrap_or_default();
            format!("{name}: {upstream} for {hosts}, {path}")
        })
    }

    /// Returns the first listen address for visitors; for a Unix socket, the unspecified address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        let mut addrs = self.listens.visitors.iter().map(|listen| &listen.addr);
        let tcp = addrs.find_map(|addr| match addr {
            ListenAddr::Tcp(addr) => Some(*addr),
            ListenAddr::Unix(_) => None,
        });
        tcp.unwrap_or_else(no_addr)
    }

    /// Connects to each upstream, and returns the site, the URL and the result of the attempt.
    ///
    /// The site's name is `None` if there is only one site.
    pub async fn check_upstreams(&self) -> Vec<(Option<&str>, String, Result<(), ProxyError>)> {
        let sites = &self.plan.sites;
        let mut checked = Vec::new();
        for site in sites {
            if let Target::Upstream(upstream) = &site.target {
                let name = (sites.len() > 1).then_some(site.about.name.as_str());
                let servers = upstream.proxy.check_servers().await;
                let named = servers.into_iter().map(|(url, result)| (name, url, result));
                checked.extend(named);
            }
        }
        checked
    }

    /// Returns the number of clients that a limit on open files allows, and the configured maximum.
    pub(crate) fn client_capacity(&self, limit: OpenFileLimit) -> ClientCapacity {
        let threads = match self.settings.server.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let listeners = self.listens.visitors.len();
        limit.client_capacity(
            threads,
            self.settings
                .server
                .max_connections
                .saturating_mul(listeners),
        )
    }

    /// Binds and releases each listen address separately; returns the listener's name and the
    /// result.
    pub async fn try_listeners(
        &self,
    ) -> Vec<(&'static str, &ListenAddr, std::io::Result<SocketAddr>)> {
        let AllListenerSettings {
            visitors,
            admin,
            operation,
            check,
        } = &self.listens;
        let visitors = visitors.iter().map(|listen| ("listen", listen));
        let admin = admin.iter().map(|listen| ("admin listen", listen));
        let operation = operation.iter().map(|listen| (OPERATION, listen));
        let check = check.iter().map(|listen| ("check listen", listen));
        let mut tried = Vec::new();
        for (name, listen) in visitors.chain(admin).chain(operation).chain(check) {
            let bound = Listener::bind(listen.clone()).await;
            tried.push((name, &listen.addr, bound.map(|bound| bound.local_addr())));
        }
        tried
    }

    /// Returns the state of the listeners' certificates.
    #[must_use]
    pub fn certificates(&self) -> Vec<CertificateState> {
        let mut listens = self.listens.visitors.iter();
        let tls = listens.find_map(|listen| listen.tls.as_ref());
        tls.map(Tls::states).unwrap_or_default()
    }

    /// Binds the listen addresses.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is in use or not permitted, except for `operation.listen`,
    /// which is optional.
    pub async fn bind(mut self) -> std::io::Result<Server> {
        let mut listeners = Vec::new();
        let listens = std::mem::take(&mut self.listens);
        for settings in listens.visitors {
            listeners.push(Listener::bind(settings).await?);
        }
        let admin_listener = bind(listens.admin).await?;
        let check_listener = bind(listens.check).await?;
        let operation_listener = bind(listens.operation).await.unwrap_or_else(|error| {
            warn!("health checks and metrics are not available at operation.listen: {error}");
            None
        });
        Ok(Server {
            listeners,
            workers: Workers::start(self.settings.server.workers)?,
            admin_listener,
            operation_listener,
            check_listener,
            check_token: check_token(&self.settings)?,
            observer: Observer::default(),
            judged: Box::new(self),
        })
    }
}

fn check_token(settings: &Settings) -> std::io::Result<Option<CheckToken>> {
    let token = settings.check.token.as_ref();
    token
        .map(|token| CheckToken::new(token.bytes()))
        .transpose()
}

impl AllListenerSettings {
    /// Checks the settings that need a restart: the listen addresses and the path of the admin
    /// page.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub(super) fn new(loaded: &Loaded) -> Result<Self, ConfigErrors> {
        let settings = loaded.settings();
        let admin = settings.admin.listen.as_ref();
        Ok(Self {
            admin: admin.map(|addr| listen(loaded, addr)),
            operation: operation_listener(loaded),
            check: assembly::check_listener(loaded)?,
            visitors: listeners(loaded)?,
        })
    }
}

impl Server {
    /// Returns the first listen address for visitors; for a Unix socket, the unspecified address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        let first = self.listeners.first();
        first.map_or_else(no_addr, Listener::local_addr)
    }

    /// Returns the base URL of each listener for visitors.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.listeners.iter().map(Listener::url)
    }

    /// Returns the address of health checks and metrics, if they are served.
    #[must_use]
    pub fn operation_addr(&self) -> Option<SocketAddr> {
        self.operation_listener().map(Listener::local_addr)
    }

    /// Returns the address of the decision endpoint, if configured.
    pub(crate) fn check_addr(&self) -> Option<&ListenAddr> {
        self.check_listener.as_ref().map(Listener::addr)
    }

    /// Returns the listener for health checks and metrics, or the admin page's listener if that
    /// listener serves them.
    pub(crate) fn operation_listener(&self) -> Option<&Listener> {
        (self.operation_listener.as_ref()).or(self.admin_listener.as_ref())
    }

    /// Returns the address of each listener, with the actual port if the system has chosen it.
    fn addresses(&self) -> Vec<String> {
        let own = [
            &self.admin_listener,
            &self.operation_listener,
            &self.check_listener,
        ];
        let own = own.into_iter().flatten();
        let all = self.listeners.iter().chain(own);
        all.map(|listener| listener.addr().to_string()).collect()
    }

    /// Returns the admin page's listener: its separate listener or, if none is configured, the
    /// first listener with an IP address.
    pub(crate) fn admin_listener(&self) -> Option<&Listener> {
        let mut visitors = self.listeners.iter();
        let has_addr = |listener: &&Listener| matches!(listener.addr(), ListenAddr::Tcp(_));
        (self.admin_listener.as_ref())
            .or_else(|| visitors.find(has_addr))
            .or_else(|| self.listeners.first())
    }

    /// Limits the listeners' clients to the number that the limit on open files allows.
    fn limit_clients(&mut self) {
        let Some(limit) = OpenFileLimit::current() else {
            return;
        };
        let max_connections = self.judged.settings.server.max_connections;
        let wanted = max_connections.saturating_mul(self.listeners.len());
        let room = limit.client_capacity(self.workers.threads(), wanted);
        if room.is_enough() {
            return;
        }
        warn!("{room}");
        // A shared pool of clients; each listener may use the whole pool.
        let permits = ClientPermits::new(room.clients);
        for listener in &mut self.listeners {
            listener.share_permits(&permits);
        }
        if let Some(listener) = &mut self.check_listener {
            listener.share_permits(&permits);
        }
        // A separate pool, so that administrators can connect even if visitors have used up their
        // pool.
        let own = [&mut self.admin_listener, &mut self.operation_listener];
        for listener in own.into_iter().flatten() {
            listener.limit_clients(ADMIN_CLIENTS);
        }
    }

    /// Opens the access log; returns the observer of all requests.
    pub(crate) fn observe(&mut self) -> std::io::Result<Observer> {
        self.observer = Observer::open(&self.judged.settings.access_log)?;
        Ok(self.observer.clone())
    }

    /// Prepares the server for the first visitor, and returns heaven pages of the demonstration
    /// site, if served.
    async fn prepare(&mut self, robots: &RobotDetection) -> Option<MadePages> {
        self.limit_clients();
        if let Some(listener) = self.operation_listener() {
            robots.announce_address(listener);
        }
        // Address lists are loaded first, because rules that refer to a missing list would not
        // match.
        let wanted = std::mem::take(&mut self.judged.wanted);
        robots.start_origins(&self.judged.origins, wanted).await;
        // Generated now, so that robots are redirected to the heaven page for the requested page.
        self.demo_pages(robots).await
    }

    /// Runs the site robot on the demonstration site and returns the generated pages.
    async fn demo_pages(&self, robots: &RobotDetection) -> Option<MadePages> {
        if !self.judged.demo {
            return None;
        }
        let url = self.listeners.first().map(Listener::url);
        let heaven = &self.judged.settings.heaven;
        demo::walk(robots, &url.unwrap_or_default(), &heaven.path).await
    }

    /// Returns the router of health checks and metrics; readiness ends when `stop` is cancelled.
    fn operations(
        &self,
        robots: &RobotDetection,
        coherence: &Arc<BrowserCheck>,
        probes: &Arc<Probes>,
        stop: &CancellationToken,
    ) -> Router {
        operations::router(Operations {
            robots: robots.clone(),
            observer: self.observer.clone(),
            addresses: self.addresses(),
            listeners: ListenerMetrics::new(&self.listeners),
            coherence: Arc::clone(coherence),
            probes: Arc::clone(probes),
            stop: stop.clone(),
            started_seconds: robots.clock().now_ms().max(0).unsigned_abs() / 1_000,
        })
    }

    /// Serves until `stop` is cancelled, then drains; the background jobs of `robots` keep running.
    ///
    /// Readiness ends with `stop`; the listeners close after the drain delay, and active requests
    /// finish within the drain timeout. The sites in the settings are served until
    /// a reload replaces them.
    pub async fn run(mut self, robots: &RobotDetection, stop: CancellationToken) {
        let pages = Box::pin(self.prepare(robots)).await;
        let (tasks, coherence) = (TaskTracker::new(), Arc::default());
        let visitors = KnownVisitors::new(robots).await;
        let probes = Arc::new(visitors.probes(robots));
        let operations = self.operations(robots, &coherence, &probes, &stop);
        let judged = self.judged;
        let mut admin = admin_router(&judged.settings, robots, &stop);
        robots.watch_alerts(judged.alerts, &self.listeners);
        let untrusted_proxies = Arc::default();
        robots.report_untrusted_proxies(Arc::clone(&untrusted_proxies));
        let (closing, is_draining) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
        let delay = judged.settings.server.drain_delay;
        let draining = drain(stop, delay, Arc::clone(&is_draining), closing.clone());
        tasks.spawn(draining);
        if let Some(listener) = self.admin_listener {
            let pages = admin.take().map(|(_, router)| router);
            let router = operations.clone().merge(pages.unwrap_or_default());
            tasks.spawn(listener.serve(router, closing.clone()));
        }
        if let Some(listener) = self.operation_listener {
            tasks.spawn(listener.serve(operations, closing.clone()));
        }
        let proxies = judged.trusted_proxies.clone();
        let services = Arc::new(ProcessServices {
            admin,
            observer: self.observer,
            traffic: robots.traffic().clone(),
            bans: robots.start_ban_job(judged.bans, judged.trusted_proxies),
            coherence,
            way_out: robots.start_confirmation_keys(),
            probes,
            visitors,
            untrusted_proxies,
            // Connections are served on the threads of `Workers`, each with its own runtime.
            runtime: Handle::current(),
            tasks: robots.tasks().clone(),
        });
        let (plan, is_demo) = (judged.plan, judged.demo);
        let serving = Serving::new(robots, plan, Arc::clone(&services), is_demo, pages);
        let serving = ReloadGuard::new(robots, serving);
        let destinations = Destinations::new(Arc::clone(&serving.serving), Arc::clone(&services));
        let destinations = Arc::new(destinations);
        let is_asked = self.check_listener.is_some();
        let service = ServerService::new(Arc::clone(&destinations), is_asked, is_draining);
        let (workers, check) = (Arc::new(self.workers), &judged.settings.check);
        if let Some(listener) = self.check_listener {
            let check = CheckService::new(destinations, self.check_token, proxies, check);
            tasks.spawn(serve_on(listener, &workers, check, &closing));
        }
        for listener in self.listeners {
            let listener = listener.observe_refusals(services.observer.clone());
            tasks.spawn(serve_on(listener, &workers, service.clone(), &closing));
        }
        tasks.close();
        tasks.wait().await;
        // Closed after the listeners, when no request that would need a proxy can arrive.
        serving.serving.close().await;
        drop(workers); // The proxies' connections end on them.
    }
}

/// Returns the path of the admin page, and the router nested there.
fn admin_router(
    settings: &Settings,
    robots: &RobotDetection,
    stop: &CancellationToken,
) -> Option<(String, Router)> {
    settings.admin.enabled.then(|| {
        let path = format!("/{}", settings.admin.path.trim_matches('/'));
        // Streams of live decisions must not delay the shutdown.
        let pages = robots.admin_router_with_login(stop.clone());
        let router = Router::new().nest_service(&path, pages);
        (path, router)
    })
}

/// Serves a listener on the worker threads until the listener is closed.
fn serve_on<S: HttpService>(
    listener: Listener,
    workers: &Arc<Workers>,
    service: S,
    closing: &CancellationToken,
) -> impl Future<Output = ()> + Send + use<S> {
    let (workers, closing) = (Arc::clone(workers), closing.clone());
    async move { listener.serve_http(Some(&workers), service, closing).await }
}

async fn bind(settings: Option<ListenSettings>) -> std::io::Result<Option<Listener>> {
    match settings {
        Some(settings) => Listener::bind(settings).await.map(Some),
        None => Ok(None),
    }
}

fn no_addr() -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, 0).into()
}

/// A guard that allows reloads to replace the running server's sites until it is dropped.
struct ReloadGuard<'r> {
    robots: &'r RobotDetection,
    serving: Arc<Serving>,
}

impl<'r> ReloadGuard<'r> {
    fn new(robots: &'r RobotDetection, serving: Serving) -> Self {
        let serving = Arc::new(serving);
        robots.set_serving(Some(Arc::clone(&serving)));
        Self { robots, serving }
    }
}

impl Drop for ReloadGuard<'_> {
    fn drop(&mut self) {
        // The admin pages reference the handle, so the handle must not reference them for ever.
        self.robots.set_serving(None);
    }
}

/// Waits for `stop` and the drain delay, then closes the listeners.
async fn drain(
    stop: CancellationToken,
    delay: Duration,
    is_draining: Arc<AtomicBool>,
    closing: CancellationToken,
) {
    stop.cancelled().await;
    // Relaxed: it does not matter if one more response keeps its connection open.
    is_draining.store(true, Ordering::Relaxed);
    time::sleep(delay).await;
    closing.cancel();
}
