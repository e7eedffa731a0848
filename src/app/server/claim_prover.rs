//! Verification of robots' claims in commands, without a server.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Proving, Verification};
use crate::clock::Clock;
use crate::config::{Resolver, VerifySection};
use crate::detect::SigningHost;
use crate::fetch::FetchError;
use crate::registry::Robot;
use crate::store::Store;
use crate::verify::{
    Evidence, Finding, Method, NoResolver, Proof, RangesReport, RangesState, ResolverCheck,
    SignedRequest, check_resolvers,
};

/// A verifier of robots' claims for commands that run without a server.
///
/// The verifier uses the address lists in the database, and downloads missing lists when they are
/// needed.
#[derive(Clone, Debug)]
pub struct ClaimProver {
    proving: Proving,
    is_offline: bool,
}

impl ClaimProver {
    /// Creates a verifier; address lists missing from the database are downloaded when needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client for downloads cannot be created.
    pub async fn new(settings: Verification, store: Store) -> Result<Self, FetchError> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let proving = Proving::new(settings, store, Clock::system(), tasks, stop)?;
        proving.load_lists().await;
        Ok(Self {
            proving,
            is_offline: false,
        })
    }

    /// Returns the verification settings for a command.
    ///
    /// The settings come from `[verify]`, even if verification is disabled there. If `is_offline`,
    /// DNS is not queried.
    pub fn settings(settings: &VerifySection, is_offline: bool) -> Verification {
        let settings = enabled_verification(settings);
        let methods = settings.methods.clone().into_iter();
        let methods = methods.filter(|method| !is_offline || *method != Method::ReverseDns);
        settings.methods(methods)
    }

    /// Sets whether downloads of address lists are disabled.
    #[must_use]
    pub fn offline(mut self, is_offline: bool) -> Self {
        self.is_offline = is_offline;
        self
    }

    /// Verifies, using a client address, that a request is from the robot.
    pub async fn prove(&self, robot: &Robot, address: IpAddr) -> Proof {
        self.prove_request(robot, Some(address), None).await
    }

    /// Verifies, using a request's address and signature, that the request is from the robot.
    pub async fn prove_request(
        &self,
        robot: &Robot,
        address: Option<IpAddr>,
        signed: Option<&SignedRequest<'_>>,
    ) -> Proof {
        if let Some(address) = address {
            self.fetch_list_of(robot, address).await;
        }
        self.proving.verifier().prove(robot, address, signed).await
    }

    /// Finds the signer of an unlisted robot's request.
    pub async fn prove_signer(&self, signed: &SignedRequest<'_>) -> (Option<SigningHost>, Proof) {
        let methods = self.proving.verifier().methods();
        let found = match &methods.web_bot_auth {
            Some(prover) => {
                if let Some(fetch) = prover.signer_fetch(signed) {
                    fetch.await;
                }
                prover.signer_now(signed)
            }
            None => Some(Err("Signatures are not verified here.".to_owned())),
        };
        let (signer, text) = match found {
            Some(Ok(host)) => (SigningHost::new(&host), format!("signed by {host}")),
            Some(Err(reason)) => (None, reason),
            None => (
                None,
                "the signer's key directory could not be downloaded".to_owned(),
            ),
        };
        let finding = Finding::Nothing(Evidence::new(Method::WebBotAuth, text));
        (signer, Proof::weigh([finding]))
    }

    /// Downloads the address lists at these URLs; unless `is_forced`, only lists that are due for a
    /// refresh.
    pub async fn refresh(&self, urls: &[String], is_forced: bool) -> Vec<RangesReport> {
        self.proving.refresher().refresh(urls, is_forced).await
    }

    /// Queries each configured DNS resolver and returns the results.
    ///
    /// # Errors
    ///
    /// Returns an error if no resolver is configured and the system's resolvers cannot be read.
    pub async fn check_resolvers(
        settings: &Verification,
    ) -> Result<Vec<ResolverCheck>, NoResolver> {
        check_resolvers(&settings.dns_settings(&Clock::system())).await
    }

    /// Returns the state of each address list.
    #[must_use]
    pub fn lists(&self) -> Vec<RangesState> {
        self.proving.refresher().states()
    }

    /// Downloads the robot's address list if the list is needed and due for a refresh.
    ///
    /// Failed downloads are reported as part of the proof for the verdict.
    pub async fn fetch_list_of(&self, robot: &Robot, address: IpAddr) {
        let methods: Arc<_> = self.proving.verifier().methods();
        let is_needed = methods.is_about(Some(address)) && methods.ranges.is_some();
        if let (Some(url), true, false) = (&robot.ranges_url, is_needed, self.is_offline) {
            self.refresh(std::slice::from_ref(url), false).await;
        }
    }
}

/// Returns the verification settings that `[verify]` specifies.
pub fn verification(settings: &VerifySection) -> Verification {
    let verification = enabled_verification(settings);
    if settings.enabled {
        verification
    } else {
        verification.methods([])
    }
}

/// Returns the verification settings that `[verify]` would specify if verification were enabled.
pub(super) fn enabled_verification(settings: &VerifySection) -> Verification {
    let servers = settings.dns_servers.iter().copied().map(Resolver::addr);
    let interval = Duration::from_hours(settings.ranges_interval_hours.into());
    Verification::new()
        .methods(settings.methods.iter().copied())
        .dns_servers(servers)
        .dns_timeout(settings.dns_timeout)
        .ranges_interval(interval)
        .allow_private_addresses(settings.allow_private_addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::verify::Method;

    fn load(text: &str) -> Result<Verification, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let loaded = loaded.map_err(|error| error.to_string())?;
        Ok(verification(&loaded.settings().verify))
    }

    #[test]
    fn errors_name_the_place_of_wrong_values() {
        for (text, expected) in [
            (
                "[verify]\nmethods = ['rangs']",
                "c.toml:2: verify.methods: \"rangs\" is not a valid method; did you mean \"ranges\"?",
            ),
            (
                "[verify]\ndns_servers = ['dns.example']",
                "c.toml:2: verify.dns_servers: \"dns.example\" is not a resolver address",
            ),
            (
                "[verify]\nspoofed = 'refused'",
                "c.toml:2: verify.spoofed: \"refused\" is not a valid treatment; did you mean \"refuse\"?",
            ),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn disabled_verification_has_no_methods() {
        let all = load("").unwrap();
        assert!(Method::ALL.iter().all(|method| all.uses(*method)));
        assert_eq!(all, Verification::new(), "the defaults are equal");
        let none = load("verify.enabled = false").unwrap();
        assert!(!Method::ALL.iter().any(|method| none.uses(*method)));
        let one = load("verify.methods = 'reverse-dns'").unwrap();
        assert!(one.uses(Method::ReverseDns) && !one.uses(Method::Ranges));
    }
}
