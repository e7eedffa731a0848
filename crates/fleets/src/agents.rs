//! What was asked under each User-Agent: in the window, and before it.

use std::{collections::HashMap, sync::Arc};

use crate::{
    counts::{Counts, share},
    distinct::Distinct,
    observation::{MAX_USER_AGENT_BYTES, Observation, PathKind, path},
    sketch::Sketch,
    table::Table,
};

/// User-Agents, with their fingerprints, that are told apart in a window.
const MAX_AGENTS: usize = 1_024;

/// User-Agents that are remembered from one window to the next.
const MAX_PAST: usize = 512;

/// Paths of each that are shown.
pub(crate) const SAMPLES: usize = 3;

/// Bytes of a path that is shown.
pub(crate) const SAMPLE_BYTES: usize = 96;

/// Requests after which text is kept: of User-Agents that come once nothing needs to be.
const WITH_TEXT: f64 = 8.0;

/// What is left of counts a window later: a half after three hours, so that a fleet of four requests
/// a minute adds up to enough to be judged within a day.
const LEFT: f64 = 0.962_223_5;

/// Windows of a day, until when what is usual is not known.
const DAY: u32 = 144;

/// Windows that what is usual is the mean of: a week.
const WEEK: u32 = 1_008;

/// Counts of one User-Agent and fingerprint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    /// Senders are in `addresses`, until the counts are read.
    pub(crate) counts: Counts,
    pub(crate) addresses: Distinct<256>,
    pub(crate) paths: Distinct<64>,
    pub(crate) label: Label,
}

/// What is shown of a User-Agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) user_agent: Arc<str>,
    pub(crate) samples: Vec<Arc<str>>,
}

/// Hashes of an observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashes {
    pub(crate) agent: u64,
    pub(crate) sender: u64,
    pub(crate) target: u64,
}

impl Agent {
    /// Returns the counts, with the number of addresses as that of senders.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            senders: self.addresses.estimate(),
            ..self.counts
        }
    }

    pub(crate) fn add(&mut self, seen: &Observation<'_>, hashes: Hashes, is_unseen: bool) {
        let kind = PathKind::of(seen.target);
        let one = |holds| if holds { 1.0 } else { 0.0 };
        self.counts.requests += 1.0;
        self.counts.conditional += one(seen.is_of_cache());
        self.addresses.add(hashes.sender);
        if kind != PathKind::Page {
            return;
        }
        self.counts.pages += 1.0;
        self.counts.referred += one(seen.has_referrer);
        self.counts.deep += one(seen.is_deep());
        self.counts.unseen += one(is_unseen);
        self.paths.add(hashes.target);
        if self.counts.requests >= WITH_TEXT && self.label.samples.len() < SAMPLES {
            self.label.add(seen);
        }
    }

    /// Adds what another has counted.
    fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts, 1.0);
        self.addresses.merge(&other.addresses);
        self.paths.merge(&other.paths);
        if self.label.user_agent.is_empty() {
            self.label.clone_from(&other.label);
        }
    }
}

impl Label {
    fn add(&mut self, seen: &Observation<'_>) {
        if self.user_agent.is_empty() {
            self.user_agent = text(seen.user_agent(), MAX_USER_AGENT_BYTES);
        }
        // What stands in a query may be a secret.
        let path = text(path(seen.target()), SAMPLE_BYTES);
        if !self.samples.contains(&path) {
            self.samples.push(path);
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.samples.iter().chain([&self.user_agent]);
        let vec = self.samples.capacity() * size_of::<Arc<str>>();
        // Two counts stand before each text.
        vec + texts.map(|text| text.len() + 16).sum::<usize>()
    }
}

/// Returns text of bytes of which nobody knows what they are, no longer than they may be.
fn text(bytes: &[u8], most: usize) -> Arc<str> {
    let text = String::from_utf8_lossy(bytes);
    let mut places = (0..=most.min(text.len())).rev();
    let end = places.find(|&place| text.is_char_boundary(place));
    text.split_at(end.unwrap_or(0)).0.into()
}

/// User-Agents of a window.
#[derive(Debug)]
pub(crate) struct Window {
    table: Table<Agent>,
    total: Counts,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self {
            table: Table::new(MAX_AGENTS),
            total: Counts::default(),
        }
    }

    /// Returns the place of a request's User-Agent, if there is any.
    pub(crate) fn come(&mut self, agent: u64) -> Option<&mut Agent> {
        self.table.come(agent)
    }

    /// Counts a request among all.
    pub(crate) fn count(&mut self, is_page: bool) {
        self.total.requests += 1.0;
        self.total.pages += if is_page { 1.0 } else { 0.0 };
    }

