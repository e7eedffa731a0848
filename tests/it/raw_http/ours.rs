//! The cases against a listener with the proxy behind it.

use futures_util::{StreamExt as _, stream};

use crate::support::front::ProxyServer;

use super::{
    case::{self, Case},
    client::Place,
    play,
    upstream::Upstream,
};

/// Number of cases played concurrently.
const AT_ONCE: usize = 8;

macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident: $file:literal;)*) => {
        $($(#[$doc])*
        #[tokio::test]
        async fn $name() {
            all_pass(include_str!(concat!("../../data/raw_http/", $file))).await;
        })*

        /// Returns every case of every file.
        pub(super) fn all() -> Vec<Case> {
            let mut cases = Vec::new();
            $(cases.extend(case::parse(include_str!(concat!("../../data/raw_http/", $file))));)*
            cases
        }
    };
}

groups! {
    lengths_and_codings: "framing.txt";
    chunks: "chunks.txt";
    line_ends_and_odd_bytes: "lines.txt";
    targets_hosts_and_versions: "targets.txt";
    hop_by_hop_headers: "hops.txt";
    forged_forwarding_headers: "forwarding.txt";
    misspelt_headers: "names.txt";
    several_requests_on_a_connection: "pipelines.txt";
    protocol_switches: "upgrades.txt";
    limits: "limits.txt";
    responses: "responses.txt";
}

async fn all_pass(text: &str) {
    let cases = case::parse(text);
    let faults: Vec<_> = stream::iter(&cases)
        .map(pass)
        .buffer_unordered(AT_ONCE)
        .filter_map(async |result| result.err())
        .collect()
        .await;
    assert!(
        faults.is_empty(),
        "{} of {} cases failed:\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
}

async fn pass(case: &Case) -> Result<(), String> {
    let upstream = Upstream::start().await;
    let front = ProxyServer::proxy(upstream.addr).await;
    play::check(&Place::Tcp(front.addr), &upstream, case).await
}

#[test]
fn there_are_at_least_two_hundred_cases() {
    let cases = all();
    assert!(cases.len() >= 200, "{}", cases.len());
}
