//! Numbers by which visitors are known again, and memory of them: no lock, no text of a visitor.

mod agent_key;
mod keyed_words;
mod seen_keys;

pub(crate) use agent_key::{AgentKey, halves};
pub(crate) use keyed_words::KeyedWords;
pub(crate) use seen_keys::SeenKeys;
