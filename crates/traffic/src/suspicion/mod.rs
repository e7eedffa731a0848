//! Who of those who say that they are people is a robot: fleets, and odd conduct.
//!
//! Each request of a person leaves what is to be judged in a slot: no lock, no allocation, and where
//! no slot is free nothing. A task empties the slots into the sketches of `robot-detection-fleets`,
//! has them judged every few seconds, and exchanges the set of those who are flagged. All of it is in
//! memory, four MiB at most, and ends with the process; who is flagged now stands in the database too,
//! for commands, and what was seen in the window, which other instances add to theirs.

mod keeper;
mod request;
mod slots;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod suspicion;
mod values;

pub use keeper::LASTS_MS as SUSPECTS_LAST_MS;
pub use slots::Slip;
pub use suspicion::{Flagged, Suspicion};
pub use values::moment;
pub use values::{conduct_value, fleet_value, percent};
