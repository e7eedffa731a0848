//! Verification methods in use, and their findings about claims.

use std::net::IpAddr;

use crate::fetch::is_public;
use crate::verify::{
    DnsProver, Evidence, Finding, Method, Proof, Ranges, SignatureProver, SignedRequest,
};
use robot_detection_layer::registry::Robot;

const SWITCHED_OFF: &str = "This method is disabled.";

/// The verification methods in use. A method that is `None` is disabled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Methods {
    /// Verification by published address ranges.
    pub ranges: Option<Ranges>,
    /// Verification by forward-confirmed reverse DNS.
    pub reverse_dns: Option<DnsProver>,
    /// Verification by signatures on requests.
    pub web_bot_auth: Option<SignatureProver>,
    /// Whether to check addresses that are not public; `false` by default.
    ///
    /// Behind a proxy that is not trusted, all clients appear to have the same private address.
    pub allow_private_addresses: bool,
}

impl Methods {
    /// Returns `true` if any method can verify the robot's claim. Most operators publish no data.
    pub(super) fn has_methods(robot: &Robot) -> bool {
        robot.ranges_url.is_some()
            || !robot.host_suffixes.is_empty()
            || !robot.signature_agents.is_empty()
    }

    /// Returns the prover of signatures if the robot signs its requests.
    pub(super) fn signatures(&self, robot: &Robot) -> Option<&SignatureProver> {
        let prover = self.web_bot_auth.as_ref()?;
        (!robot.signature_agents.is_empty()).then_some(prover)
    }

    /// Returns the robot's address list if there is one and the method is enabled.
    pub(super) fn ranges<'a>(&'a self, robot: &'a Robot) -> Option<(&'a Ranges, &'a str)> {
        self.ranges.as_ref().zip(robot.ranges_url.as_deref())
    }

    /// Returns the suffixes of the robot's host names if there are any and the method is enabled.
    pub(super) fn dns<'a>(&'a self, robot: &'a Robot) -> Option<(&'a DnsProver, &'a [String])> {
        let prover = self.reverse_dns.as_ref()?;
        let suffixes = robot.host_suffixes.as_slice();
        (!suffixes.is_empty()).then_some((prover, suffixes))
    }

    /// Returns `true` if the robot's claim can be verified by the client address, which is rarely
    /// the case.
    pub(super) fn has_address_methods(&self, robot: &Robot) -> bool {
        self.ranges(robot).is_some() || self.dns(robot).is_some()
    }

    /// Returns `true` if a client's address can be checked.
    pub fn is_about(&self, client: Option<IpAddr>) -> bool {
        self.address(client).is_some()
    }

    /// Returns the client's address if it can be checked.
    ///
    /// Only public addresses get a verdict, so that a documentation network used behind a proxy
    /// does not make all robots impostors.
    pub(super) fn address(&self, client: Option<IpAddr>) -> Option<IpAddr> {
        let address = client?.to_canonical();
        let is_one = self.allow_private_addresses || is_public(address);
        (is_one && !address.is_unspecified()).then_some(address)
    }

    /// Runs all methods. Each finding that proves nothing states the reason.
    pub(super) async fn prove(
        &self,
        robot: &Robot,
        client: Option<IpAddr>,
        signed: Option<&SignedRequest<'_>>,
    ) -> Proof {
        let by_ranges = self.ranges_finding(robot, client);
        let lacks_list = matches!(by_ranges, Finding::Nothing(_)) && self.ranges(robot).is_some();
        Proof::weigh([
            by_ranges,
            self.dns_finding(robot, client, lacks_list).await,
            self.signature_finding(robot, signed).await,
        ])
    }

    fn ranges_finding(&self, robot: &Robot, client: Option<IpAddr>) -> Finding {
        let nothing = |text: String| Finding::Nothing(Evidence::new(Method::Ranges, text));
        match (&self.ranges, &robot.ranges_url, self.address(client)) {
            (None, _, _) => nothing(SWITCHED_OFF.to_owned()),
            (_, None, _) => nothing("The operator publishes no address list.".to_owned()),
            (_, _, None) => nothing(no_address(client)),
            (Some(ranges), Some(url), Some(address)) => {
                without_contradiction(robot, ranges.find(url, address))
            }
        }
    }

    async fn dns_finding(
        &self,
        robot: &Robot,
        client: Option<IpAddr>,
        lacks_list: bool,
    ) -> Finding {
        let nothing = |text: String| Finding::Nothing(Evidence::new(Method::ReverseDns, text));
        match (&self.reverse_dns, self.address(client)) {
            (None, _) => nothing(SWITCHED_OFF.to_owned()),
            (Some(_), _) if robot.host_suffixes.is_empty() => {
                nothing("The operator publishes no host names.".to_owned())
            }
            (_, None) => nothing(no_address(client)),
            (Some(prover), Some(address)) => {
                let proof = prover.prove(address, &robot.host_suffixes).await;
                if !(proof.is_nameless && lacks_list) {
                    return without_contradiction(robot, proof.finding);
                }
                let text = proof.finding.into_evidence().text;
                nothing(format!(
                    "{text} This does not contradict the claim while the address list is unavailable."
                ))
            }
        }
    }

    async fn signature_finding(
        &self,
        robot: &Robot,
        signed: Option<&SignedRequest<'_>>,
    ) -> Finding {
        let nothing = |text: &str| Finding::Nothing(Evidence::new(Method::WebBotAuth, text));
        match (&self.web_bot_auth, signed) {
            (None, _) => nothing(SWITCHED_OFF),
            (Some(_), _) if robot.signature_agents.is_empty() => {
                nothing("The operator publishes no signing keys.")
            }
            (_, None) => nothing("The request is not signed."),
            (Some(prover), Some(signed)) => prover.prove(signed, robot).await,
        }
    }
}

/// Returns a finding that contradicts the claim only if the robot has no other addresses.
fn without_contradiction(robot: &Robot, finding: Finding) -> Finding {
    match finding {
        Finding::Contradicted(evidence) if robot.has_partial_proofs => {
            let text = format!(
                "{} This does not contradict the claim, because the operator does not publish all \
                 addresses.",
                evidence.text
            );
            Finding::Nothing(Evidence::new(evidence.method, text))
        }
        finding => finding,
    }
}

fn no_address(client: Option<IpAddr>) -> String {
    match client.filter(|address| !address.is_unspecified()) {
        None => "The client address is unknown.".to_owned(),
        Some(address) => format!(
            "{address} is not a public address; if it belongs to a proxy, add it to \
             server.trusted_proxies."
        ),
    }
}
