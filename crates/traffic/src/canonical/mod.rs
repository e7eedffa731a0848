//! Canonical URLs named by the site's own pages, used as redirect targets for robots.
//!
//! Canonical URLs come from the site robot and from responses to robots that are to be redirected:
//! 200 responses to requests without a cookie, a password and a query are read in passing.

mod canonicals;
mod keeper;
mod reading;
mod table;

pub use canonicals::Canonicals;
pub use keeper::CanonicalKeeper;
pub use reading::{CanonicalBody, CanonicalReader};
