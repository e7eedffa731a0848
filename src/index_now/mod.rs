//! `IndexNow`: search engines are told which pages have changed (<https://www.indexnow.org/documentation>).
//!
//! [`IndexNowKey`] is what they know a site by, and serves the file that they ask for to believe it.
//! An [`Announcer`] tells them of URLs that wait in the database.

mod announcer;
mod key;
mod site;

pub use announcer::IndexNowTold;
pub(crate) use announcer::{Announcer, AnnouncerSettings};
pub(crate) use key::IndexNowKey;
pub(crate) use site::{IndexedSite, site_obstacle};
