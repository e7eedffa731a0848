//! Internal crate of `robot-detection`: the site robot and robot heaven.
//!
//! The robot ([`site_robot`]) crawls a site, reads what it gets ([`document`]), asks the
//! filters ([`filter`]) what may be taken and described, and leaves descriptions in the
//! database, of which [`heaven`] makes pages that search engines can index. What is misspelled
//! in settings is told with the nearest right name ([`spelling`]).

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod document;
pub mod filter;
pub mod heaven;
pub mod index_now;
pub mod licensing;
pub mod matter;
pub mod render;
pub mod site_robot;
pub mod spelling;
