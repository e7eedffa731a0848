//! Confirmation: the form and cookie by which a human visitor ends a suspicion.
//!
//! A suspect that is served the copy of a page finds a form on it. Pressing its button sets a
//! cookie, valid for the same host, User-Agent and network, for twelve hours, renewed for at most a
//! week. No state is stored per visitor: form and cookie are signed with a key of the database that
//! is replaced daily. Confirmations are counted, as they show wrong suspicions.

mod copy;
mod keys;
mod presses;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod way_out;

pub use copy::with_form;
pub use way_out::{Confirmation, ConfirmationKeys, ConfirmingVisitor};
