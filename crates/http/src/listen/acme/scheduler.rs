//! A scheduler for all orders: one task renews the certificates of all hosts.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use rustls::{
    crypto::{CryptoProvider, ring},
    pki_types::UnixTime,
    sign::CertifiedKey,
};
use tokio::{sync::Mutex, task, time};
use tracing::{debug, error, info};

use super::{
    super::certificate::{Certificate, CertificateState},
    cache::Cache,
    challenge::Challenges,
    client::AcmeClient,
    host::{FailedOrder, Host},
    order::{OrderError, account, order},
    settings::{AcmeError, AcmeSettings},
};

/// The timeout for one certificate order.
const ORDER_TIMEOUT: Duration = Duration::from_mins(5);
/// The maximum duration of a sleep. It is limited because the clock may be set or the machine
/// suspended in the meantime.
const MAX_SLEEP: Duration = Duration::from_hours(1);

/// The certificates that listeners order automatically; see [`AcmeSettings`].
pub struct Acme {
    authorities: Vec<Authority>,
    challenges: Challenges,
    provider: Arc<CryptoProvider>,
    /// The lock held by the listener that orders certificates for all listeners.
    keeping: Mutex<()>,
}

/// An ACME authority that issues certificates.
#[derive(Debug)]
struct Authority {
    settings: AcmeSettings,
    cache: Cache,
    hosts: Vec<Host>,
}

impl Acme {
    /// Validates the settings, and loads the cached certificates, which several listeners may
    /// share.
    ///
    /// Nothing is ordered or written before a listener starts serving.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no hosts, if the terms of service are not accepted, or if a
    /// value is invalid.
    pub fn new(settings: Vec<AcmeSettings>) -> Result<Self, AcmeError> {
        let provider = Arc::new(ring::default_provider());
        let mut authorities: Vec<Authority> = Vec::new();
        for settings in settings {
            let mut settings = settings.validated()?;
            let hosts = std::mem::take(&mut settings.hosts);
            let known = authorities
                .iter()
                .position(|known| known.settings == settings);
            let at = known.unwrap_or_else(|| {
                authorities.push(Authority::new(settings));
                authorities.len() - 1
            });
            for host in hosts {
                match authorities.iter().position(|known| known.has(&host)) {
                    Some(has) if has != at => return Err(AcmeError::Twice(host)),
                    Some(_) => {}
                    None => {
                        if let Some(authority) = authorities.get_mut(at) {
                            authority.add(host, &provider);
                        }
                    }
                }
            }
        }
        Ok(Self {
            authorities,
            challenges: Challenges::default(),
            provider,
            keeping: Mutex::new(()),
        })
    }

    /// Returns each host, with its certificate if one has been issued.
    pub(in super::super) fn certificates(&self) -> Vec<(&str, Option<Certificate>)> {
        let hosts = self.hosts().map(|(_, host)| host);
        hosts
            .map(|host| (host.name.as_str(), host.certificate()))
            .collect()
    }

    pub(in super::super) fn states(&self) -> Vec<CertificateState> {
        self.hosts().map(|(_, host)| host.state()).collect()
    }

    /// Returns the certificate that answers a challenge for a name.
    pub(in super::super) fn certificate(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let found = name.and_then(|name| self.challenges.find(name));
        if found.is_none() {
            debug!("closed a connection with a challenge for a name that is not being validated");
        }
        found
    }

    /// Orders and renews certificates indefinitely; calls `changed` for each new certificate.
    ///
    /// If there are several callers, only one of them works at a time; when that caller ends,
    /// another takes over.
    pub(in super::super) async fn run_renewals(&self, changed: impl Fn()) -> Infallible {
        let _only = self.keeping.lock().await;
        loop {
            for (authority, host) in self.hosts() {
                if host.wait(UnixTime::now().as_secs()).is_zero()
                    && self.renew(authority, host).await
                {
                    changed();
                }
            }
            let now = UnixTime::now().as_secs();
            let waits = self.hosts().map(|(_, host)| host.wait(now));
            time::sleep(waits.min().unwrap_or(MAX_SLEEP).min(MAX_SLEEP)).await;
        }
    }

