//! Internal crate of `robot-detection`: the site robot and robot heaven.
//!
//! The site robot ([`site_robot`]) crawls a site, parses the responses ([`document`]), applies
//! filters ([`filter`]) to select and describe pages, and stores the descriptions in the database.
//! [`heaven`] generates indexable pages from the descriptions. [`spelling`] suggests corrections
//! for misspelled settings.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod content_tree;
pub mod document;
pub mod filter;
pub mod heaven;
pub mod licensing;
pub mod render;
pub mod site_robot;
pub mod spelling;
