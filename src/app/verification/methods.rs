//! The verifier and its dependencies, and changes to their settings.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderValue;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::clock::Clock;
use crate::fetch::{FetchError, Fetcher};
use crate::layer::RobotDetectionLayer;
use crate::store::Store;
use crate::verify::{
    ACCEPT_SIGNATURE, DnsProver, DnsSettings, Method, Methods, Ranges, RangesRefresher,
    SignatureProver, SignatureSettings, Verifier,
};

use super::Verification;

/// A handle's verifier and address lists.
#[derive(Clone, Debug)]
pub(in crate::app) struct Proving {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    verifier: Verifier,
    ranges: Ranges,
    store: Store,
    fetcher: Fetcher,
    #[cfg_attr(
        not(feature = "server"),
        expect(dead_code, reason = "only the server changes the methods later")
    )]
    clock: Clock,
    settings: Mutex<Verification>,
}

impl Proving {
    /// Creates a verifier; its verifications run as `tasks` until `stop` is cancelled.
    pub(in crate::app) fn new(
        settings: Verification,
        store: Store,
        clock: Clock,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, FetchError> {
        let ranges = Ranges::new(clock.clone());
        let methods = methods(&settings, &ranges, &clock, None);
        Ok(Self {
            inner: Arc::new(Inner {
                verifier: Verifier::new(methods, clock.clone(), tasks, stop),
                ranges,
                store,
                fetcher: Fetcher::new(RangesRefresher::fetch_limits())?,
                clock,
                settings: Mutex::new(settings),
            }),
        })
    }

    pub(in crate::app) fn verifier(&self) -> &Verifier {
        &self.inner.verifier
    }

    /// Returns the job that downloads and applies address lists, configured with the current
    /// settings.
    pub(in crate::app) fn refresher(&self) -> RangesRefresher {
        let Inner {
            store,
            fetcher,
            ranges,
            ..
        } = &*self.inner;
        RangesRefresher::new(store.clone(), fetcher.clone(), ranges.clone())
            .interval(self.settings().ranges_interval)
    }

    pub(in crate::app) fn settings(&self) -> Verification {
        let settings = self.inner.settings.lock();
        settings.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects a layer to the verifier of robots' claims.
    pub(in crate::app) fn connect_layer(&self, layer: RobotDetectionLayer) -> RobotDetectionLayer {
        let verifier = self.verifier().clone();
        layer
            .verdicts(Arc::new(verifier.clone()))
            // Evaluated for each request, because a reload changes the methods of existing sites.
            .accept_signature_with(move || {
                let methods = verifier.methods();
                let accept = HeaderValue::from_static(ACCEPT_SIGNATURE);
                methods.web_bot_auth.as_ref().map(|_| accept)
            })
    }

    /// Replaces the settings; a method with unchanged settings keeps its state.
    #[cfg(feature = "server")]
    pub(in crate::app) fn replace(&self, settings: Verification) {
        let Inner {
            verifier,
            ranges,
            clock,
            settings: known,
            ..
        } = &*self.inner;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == settings {
            return;
        }
        let before = verifier.methods();
        let methods = methods(&settings, ranges, clock, Some((&known, &before)));
        verifier.replace(methods);
        *known = settings;
    }
}

impl Verification {
    /// Returns the settings for the DNS queries of verifications.
    pub(in crate::app) fn dns_settings(&self, clock: &Clock) -> DnsSettings {
        let mut dns = DnsSettings::default();
        dns.servers.clone_from(&self.dns_servers);
        dns.timeout = self.dns_timeout;
        // A verification makes two queries in a row: the name of the address, and the addresses of
        // the name.
        dns.proof_timeout = dns.proof_timeout.max(self.dns_timeout * 2);
        dns.allow_private = self.allow_private_addresses;
        dns.clock = clock.clone();
        dns
    }
}

/// Creates the methods that the settings specify; reuses methods with unchanged settings from
/// `before`.
fn methods(
    settings: &Verification,
    ranges: &Ranges,
    clock: &Clock,
    before: Option<(&Verification, &Methods)>,
) -> Methods {
    let mut methods = Methods::default();
    methods.allow_private_addresses = settings.allow_private_addresses;
    if settings.uses(Method::Ranges) {
        methods.ranges = Some(ranges.clone());
    }
    if settings.uses(Method::ReverseDns) {
        let is_same = |before: &Verification| {
            before.dns_servers == settings.dns_servers
                && before.dns_timeout == settings.dns_timeout
                && before.allow_private_addresses == settings.allow_private_addresses
        };
        let known = before.filter(|(before, _)| is_same(before));
        // The cache is kept, so that a reload does not repeat all DNS queries.
        let known = known.and_then(|(_, methods)| methods.reverse_dns.clone());
        methods.reverse_dns = Some(known.unwrap_or_else(|| dns(settings, clock)));
    }
    if settings.uses(Method::WebBotAuth) {
        let is_same = |before: &Verification| {
            before.allow_private_addresses == settings.allow_private_addresses
                && before.allow_http_directories == settings.allow_http_directories
        };
        let known = before.filter(|(before, _)| is_same(before));
        let known = known.and_then(|(_, methods)| methods.web_bot_auth.clone());
        methods.web_bot_auth = Some(known.unwrap_or_else(|| signatures(settings, clock)));
    }
    methods
}

fn dns(settings: &Verification, clock: &Clock) -> DnsProver {
    DnsProver::new(settings.dns_settings(clock))
}

fn signatures(settings: &Verification, clock: &Clock) -> SignatureProver {
    let signatures = SignatureSettings {
        allow_private_networks: settings.allow_private_addresses,
        allow_http: settings.allow_http_directories,
        ..SignatureSettings::default()
    };
    SignatureProver::new(signatures, clock.clone())
}
