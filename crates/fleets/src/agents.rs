//! Counts of requests by User-Agent, for the current window and for earlier windows.

use std::{collections::HashMap, sync::Arc};

use crate::{
    counts::{Counts, share},
    distinct::Distinct,
    observation::{MAX_USER_AGENT_BYTES, Observation, PathKind, path},
    sketch::Sketch,
    table::Table,
};

/// Maximum number of User-Agents with fingerprints in a window.
const MAX_AGENTS: usize = 1_024;

/// Maximum number of User-Agents remembered from previous windows.
const MAX_PAST: usize = 512;

/// Maximum number of sample paths stored for a User-Agent.
pub(crate) const SAMPLES: usize = 3;

/// Maximum length of a sample path in bytes.
pub(crate) const SAMPLE_BYTES: usize = 96;

/// Minimum number of requests before a User-Agent's texts are stored, so that rare User-Agents need
/// no memory for texts.
const WITH_TEXT: f64 = 8.0;

/// Decay factor applied to counts after each window. It halves the counts in three hours, so that a
/// fleet that sends four requests a minute reaches the minimum for an evaluation within a day.
const LEFT: f64 = 0.962_223_5;

/// Number of windows in a day, after which the usual share of each User-Agent is known.
const DAY: u32 = 144;

/// Number of windows over which usual shares are averaged: a week.
const WEEK: u32 = 1_008;

/// Request counts for one User-Agent and fingerprint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    /// The request counts; the senders are counted in `addresses` until the counts are read.
    pub(crate) counts: Counts,
    pub(crate) addresses: Distinct<256>,
    pub(crate) paths: Distinct<64>,
    pub(crate) label: Label,
}

/// The texts displayed for a User-Agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) user_agent: Arc<str>,
    pub(crate) samples: Vec<Arc<str>>,
}

/// Hashes computed from an observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashes {
    pub(crate) agent: u64,
    pub(crate) sender: u64,
    pub(crate) target: u64,
}

impl Agent {
    /// Returns the request counts, with the estimated number of addresses as the senders.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            senders: self.addresses.estimate(),
            ..self.counts
        }
    }

    pub(crate) fn add(&mut self, seen: &Observation<'_>, hashes: Hashes, is_unseen: bool) {
        let kind = PathKind::from_target(seen.target);
        let one = |holds| if holds { 1.0 } else { 0.0 };
        self.counts.requests += 1.0;
        self.counts.conditional += one(seen.is_from_cache());
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

    /// Adds the counts of another instance or window.
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
        // The query may contain secrets.
        let path = text(path(seen.target()), SAMPLE_BYTES);
        if !self.samples.contains(&path) {
            self.samples.push(path);
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.samples.iter().chain([&self.user_agent]);
        let vec = self.samples.capacity() * size_of::<Arc<str>>();
        // Each text is preceded by two reference counts.
        vec + texts.map(|text| text.len() + 16).sum::<usize>()
    }
}

/// Converts untrusted bytes to UTF-8 text of limited length.
fn text(bytes: &[u8], most: usize) -> Arc<str> {
    let text = String::from_utf8_lossy(bytes);
    let mut places = (0..=most.min(text.len())).rev();
    let end = places.find(|&place| text.is_char_boundary(place));
    text.split_at(end.unwrap_or(0)).0.into()
}

/// The User-Agents seen in a window.
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

    /// Returns the entry for a request's User-Agent, or `None` if the window has no room for it.
    pub(crate) fn get_or_insert(&mut self, agent: u64) -> Option<&mut Agent> {
        self.table.get_or_insert(agent)
    }

    /// Counts a request in the window's total.
    pub(crate) fn count(&mut self, is_page: bool) {
        self.total.requests += 1.0;
        self.total.pages += if is_page { 1.0 } else { 0.0 };
    }

    /// Returns the sum of this instance's counts and the counts in other instances' sketches.
    pub(crate) fn merge<'s>(&self, others: impl Iterator<Item = &'s Sketch>) -> WindowTotal {
        let agents = self.table.iter().map(|(key, agent)| (key, agent.clone()));
        let mut sum = WindowTotal {
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

    /// Returns the sketch of the window, to be sent to other instances.
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

/// The User-Agents seen in a window by all instances.
#[derive(Debug, Default)]
pub(crate) struct WindowTotal {
    agents: HashMap<u64, Agent>,
    total: Counts,
}

/// Request counts of previous windows; the older a window, the lower its weight.
#[derive(Debug, Default)]
pub(crate) struct History {
    agents: HashMap<u64, Remembered>,
    total: Counts,
    windows: u32,
}

/// The counts of previous windows that are remembered for a User-Agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) agent: Agent,
    counts: Counts,
    /// The User-Agent's average share of all page requests.
    usual: f64,
}

/// A User-Agent's requests in the last few hours, including the current window.
#[derive(Debug)]
pub(crate) struct RecentActivity {
    pub(crate) key: u64,
    pub(crate) agent: Agent,
    pub(crate) window: Counts,
    pub(crate) counts: Counts,
    /// The User-Agent's share of all page requests in the window or in the last few hours,
    /// whichever is larger.
    pub(crate) share: f64,
    /// The User-Agent's usual share of all page requests, if known.
    pub(crate) usual: Option<f64>,
}

impl History {
    /// Adds the counts of a window that has ended, without updating the usual shares of flagged
    /// User-Agents.
    pub(crate) fn add_window(&mut self, window: &WindowTotal, is_flagged: impl Fn(u64) -> bool) {
        self.decay();
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
            // Without page requests, there are no shares to average.
            if window.total.pages > 0.0 {
                known.usual += (share(pages, window.total.pages) - known.usual) * weight;
            }
        }
        self.forget();
    }

    /// Ages the counts by one window without requests.
    pub(crate) fn decay(&mut self) {
        for known in self.agents.values_mut() {
            known.counts = scaled(&known.counts);
        }
        self.total = scaled(&self.total);
    }

    /// Returns all User-Agents seen in the last few hours.
    pub(crate) fn recent_activity(&self, window: &WindowTotal) -> Vec<RecentActivity> {
        let total = self.total.sum_with(&window.total);
        let is_known = self.windows >= DAY;
        let nobody = Remembered::default();
        let of = |key: u64, now: Option<&Agent>| {
            let before = self.agents.get(&key).unwrap_or(&nobody);
            let mut agent = before.agent.clone();
            let counts = now.map(Agent::counts).unwrap_or_default();
            if let Some(now) = now {
                agent.merge(now);
            }
            let lately = before.counts.sum_with(&counts);
            let shares = [
                share(counts.pages, window.total.pages),
                share(lately.pages, total.pages),
            ];
            RecentActivity {
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

    /// Removes the User-Agents with the fewest page requests if too many are remembered.
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
