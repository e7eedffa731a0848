//! The stand-alone server: listeners, proxy or demonstration site, admin page.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, http::HeaderName};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_layer::Layer as _;

use crate::config::{ConfigErrors, Loaded, Settings};
use crate::layer::RobotDetectionLayer;
use crate::listen::{ListenSettings, Listener, TrustedProxies};
use crate::proxy::{Proxy, ProxyError, ProxySettings};

use super::{
    RobotDetection,
    front::{Front, Rooms, Site},
    operations,
    pages::Heaven,
};

/// Header that tells the upstream which robot a request claims to come from.
const IDENTIFICATION_HEADER: HeaderName = HeaderName::from_static("x-robot-detection");

/// Settings of the server, read and judged.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    listen: ListenSettings,
    admin_listen: Option<ListenSettings>,
    site: Site,
    settings: Settings,
}

/// Server whose addresses are bound.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    admin_listener: Option<Listener>,
    site: Site,
    settings: Settings,
}

impl ServerSettings {
    /// Judges the settings; `demo` puts the demonstration site in place of an upstream.
    ///
    /// # Errors
    ///
    /// Fails with the place of the wrong value.
    pub fn new(loaded: &Loaded, demo: bool) -> Result<Self, ConfigErrors> {
        let settings = loaded.settings();
        let site = if demo || settings.upstream.is_empty() {
            Site::Demo
        } else {
            Site::Upstream(proxy(loaded, &settings)?)
        };
        let admin_listen = if settings.admin_listen.is_empty() {
            None
        } else {
            Some(listen(
                loaded,
                &settings,
                "admin.listen",
                &settings.admin_listen,
            )?)
        };
        for (key, path) in [
            ("admin.path", &settings.admin_path),
            ("heaven.path", &settings.heaven_path),
        ] {
            if !path.starts_with('/') || path.trim_matches('/').is_empty() || path.contains("//") {
                return Err(
                    loaded.wrong(key, format!("{path:?} is no path such as /robot-heaven/"))
                );
            }
        }
        Ok(Self {
            listen: listen(loaded, &settings, "server.listen", &settings.listen)?,
            admin_listen,
            site,
            settings,
        })
    }

    /// Tells whether the demonstration site is served.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        matches!(self.site, Site::Demo)
    }

    /// Returns the address that visitors are to reach.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.listen.addr
    }

    /// Proves that the upstream accepts connections; `None` without one.
    pub async fn check_upstream(&self) -> Option<Result<(), ProxyError>> {
        match &self.site {
            Site::Upstream(proxy) => Some(proxy.check().await),
            Site::Demo => None,
        }
    }

    /// Binds the addresses.
    ///
    /// # Errors
    ///
    /// Fails when one is in use, or may not be used.
    pub async fn bind(self) -> std::io::Result<Server> {
        let listener = Listener::bind(self.listen).await?;
        let admin_listener = match self.admin_listen {
            Some(settings) => Some(Listener::bind(settings).await?),
            None => None,
        };
        Ok(Server {
            listener,
            admin_listener,
            site: self.site,
            settings: self.settings,
        })
    }
}

impl Server {
    /// Returns the address that visitors reach.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Returns the address of the admin listener, if there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_listener.as_ref().map(Listener::local_addr)
    }

    /// Serves until `stop` is cancelled, then drains; the jobs of `robots` are left running.
    pub async fn run(self, robots: &RobotDetection, stop: CancellationToken) {
        let mut operations = Some(operations::router(robots.clone(), stop.clone()));
        let mut admin = self.settings.admin_enabled.then(|| {
            let path = format!("/{}", self.settings.admin_path.trim_matches('/'));
            let router = Router::new().nest_service(&path, robots.admin_router());
            (path, router)
        });
        let tasks = TaskTracker::new();
        if let Some(listener) = self.admin_listener {
            let routers = [operations.take(), admin.take().map(|(_, router)| router)];
            let router = routers
                .into_iter()
                .flatten()
                .fold(Router::new(), Router::merge);
            tasks.spawn(listener.serve(router, stop.clone()));
        }
        let rooms = Rooms {
            admin,
            operations,
            robots_txt: robots.served_robots_txt().clone(),
            heaven: self
                .settings
                .heaven_serve
                .then(|| Heaven::new(&self.settings.heaven_path, &self.settings.heaven_directory)),
        };
        let service = layer(robots).layer(Front::new(rooms, self.site.clone()));
        tasks.spawn(self.listener.serve(service, stop));
        tasks.close();
        tasks.wait().await;
        if let Site::Upstream(proxy) = self.site {
            proxy.close().await;
        }
    }
}

fn layer(robots: &RobotDetection) -> RobotDetectionLayer {
    robots.layer().identification_header(IDENTIFICATION_HEADER)
}

fn proxy(loaded: &Loaded, settings: &Settings) -> Result<Proxy, ConfigErrors> {
    Proxy::new(ProxySettings {
        upstream: settings.upstream.clone(),
        connect_timeout: settings.connect_timeout,
        response_timeout: settings.response_timeout,
        preserve_host: settings.preserve_host,
    })
    .map(|proxy| {
        proxy
            .keep_header(IDENTIFICATION_HEADER)
            .idle_timeout(settings.idle_timeout)
    })
    .map_err(|error| loaded.wrong("server.upstream", error))
}

fn listen(
    loaded: &Loaded,
    settings: &Settings,
    key: &str,
    addr: &str,
) -> Result<ListenSettings, ConfigErrors> {
    let addr = addr.parse().map_err(|_| {
        loaded.wrong(
            key,
            format!("{addr:?} is no address such as 127.0.0.1:8080 or [::]:8080"),
        )
    })?;
    let trusted_proxies = TrustedProxies::parse(&settings.trusted_proxies)
        .map_err(|error| loaded.wrong("server.trusted_proxies", error))?;
    Ok(ListenSettings {
        addr,
        trusted_proxies,
        header_timeout: settings.header_timeout,
        idle_timeout: settings.idle_timeout,
        max_connections: settings.max_connections,
        drain_timeout: settings.drain_timeout.max(Duration::from_secs(1)),
    })
}
