//! Which URL stands for others, by what the site's own pages say, for robots that are sent there.
//!
//! The site robot has read it, and so have robots that are to be redirected: 200 answers to their
//! requests without a cookie, a password and a query are read as they pass by. Nobody else's are.

mod canonicals;
mod keeper;
mod reading;
mod table;

pub use canonicals::Canonicals;
pub use keeper::CanonicalKeeper;
pub use reading::{LearningBody, Reading};
