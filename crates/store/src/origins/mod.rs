//! Origins of requests: address lists, and databases of networks and countries.
//!
//! Rules and listeners look addresses up in [`Origins`], which is held in memory. A [`Keeper`]
//! loads lists and files, and reloads them when they are due or have changed: a missing list is
//! empty, and a damaged file leaves the previous copy in use.

mod keeper;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod origins;
mod place_file;
mod place_reader;
mod presets;

pub use keeper::Keeper;
pub use origins::{ListSpec, ListState, Origins, PlaceState, WantedOrigins};
pub use presets::{PRESETS, ProxyPreset};
