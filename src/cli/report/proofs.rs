//! Verifies the robots' claims in logs.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use indicatif::ProgressBar;
use tokio::task::JoinSet;

use crate::app::ClaimProver;
use crate::detect::Verdict;
use crate::log_report::Claims;

/// The maximum number of concurrent verifications of claims.
// Verifications mostly wait for DNS; without a limit, a large log would flood the resolver.
const MAX_PROOFS: usize = 64;

/// Verifies claims, at most [`MAX_PROOFS`] at a time.
pub(super) async fn prove<'d>(
    prover: &ClaimProver,
    claims: Claims<'d>,
    bar: &ProgressBar,
) -> HashMap<(&'d str, IpAddr), Verdict> {
    let lists: BTreeSet<_> = (claims.values())
        .filter_map(|robot| robot.ranges_url.clone())
        .collect();
    // The address lists are downloaded first, so that verifications do not wait for downloads.
    prover
        .refresh(&lists.into_iter().collect::<Vec<_>>(), false)
        .await;
    let prover = prover.clone().offline(true);
    let keys: Vec<_> = claims.keys().copied().collect();
    let mut proofs = JoinSet::new();
    let mut verdicts = HashMap::with_capacity(claims.len());
    let mut done = 0_usize;
    let mut finished = |ended: Option<Result<(usize, Verdict), _>>| {
        done += 1;
        bar.set_message(format!("{done} of {} robot addresses verified", keys.len()));
        // If a verification panics, the claim remains unverifiable.
        if let Some(Ok::<_, tokio::task::JoinError>((number, verdict))) = ended
            && let Some(key) = keys.get(number)
        {
            verdicts.insert(*key, verdict);
        }
    };
    for (number, ((_, client), robot)) in claims.iter().enumerate() {
        if proofs.len() >= MAX_PROOFS {
            finished(proofs.join_next().await);
        }
        let (prover, robot, client) = (prover.clone(), Arc::clone(robot), *client);
        proofs.spawn(async move { (number, prover.prove(&robot, client).await.verdict) });
    }
    while let Some(ended) = proofs.join_next().await {
        finished(Some(ended));
    }
    verdicts
}
