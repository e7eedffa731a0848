//! Detection of automated clients that claim to be browsers.
//!
//! For [`detect`](crate::detect), a client with a browser's User-Agent is human. [`BrowserCheck`]
//! checks whether the claimed browser would send the request, and returns [`Reasons`] if not; from
//! a total [weight](SUSPECT_WEIGHT) they mark the visitor as suspect. The mark is not a verdict,
//! and has no effect unless [rules](crate::policy::When::suspect) match suspects.
//!
//! Only browsers whose User-Agent exactly matches the bundled table are checked; rare browsers are
//! never suspect. [`Marks`] keep findings from other sources about a visitor for some time.

mod coherence;
mod fronts;
mod marks;
mod reason;
mod reasons;
mod seen;
mod table;
mod user_agent;

pub use coherence::Transport;
#[doc(hidden)]
pub use coherence::{BrowserCheck, Findings};
#[doc(hidden)]
pub use fronts::FrontHeaders;
#[doc(hidden)]
pub use marks::{ActiveMarks, Mark, MarkedVisitor, Marks};
#[doc(hidden)]
pub use reason::{Reason, SUSPECT_WEIGHT};
pub use reasons::Reasons;
