//! Which pages are asked for, about: sketches of paths and of their patterns.
//!
//! A request leaves who asked, for what, and how it was answered, in a slot of a [`Ring`]. Once a
//! second the slots are carried over into a [`Window`] of at most a few thousand paths; what finds
//! no place there is counted with its pattern, a pattern with the one above. So the sums are right,
//! and each number is at most as much too low as what has been folded. Of people only patterns are
//! kept, in which nothing is left that may be an id or a secret.

mod figures;
mod form;
mod note;
mod ring;
mod window;

pub use crate::slots::Ticket;
pub use figures::{PEOPLE, PathFigure, PathFigures, PathFilter, PathGroup, path_csv};
pub use note::PathNote;
pub(super) use ring::{Ring, Settled};
pub use window::{Window, shared_name};

/// Robot that stands for those of which there are too many.
const OTHER: &str = "other";
