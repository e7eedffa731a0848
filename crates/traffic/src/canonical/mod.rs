//! Canonical URLs declared in the site's own pages, used as redirect targets for robots.
//!
//! Canonical URLs come from the site robot and from responses to robots that may be redirected: 200
//! responses to requests without a cookie, a password and a query are analysed while they are
//! forwarded.

mod canonicals;
mod keeper;
mod reading;
mod table;

pub use canonicals::Canonicals;
pub use keeper::CanonicalKeeper;
pub use reading::{CanonicalBody, CanonicalReader};
