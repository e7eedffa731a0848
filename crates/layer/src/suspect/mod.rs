//! Detection of automated clients that claim to be browsers.
//!
//! [`detect`](crate::detect) considers a client with a browser's User-Agent human. [`BrowserCheck`]
//! checks whether the claimed browser would send the request, and returns the [`Reasons`] if it
//! would not. If the reasons' total [weight](SUSPECT_WEIGHT) is high enough, the visitor is marked
//! as suspect. The mark is not a verdict, and has no effect unless
//! [rules](crate::policy::When::suspect) match suspects.
//!
//! Only browsers whose User-Agent exactly matches the bundled table are checked; users of rare
//! browsers are never suspect. [`Marks`] store findings about a visitor from other sources for a
//! limited time.

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
