//! Sketches of a window, exchanged between instances.

use std::{fmt, sync::Arc};

use crate::{
    agents::{Agent, Label, SAMPLE_BYTES, SAMPLES},
    counts::Counts,
    distinct::Distinct,
    observation::MAX_USER_AGENT_BYTES,
};

/// Maximum number of User-Agents in a sketch, which are the ones with the most page requests.
const MAX_TOLD: usize = 64;

/// Minimum number of requests for a User-Agent to be included in a sketch.
const MIN_REQUESTS: f64 = 4.0;

/// First byte of a sketch: the version of the format.
const VERSION: u8 = 1;

/// An approximate summary of the requests that one instance has seen in a window.
///
/// Sketches of the same window can be added: counts are summed, and an address in several sketches
/// is counted only once.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub(crate) number: i64,
    /// A number derived from the seed; sketches with different seeds have different keys.
    pub(crate) seed: u64,
    pub(crate) total: Counts,
    pub(crate) agents: Vec<(u64, Agent)>,
}

/// The error returned for bytes that are not a sketch in this version's format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InvalidSketch;

impl fmt::Display for InvalidSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not a sketch in this version's format")
    }
}

impl std::error::Error for InvalidSketch {}

impl Sketch {
    pub(crate) fn new<'a>(
        number: i64,
        seed: u64,
        total: Counts,
        agents: impl Iterator<Item = (u64, &'a Agent)>,
    ) -> Self {
        let agents = agents.filter(|(_, agent)| agent.counts.requests >= MIN_REQUESTS);
        let mut agents: Vec<_> = agents.collect();
        agents.sort_by(|one, other| other.1.counts.pages.total_cmp(&one.1.counts.pages));
        agents.truncate(MAX_TOLD);
        let agents = agents.into_iter().map(|(key, agent)| (key, agent.clone()));
        Self {
            number,
            seed,
            total,
            agents: agents.collect(),
        }
    }

    /// Returns the serialised sketch, at most 50 KB.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.number.to_le_bytes());
        out.extend(self.seed.to_le_bytes());
        write_counts(&self.total, &mut out);
        for (key, agent) in &self.agents {
            out.extend(key.to_le_bytes());
            write_counts(&agent.counts, &mut out);
            out.extend(agent.addresses.registers());
            out.extend(agent.paths.registers());
            write_text(&agent.label.user_agent, &mut out);
            out.push(u8::try_from(agent.label.samples.len()).unwrap_or_default());
            for sample in &agent.label.samples {
                write_text(sample, &mut out);
            }
        }
        out
    }

    /// Parses a serialised sketch.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are in another version's format, too long, or invalid.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, InvalidSketch> {
        Self::read(&mut bytes).ok_or(InvalidSketch)
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        if take(bytes)? != [VERSION] {
            return None;
        }
        let number = i64::from_le_bytes(take(bytes)?);
        let seed = u64::from_le_bytes(take(bytes)?);
        let total = read_counts(bytes)?;
        let mut agents = Vec::new();
        while !bytes.is_empty() {
            let key = u64::from_le_bytes(take(bytes)?);
            let counts = read_counts(bytes)?;
            let addresses = Distinct::from_registers(take(bytes)?)?;
            let paths = Distinct::from_registers(take(bytes)?)?;
            let user_agent = read_text(bytes, MAX_USER_AGENT_BYTES)?;
            let [samples] = take(bytes)?;
            let samples = (0..samples).map(|_| read_text(bytes, SAMPLE_BYTES));
            let samples: Option<Vec<_>> = samples.collect();
            let label = Label {
                user_agent,
                samples: samples.filter(|samples| samples.len() <= SAMPLES)?,
            };
            let agent = Agent {
                counts,
                addresses,
                paths,
                label,
            };
            agents.push((key, agent));
            if agents.len() > MAX_TOLD {
                return None;
            }
        }
        Some(Self {
            number,
            seed,
            total,
            agents,
        })
    }
}

/// Writes the request counts of a window, which are whole numbers.
fn write_counts(counts: &Counts, out: &mut Vec<u8>) {
    for count in counts.as_numbers() {
        out.extend(count.to_le_bytes());
    }
}

fn read_counts(bytes: &mut &[u8]) -> Option<Counts> {
    let mut numbers = [0.0; 6];
    for number in &mut numbers {
        *number = f64::from_le_bytes(take(bytes)?);
        if !(0.0..=MAX_COUNT).contains(number) {
            return None;
        }
    }
    Some(Counts::from_numbers(numbers))
}

/// Maximum number of requests in ten minutes that a valid sketch contains.
const MAX_COUNT: f64 = 1e12;

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(u8::try_from(text.len()).unwrap_or_default());
    out.extend(text.bytes().take(u8::MAX.into()));
}

fn read_text(bytes: &mut &[u8], most: usize) -> Option<Arc<str>> {
    let [length] = take(bytes)?;
    let (text, rest) = bytes.split_at_checked(length.into())?;
    *bytes = rest;
    let text = str::from_utf8(text).ok()?;
    (text.len() <= most).then(|| text.into())
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
