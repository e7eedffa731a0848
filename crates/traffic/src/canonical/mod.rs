//! Canonical URLs that the site's own pages declare, used as redirect targets for robots.
//!
//! Canonical URLs come from the site robot and from responses to robots that may be redirected: 200
//! responses to requests without a cookie, password or query are analysed while they are being
//! forwarded.

mod canonicals;
mod keeper;
mod reading;
mod table;

pub use canonicals::Canonicals;
pub use keeper::CanonicalKeeper;
pub use reading::{CanonicalBody, CanonicalReader};