    /// Orders a certificate for a host, and returns whether the order succeeded.
    async fn renew(&self, authority: &Authority, host: &Host) -> bool {
        let (name, directory) = (&host.name, &authority.settings.directory);
        if host.is_failing() {
            debug!("retrying the certificate order for {name} from {directory}");
        } else {
            info!("ordering a certificate for {name} from {directory}");
        }
        let wait = authority.settings.retry_wait;
        let ordered = time::timeout(ORDER_TIMEOUT, self.order(authority, host)).await;
        match ordered.unwrap_or(Err(OrderError::TooLong(ORDER_TIMEOUT))) {
            Ok(certificate) => {
                let end = certificate.validity.not_after;
                let days = end.saturating_sub(UnixTime::now().as_secs()) / 86_400;
                host.record_success(certificate, wait);
                info!("obtained a certificate for {name}, valid for {days} days");
                true
            }
            Err(error) => {
                if error.is_unknown_account() {
                    // The next order creates a new account; the old account file is kept under
                    // another name.
                    let _ = authority.cache.remove_account();
                }
                let FailedOrder { wait, is_news } = host.fail(&error, wait);
                let wait = Duration::from_secs(wait.as_secs());
                if is_news {
                    error!(host = %name, "could not obtain a certificate for {name} from {directory}: {error}; retrying in {wait:?}");
                } else {
                    debug!(host = %name, "still could not obtain a certificate for {name}: {error}; retrying in {wait:?}");
                }
                false
            }
        }
    }

    async fn order(&self, authority: &Authority, host: &Host) -> Result<Certificate, OrderError> {
        let Authority {
            settings, cache, ..
        } = authority;
        blocking(cache, Cache::prepare)
            .await
            .map_err(OrderError::Cache)?;
        let http = AcmeClient::new(settings.ca_file.as_deref(), &self.provider);
        let http = http.map_err(|error| OrderError::Inner(error.into()))?;
        let account = account(settings, cache, http).await?;
        let pem = order(&account, &host.name, &self.challenges, &self.provider).await?;
        // Validate the certificate before storing it, so that an unusable certificate does not
        // replace a usable one.
        let certificate = host.validate(&pem, &self.provider)?;
        let name = host.name.clone();
        blocking(cache, move |cache| cache.save_certificate(&name, &pem))
            .await
            .map_err(OrderError::NotKept)?;
        Ok(certificate)
    }

    fn hosts(&self) -> impl Iterator<Item = (&Authority, &Host)> {
        self.authorities.iter().flat_map(|authority| {
            let hosts = authority.hosts.iter();
            hosts.map(move |host| (authority, host))
        })
    }
}

impl fmt::Debug for Acme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts().map(|(_, host)| &host.name);
        f.debug_struct("Acme")
            .field("hosts", &hosts.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Authority {
    fn new(settings: AcmeSettings) -> Self {
        Self {
            cache: Cache::new(&settings.cache, &settings.directory),
            settings,
            hosts: Vec::new(),
        }
    }

    fn has(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.name == host)
    }

    fn add(&mut self, host: String, provider: &CryptoProvider) {
        self.hosts.push(Host::new(host, &self.cache, provider));
    }
}

async fn blocking(
    cache: &Cache,
    work: impl FnOnce(&Cache) -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<()> {
    let cache = cache.clone();
    task::spawn_blocking(move || work(&cache))
        .await
        .map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(hosts: &[&str], directory: &str) -> AcmeSettings {
        AcmeSettings {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            directory: directory.to_owned(),
            agree_to_terms: true,
            ..AcmeSettings::default()
        }
    }

    #[test]
    fn listeners_may_share_hosts_of_the_same_authority() {
        let acme = Acme::new(vec![
            settings(&["a.example", "b.example", "A.example"], ""),
            settings(&["b.example", "c.example"], "letsencrypt"),
            settings(&["d.example"], "staging"),
        ])
        .unwrap();
        let hosts: Vec<_> = acme.hosts().map(|(_, host)| &*host.name).collect();
        assert_eq!(hosts, ["a.example", "b.example", "c.example", "d.example"]);
        assert_eq!(acme.authorities.len(), 2);
        let twice = Acme::new(vec![
            settings(&["a.example"], ""),
            settings(&["a.example"], "staging"),
        ]);
        assert_eq!(twice.unwrap_err(), AcmeError::Twice("a.example".to_owned()));
    }
}
