//! Claims of a log's lines, proven by their addresses: each robot and address once.

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

use super::{input::Sink, progress::ClaimsProven};

/// Proofs at the same time.
const MAX_PROOFS: usize = 64;

/// Verdicts that are remembered; beyond it all are forgotten and proven again.
const MAX_KNOWN: usize = 500_000;

/// Taker of lines that is told the verdict on each of them first.
pub(super) trait VerdictSink: Sink {
    /// Tells the verdict on the claim of the next line; none where it claims nothing.
    fn verdict(&mut self, verdict: Option<Verdict>);
}

/// Proves the claims of a block of lines, then hands the lines on.
pub(super) struct Proven<'d, S> {
    detector: &'d Detector,
    prover: ClaimProver,
    runtime: &'d Runtime,
    inner: S,
    /// Lines whose verdicts are still to be found.
    lines: Vec<Option<Kept>>,
    known: HashMap<(&'d str, IpAddr), Verdict>,
    progress: ClaimsProven,
    fetched: BTreeSet<&'d str>,
}

/// What is kept of a line.
#[derive(Debug)]
struct Kept {
    user_agent: Option<Vec<u8>>,
    bytes: u64,
    client: Option<IpAddr>,
}

impl<'d, S: VerdictSink> Proven<'d, S> {
    pub(super) fn new(
        detector: &'d Detector,
        prover: ClaimProver,
        runtime: &'d Runtime,
        inner: S,
        progress: ClaimsProven,
    ) -> Self {
        Self {
            detector,
            prover,
            runtime,
            inner,
            lines: Vec::new(),
            known: HashMap::new(),
            progress,
            fetched: BTreeSet::new(),
        }
    }

    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    /// Finds the verdicts on what the lines claim.
    fn prove(&mut self) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let mut unknown = HashMap::new();
        for line in self.lines.iter().flatten() {
            if let Some((robot, client)) = self.claimed(line)
                && !self.known.contains_key(&(robot.id.as_str(), client))
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
            prover.refresh(&lists, false).await;
            prove_all(&prover.offline(true), unknown, progress).await
        });
        self.known.extend(verdicts);
    }

    /// Hands the lines on, each after its verdict.
    fn hand_on(&mut self) -> io::Result<()> {
        for line in std::mem::take(&mut self.lines) {
            let verdict = line.as_ref().and_then(|line| self.verdict_on(line));
            self.inner.verdict(verdict);
            self.inner.entry(line.as_ref().map(Kept::entry))?;
        }
        Ok(())
    }

    fn verdict_on(&self, line: &Kept) -> Option<Verdict> {
        let user_agent = line.user_agent.as_deref()?;
        self.detector.identify(user_agent)?;
        let known = self.claimed(line);
        let known = known.and_then(|(robot, client)| self.known.get(&(&*robot.id, client)));
        Some(known.copied().unwrap_or_default())
    }

    /// Returns the listed robot that a line names, and where it comes from.
    fn claimed(&self, line: &Kept) -> Option<(&'d Arc<Robot>, IpAddr)> {
        let claim: Claim<'d> = self.detector.identify(line.user_agent.as_deref()?)?;
        Some((claim.robot()?, line.client?))
    }
}

/// Proves claims, some at a time.
async fn prove_all<'d>(
    prover: &ClaimProver,
    claims: HashMap<(&'d str, IpAddr), &'d Arc<Robot>>,
    progress: &mut ClaimsProven,
) -> Vec<((&'d str, IpAddr), Verdict)> {
    let mut proofs = JoinSet::new();
    let mut verdicts = Vec::with_capacity(claims.len());
    let keys: Vec<_> = claims.keys().copied().collect();
    let mut done = |ended: Option<Result<(usize, Verdict), _>>| {
        progress.proven();
        // A proof that panics is none.
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

impl Kept {
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

impl<S: VerdictSink> Sink for Proven<'_, S> {
    fn entry(&mut self, entry: Option<Entry<'_>>) -> io::Result<()> {
        self.lines.push(entry.as_ref().map(Kept::new));
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.prove();
        self.hand_on()?;
        self.inner.pause()
    }
}
