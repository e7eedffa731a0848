//! Verifies the claims in log lines by client address, once for each robot and address.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    net::IpAddr,
    sync::Arc,
};

use tokio::{runtime::Runtime, task::JoinSet};

use crate::access_log::Entry;
use crate::app::ClaimProver;
use crate::detect::{Claim, Detector, Verdict};
use crate::registry::Robot;

use super::input::{EntrySink, ProofProgress};

/// The maximum number of concurrent verifications of claims.
// Verifications mostly wait for DNS; without a limit, a large log would flood the resolver.
const MAX_PROOFS: usize = 64;

/// The maximum number of cached verdicts; when the limit is exceeded, the cache is cleared.
// Without a limit, the cache would grow with the number of addresses in the log.
const MAX_VERDICTS: usize = 500_000;

/// A consumer of log entries that also receives the verdict on each entry's claim.
pub(super) trait VerdictSink: EntrySink {
    /// Receives the verdict on the claim in the next line; `None` if the line has no claim.
    fn verdict(&mut self, verdict: Option<Verdict>);
}

/// A sink that verifies the claims in a block of lines, then forwards the lines to another sink.
///
/// A block extends to the next pause. The claims are verified concurrently, because verifying the
/// lines one by one would mean waiting for DNS each time.
pub(super) struct ProvingSink<'d, S> {
    detector: &'d Detector,
    prover: ClaimProver,
    runtime: &'d Runtime,
    inner: S,
    /// Lines whose claims have not been verified yet.
    lines: Vec<Option<BufferedLine>>,
    verdicts: HashMap<(&'d str, IpAddr), Verdict>,
    progress: ProofProgress,
    fetched: BTreeSet<&'d str>,
}

/// A log line that is waiting for the verdict on its claim.
#[derive(Debug)]
struct BufferedLine {
    user_agent: Option<Vec<u8>>,
    bytes: u64,
    client: Option<IpAddr>,
}

impl<'d, S: VerdictSink> ProvingSink<'d, S> {
    pub(super) fn new(
        detector: &'d Detector,
        prover: ClaimProver,
        runtime: &'d Runtime,
        inner: S,
        progress: ProofProgress,
    ) -> Self {
        Self {
            detector,
            prover,
            runtime,
            inner,
            lines: Vec::new(),
            verdicts: HashMap::new(),
            progress,
            fetched: BTreeSet::new(),
        }
    }

    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    /// Verifies the claims in the buffered lines.
    fn prove(&mut self) {
        if self.verdicts.len() >= MAX_VERDICTS {
            self.verdicts.clear();
        }
        let mut unknown = HashMap::new();
        for line in self.lines.iter().flatten() {
            if let Some((robot, client)) = self.robot_and_client(line)
                && !self.verdicts.contains_key(&(robot.id.as_str(), client))
            {
                unknown.insert((robot.id.as_str(), client), robot);
            }
        }
        if unknown.is_empty() {
            return;
        }
        let lists = unknown
            .values()
            .filter_map(|robot| robot.ranges_url.as_deref());
        let lists: Vec<_> = lists.filter(|url| self.fetched.insert(url)).collect();
        let lists: Vec<_> = lists.into_iter().map(str::to_owned).collect();
        let (prover, runtime) = (self.prover.clone(), self.runtime);
        let progress = &mut self.progress;
        progress.found(unknown.len());
        let verdicts = runtime.block_on(async {
            // The address lists are downloaded first, so that verifications do not wait for
            // downloads.
            prover.refresh(&lists, false).await;
            prove_all(&prover.offline(true), unknown, progress).await
        });
        self.verdicts.extend(verdicts);
    }

    /// Forwards the buffered lines, each after the verdict on its claim.
    fn forward(&mut self) -> io::Result<()> {
        for line in std::mem::take(&mut self.lines) {
            let verdict = line.as_ref().and_then(|line| self.verdict_on(line));
            self.inner.verdict(verdict);
            self.inner.entry(line.as_ref().map(BufferedLine::entry))?;
        }
        Ok(())
    }

    fn verdict_on(&self, line: &BufferedLine) -> Option<Verdict> {
        let user_agent = line.user_agent.as_deref()?;
        self.detector.identify(user_agent)?;
        let verdict = self
            .robot_and_client(line)
            .and_then(|(robot, client)| self.verdicts.get(&(&*robot.id, client)));
        Some(verdict.copied().unwrap_or_default())
    }

    /// Returns the listed robot that a line claims, and the client address.
    fn robot_and_client(&self, line: &BufferedLine) -> Option<(&'d Arc<Robot>, IpAddr)> {
        let claim: Claim<'d> = self.detector.identify(line.user_agent.as_deref()?)?;
        Some((claim.robot()?, line.client?))
    }
}

/// Verifies claims, at most [`MAX_PROOFS`] at a time.
async fn prove_all<'d>(
    prover: &ClaimProver,
    claims: HashMap<(&'d str, IpAddr), &'d Arc<Robot>>,
    progress: &mut ProofProgress,
) -> Vec<((&'d str, IpAddr), Verdict)> {
    let mut proofs = JoinSet::new();
    let mut verdicts = Vec::with_capacity(claims.len());
    let keys: Vec<_> = claims.keys().copied().collect();
    let mut done = |ended: Option<Result<(usize, Verdict), _>>| {
        progress.proven();
        // If a verification panics, the claim remains unverifiable.
        if let Some(Ok::<_, tokio::task::JoinError>((number, verdict))) = ended
            && let Some(key) = keys.get(number)
        {
            verdicts.push((*key, verdict));
        }
    };
    for (number, ((_, client), robot)) in claims.iter().enumerate() {
        if proofs.len() >= MAX_PROOFS {
            done(proofs.join_next().await);
        }
        let (prover, robot, client) = (prover.clone(), Arc::clone(robot), *client);
        proofs.spawn(async move { (number, prover.prove(&robot, client).await.verdict) });
    }
    while let Some(ended) = proofs.join_next().await {
        done(Some(ended));
    }
    verdicts
}

impl BufferedLine {
    fn new(entry: &Entry<'_>) -> Self {
        Self {
            user_agent: entry.user_agent.map(<[u8]>::to_vec),
            bytes: entry.bytes,
            client: entry.client,
        }
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            user_agent: self.user_agent.as_deref(),
            bytes: self.bytes,
            client: self.client,
        }
    }
}

impl<S: VerdictSink> EntrySink for ProvingSink<'_, S> {
    fn entry(&mut self, entry: Option<Entry<'_>>) -> io::Result<()> {
        self.lines.push(entry.as_ref().map(BufferedLine::new));
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.prove();
        self.forward()?;
        self.inner.pause()
    }
}
