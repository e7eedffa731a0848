//! Approximate counts of requested pages: sketches of paths and of their patterns.
//!
//! The visitor, path and status of a request are stored in a slot of a [`PathSlots`]. Once a
//! second, the content of the slots is moved to a [`Window`] of at most a few thousand paths. A
//! path that does not fit is counted under its pattern, and a pattern under the next more general
//! pattern. The sums are therefore exact, and each count is too low by at most the number of folded
//! requests. For people, only patterns are stored, which contain no IDs or secrets.

mod figures;
mod form;
mod note;
mod ring;
mod window;

pub use crate::slots::Ticket;
pub use figures::{PEOPLE, PathFigure, PathFigures, PathFilter, PathGroup, path_csv};
pub use note::ShortPath;
pub(super) use ring::{PathSlots, QuerySlots, RecordedPath};
pub use window::{Window, shared_name};

/// The name under which robots beyond the limit are counted.
const OTHER: &str = "other";
