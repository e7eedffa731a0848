//! Detects robots among visitors that claim to be human: fleets and automated behaviour.
//!
//! An observation of each human request is stored in a slot without locking or allocating; if no
//! slot is free, the observation is dropped. A task moves the observations into the sketches of
//! `robot-detection-fleets`, evaluates the sketches every few seconds, and replaces the set of
//! flagged visitors. All data is held in memory, takes at most 4 MiB, and is lost when the process
//! ends. The database stores the current flags for commands, and the current window for other
//! instances.

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
