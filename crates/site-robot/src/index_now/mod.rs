//! `IndexNow`: search engines are told which pages have changed (<https://www.indexnow.org/documentation>).
//!
//! [`IndexNowKey`] is what they know a site by, and serves the file that they ask for to believe it.
//! An [`Announcer`] tells them of URLs that wait in the database.

mod announcer;
mod key;
mod site;

pub use announcer::IndexNowTold;
pub use announcer::{Announcer, AnnouncerSettings};
pub use key::IndexNowKey;
pub use site::{IndexedSite, site_obstacle};
