//! Proofs without a server, for commands.

use std::{net::IpAddr, sync::Arc};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::clock::Clock;
use crate::config::VerifySection;
use crate::detect::SigningHost;
use crate::fetch::FetchError;
use crate::registry::Robot;
use crate::store::Store;
use crate::verify::{
    Evidence, Finding, Method, NoResolver, Proof, RangesReport, RangesState, ResolverCheck,
    SignedRequest, check_resolvers,
};

use super::{Proving, Verification, verification::switched_on};

/// Prover of claims for commands, without a server.
///
/// It knows the lists of addresses that the database has, and downloads one that a
/// proof needs.
#[derive(Clone, Debug)]
pub struct ClaimProver {
    proving: Proving,
    is_offline: bool,
}

impl ClaimProver {
    /// Creates a prover; what the database cannot tell is downloaded.
    ///
    /// # Errors
    ///
    /// Fails when the client for downloads cannot be made.
    pub async fn new(settings: Verification, store: Store) -> Result<Self, FetchError> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let proving = Proving::new(settings, store, Clock::system(), tasks, stop)?;
        proving.load_lists().await;
        Ok(Self {
            proving,
            is_offline: false,
        })
    }

    /// Returns the settings of a prover that somebody asks by hand.
    ///
    /// They are those of `[verify]`, whether that is enabled or not; one that is to be
    /// offline asks no DNS.
    pub fn settings(settings: &VerifySection, is_offline: bool) -> Verification {
        let settings = switched_on(settings);
        let methods = settings.methods.clone().into_iter();
        let methods = methods.filter(|method| !is_offline || *method != Method::ReverseDns);
        settings.methods(methods)
    }

    /// Sets whether nothing is downloaded.
    #[must_use]
    pub fn offline(mut self, is_offline: bool) -> Self {
        self.is_offline = is_offline;
        self
    }

    /// Proves the claim of a robot by an address.
    pub async fn prove(&self, robot: &Robot, address: IpAddr) -> Proof {
        self.prove_request(robot, Some(address), None).await
    }

    /// Proves the claim of a robot by what is known of its request.
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

    /// Finds who has signed the request of a robot that no registry lists.
    pub async fn prove_signer(&self, signed: &SignedRequest<'_>) -> (Option<SigningHost>, Proof) {
        let methods = self.proving.verifier().methods();
        let found = match &methods.web_bot_auth {
            Some(prover) => {
                if let Some(fetch) = prover.fetch_of_signer(signed) {
                    fetch.await;
                }
                prover.signer_now(signed)
            }
            None => Some(Err("It is not used here.".to_owned())),
        };
        let (signer, text) = match found {
            Some(Ok(host)) => (SigningHost::new(&host), format!("signed by {host}")),
            Some(Err(reason)) => (None, reason),
            None => (None, "its key directory could not be had now".to_owned()),
        };
        let finding = Finding::Nothing(Evidence::new(Method::WebBotAuth, text));
        (signer, Proof::weigh([finding]))
    }

    /// Downloads these lists: all, or with `is_forced` unset those that are due.
    pub async fn refresh(&self, urls: &[String], is_forced: bool) -> Vec<RangesReport> {
        self.proving.refresher().refresh(urls, is_forced).await
    }

    /// Asks each resolver in use a question; returns how it answered.
    ///
    /// # Errors
    ///
    /// Fails where none is named, and the system's cannot be read.
    pub async fn check_resolvers(
        settings: &Verification,
    ) -> Result<Vec<ResolverCheck>, NoResolver> {
        check_resolvers(&settings.dns_settings(&Clock::system())).await
    }

    /// Returns where each list stands.
    #[must_use]
    pub fn lists(&self) -> Vec<RangesState> {
        self.proving.refresher().states()
    }

    /// Downloads the robot's list if it is needed and due.
    ///
    /// What fails is told by the evidence.
    pub async fn fetch_list_of(&self, robot: &Robot, address: IpAddr) {
        let methods: Arc<_> = self.proving.verifier().methods();
        let is_needed = methods.is_about(Some(address)) && methods.ranges.is_some();
        if let (Some(url), true, false) = (&robot.ranges_url, is_needed, self.is_offline) {
            self.refresh(std::slice::from_ref(url), false).await;
        }
    }
}
