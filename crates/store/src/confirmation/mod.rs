//! Confirmation: the form and cookie by which a human visitor ends a suspicion.
//!
//! A suspect that is served a copy of a page sees a form on the copy. Clicking the form's button
//! sets a cookie for the same host, User-Agent and network. The cookie is valid for twelve hours
//! and is renewed for at most a week. No state is stored per visitor: form and cookie are signed
//! with a key from the database that is replaced daily. Confirmations are counted, since they
//! indicate false suspicions.

#[expect(
    clippy::module_inception,
    reason = "the module is named after the type it defines"
)]
mod confirmation;
mod copy;
mod keys;
mod submission_limits;

pub use confirmation::{Confirmation, ConfirmationKeys, ConfirmingVisitor};
pub use copy::with_form;
