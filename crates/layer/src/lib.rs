//! Tells robots from people by their `User-Agent`, and holds them to rules.
//!
//! A [`registry`] says which robots there are, [`detect`] finds them in a header, a
//! [`policy`] says what becomes of their requests, and the Tower [`layer`] does it.
//! Nothing here needs a database, a network or a runtime.
//!
//! Applications get all of it from the crate `robot-detection`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod clock;
pub mod detect;
mod keys;
pub mod layer;
pub mod policy;
pub mod registry;
pub mod suspect;
mod words;
