//! Keys that identify visitors, and lock-free tables of keys that store no text sent by visitors.

mod agent_key;
mod keyed_words;

pub(crate) use agent_key::{AgentKey, halves};
pub(crate) use keyed_words::KeyedWords;
pub(crate) use keyed_words::SeenKeys;

/// Returns the slot of a key in a table of `places` slots, which is a power of two.
fn place_of(key: u64, places: usize) -> usize {
    // A multiplication mixes the upper bits best.
    usize::try_from(key >> 40).unwrap_or_default() & (places - 1)
}
