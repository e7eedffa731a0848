//! Detection of robots among visitors that claim to be people: fleets and odd conduct.
//!
//! Each human request leaves an observation in a slot without locking or allocating; without a free
//! slot, it is dropped. A task moves the slots into the sketches of `robot-detection-fleets`,
//! evaluates them every few seconds, and swaps the set of flagged visitors. All data is in memory,
//! at most 4 MiB, and ends with the process. The database stores current flags for commands, and
//! the current window for other instances.

mod keeper;
mod request;
mod slots;
#[expect(
    clippy::module_inception,
    reason = "the submodule is named after the type that it defines"
)]
mod suspicion;
mod values;

pub use keeper::LASTS_MS as SUSPECTS_LAST_MS;
pub use slots::ObservationTicket;
pub use suspicion::{Suspicion, VisitorFlags};
pub use values::moment;
pub use values::{conduct_value, fleet_value, percent};
