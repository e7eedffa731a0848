//! `IndexNow` client, which reports changed pages to search engines
//! (<https://www.indexnow.org/documentation>).
//!
//! [`IndexNowKey`] identifies a site and serves the key file that proves ownership of the site. An
//! [`Announcer`] submits the URLs that are pending in the database.

mod announcer;
mod key;
mod site;

pub use announcer::IndexNowResult;
pub use announcer::{Announcer, AnnouncerSettings};
pub use key::IndexNowKey;
pub use site::{IndexedSite, announcement_obstacle};
