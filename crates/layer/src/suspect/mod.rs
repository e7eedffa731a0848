//! Programs that say they are browsers.
//!
//! Whoever names a browser in its User-Agent is a person for [`detect`](crate::detect). [`Coherence`]
//! looks whether the request is one that this browser would send, and gives [`Reasons`] where it is
//! not; from a [weight](SUSPECT_WEIGHT) on they mark the visitor as suspect. The mark is no verdict:
//! [rules](crate::policy::When::suspect) may ask for it, and nothing is done without one.
//!
//! Only a browser that the table knows to the letter is judged. Whoever comes with a rare one is never
//! suspect for that. [`Marks`] hold what is known of a visitor from elsewhere, for some time.

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
pub use coherence::{Coherence, Findings};
#[doc(hidden)]
pub use fronts::FrontHeaders;
#[doc(hidden)]
pub use marks::{Mark, Marked, MarkedVisitor, Marks};
#[doc(hidden)]
pub use reason::{Reason, SUSPECT_WEIGHT};
pub use reasons::Reasons;