    /// Returns what was counted here and what others have told.
    pub(crate) fn with<'s>(&self, others: impl Iterator<Item = &'s Sketch>) -> Sum {
        let agents = self.table.iter().map(|(key, agent)| (key, agent.clone()));
        let mut sum = Sum {
            agents: agents.collect(),
            total: self.total,
        };
        for other in others {
            sum.total.add(&other.total, 1.0);
            for (key, agent) in &other.agents {
                sum.agents.entry(*key).or_default().merge(agent);
            }
        }
        sum
    }

    /// Returns what others are told.
    pub(crate) fn sketch(&self, number: i64, seed: u64) -> Sketch {
        Sketch::new(number, seed, self.total, self.table.iter())
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.total = Counts::default();
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let labels = self.table.iter().map(|(_, agent)| agent.label.bytes());
        self.table.bytes() + labels.sum::<usize>()
    }
}

/// User-Agents of a window on all instances.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    agents: HashMap<u64, Agent>,
    total: Counts,
}

/// What was asked in the windows before, of which less counts the older it is.
#[derive(Debug, Default)]
pub(crate) struct Past {
    agents: HashMap<u64, Remembered>,
    total: Counts,
    windows: u32,
}

/// What is remembered of a User-Agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) agent: Agent,
    counts: Counts,
    /// Mean of its shares of the pages.
    usual: f64,
}

/// A User-Agent in the last hours, the window among them.
#[derive(Debug)]
pub(crate) struct Lately {
    pub(crate) key: u64,
    pub(crate) agent: Agent,
    pub(crate) window: Counts,
    pub(crate) counts: Counts,
    /// Share of the pages, in the window or in the last hours.
    pub(crate) share: f64,
    /// Usual share, where that is known.
    pub(crate) usual: Option<f64>,
}

impl Past {
    /// Takes over a window that has ended, except what is usual of those who are flagged.
    pub(crate) fn end(&mut self, window: &Sum, is_flagged: impl Fn(u64) -> bool) {
        self.fade();
        self.windows = self.windows.saturating_add(1);
        for (key, agent) in &window.agents {
            let known = self.agents.entry(*key).or_default();
            known.counts.add(&agent.counts(), 1.0);
            known.agent.merge(agent);
        }
        self.total.add(&window.total, 1.0);
        let weight = 1.0 / f64::from(self.windows.min(WEEK));
        for (key, known) in self.agents.iter_mut().filter(|(key, _)| !is_flagged(**key)) {
            let pages = window
                .agents
                .get(key)
                .map_or(0.0, |agent| agent.counts.pages);
            // A window in which nobody was there says nothing of shares.
            if window.total.pages > 0.0 {
                known.usual += (share(pages, window.total.pages) - known.usual) * weight;
            }
        }
        self.forget();
    }

    /// Lets a window pass in which nothing was asked.
    pub(crate) fn fade(&mut self) {
        for known in self.agents.values_mut() {
            known.counts = scaled(&known.counts);
        }
        self.total = scaled(&self.total);
    }

    /// Returns every User-Agent of the last hours.
    pub(crate) fn lately(&self, window: &Sum) -> Vec<Lately> {
        let total = self.total.with(&window.total);
        let is_known = self.windows >= DAY;
        let nobody = Remembered::default();
        let of = |key: u64, now: Option<&Agent>| {
            let before = self.agents.get(&key).unwrap_or(&nobody);
            let mut agent = before.agent.clone();
            let counts = now.map(Agent::counts).unwrap_or_default();
            if let Some(now) = now {
                agent.merge(now);
            }
            let lately = before.counts.with(&counts);
            let shares = [
                share(counts.pages, window.total.pages),
                share(lately.pages, total.pages),
            ];
            Lately {
                key,
                agent,
                window: counts,
                counts: lately,
                share: shares.into_iter().fold(0.0, f64::max),
                usual: is_known.then_some(before.usual),
            }
        };
        let here = window.agents.iter();
        let mut lately: Vec<_> = here.map(|(key, agent)| of(*key, Some(agent))).collect();
        let gone = self.agents.keys();
        let gone = gone.filter(|key| !window.agents.contains_key(key));
        lately.extend(gone.map(|key| of(*key, None)));
        lately
    }

    /// Forgets those who asked least, where they are too many.
    fn forget(&mut self) {
        self.agents.retain(|_, known| known.counts.requests >= 1.0);
        let excess = self.agents.len().saturating_sub(MAX_PAST);
        if excess == 0 {
            return;
        }
        let mut pages: Vec<_> = self
            .agents
            .iter()
            .map(|(key, known)| (known.counts.pages, *key))
            .collect();
        pages.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        for (_, key) in pages.iter().take(excess) {
            self.agents.remove(key);
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let labels = self.agents.values().map(|known| known.agent.label.bytes());
        self.agents.capacity() * size_of::<(u64, Remembered)>() + labels.sum::<usize>()
    }
}

fn scaled(counts: &Counts) -> Counts {
    let mut scaled = Counts::default();
    scaled.add(counts, LEFT);
    scaled
}
