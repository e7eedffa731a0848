//! The way out of robot heaven for people: a form of one button, and the cookie that it is worth.
//!
//! A suspect who is served a copy of a page finds the form on it. Who presses the button gets a cookie
//! that is good for the same host, User-Agent and network, for twelve hours and a week at most. Nothing
//! is kept of who did: form and cookie carry what they say, signed with a key of the database that each
//! day replaces. How many do is counted, since they are those whom the suspicion was wrong about.

mod copy;
mod keys;
mod presses;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod way_out;

pub use copy::with_form;
pub use way_out::{Presser, WayOut, Word};
