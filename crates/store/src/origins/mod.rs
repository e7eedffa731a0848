//! Where requests come from: lists of addresses, and files that tell networks and countries.
//!
//! [`Origins`] is what rules and listeners look addresses up in, from memory. A [`Keeper`]
//! reads what is wanted, and again when it is due or has changed: what is missing is empty, and
//! what is damaged leaves the copy of before in use.

mod keeper;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod origins;
mod place_file;
mod place_reader;
mod presets;

pub use keeper::Keeper;
pub use origins::{ListSpec, ListState, Origins, PlaceState, Wanted};
pub use presets::{PRESETS, ProxyPreset};
