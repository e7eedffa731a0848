//! Numbers by which visitors are known again, and memory of them: no lock, no text of a visitor.

mod agent_key;
mod seen_keys;

pub(crate) use agent_key::{AgentKey, halves};
pub(crate) use seen_keys::SeenKeys;
