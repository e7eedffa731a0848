//! Origins of requests: address lists, and databases that map addresses to networks and countries.
//!
//! Rules and listeners look up addresses in [`Origins`], an in-memory structure. A [`Keeper`] loads
//! lists and files, and reloads them when they are due or have changed. A missing list counts as
//! empty; if a file is damaged, the previous copy remains in use.

mod keeper;
#[expect(
    clippy::module_inception,
    reason = "the module is named after the type it defines"
)]
mod origins;
mod place_file;
mod place_reader;
mod presets;

pub use keeper::Keeper;
pub use origins::{ListSpec, ListState, Origins, PlaceState, WantedOrigins};
pub use presets::{PRESETS, ProxyPreset};
