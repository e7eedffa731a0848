//! Forward-confirmed reverse DNS, against a DNS server on loopback.

mod limits;
mod times;
mod verdicts;

use std::time::Duration;

use robot_detection::verify::{DnsProof, DnsProver, DnsSettings, Finding};

use crate::dns_server::DnsServer;

/// Returns settings that use the server, with timeouts for slow machines.
fn settings(server: &DnsServer) -> DnsSettings {
    let mut settings = DnsSettings::default();
    settings.servers = vec![server.address()];
    settings.timeout = Duration::from_mins(2);
    settings.proof_timeout = Duration::from_mins(10);
    settings.queue_timeout = Duration::from_mins(10);
    settings
}

fn prover(server: &DnsServer) -> DnsProver {
    DnsProver::new(settings(server))
}

fn suffixes(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Verifies that an address is Googlebot's; returns the finding in a word, and the evidence.
async fn prove(prover: &DnsProver, address: &str) -> (&'static str, String) {
    let suffixes = suffixes(&["googlebot.com", "google.com"]);
    spelled(prover.prove(address.parse().unwrap(), &suffixes).await)
}

fn spelled(proof: DnsProof) -> (&'static str, String) {
    let (word, evidence) = match proof.finding {
        Finding::Confirmed(evidence) => ("confirmed", evidence),
        Finding::Contradicted(evidence) => ("contradicted", evidence),
        Finding::Nothing(evidence) => ("nothing", evidence),
        Finding::Replayed(evidence) => ("replayed", evidence),
    };
    assert_eq!(evidence.method.as_str(), "reverse-dns");
    (word, evidence.text)
}
