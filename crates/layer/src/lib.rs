//! Distinguishes robots from human visitors by the `User-Agent` header, and applies rules to
//! robots.
//!
//! A [`registry`] lists the known robots, [`detect`] recognises robots by their User-Agent, a
//! [`policy`] decides about their requests, and the Tower [`layer`] carries out the decision. This
//! crate requires neither a database, nor a network, nor a runtime.
//!
//! Applications should use this crate through the `robot-detection` crate.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod clock;
pub mod detect;
mod keys;
pub mod layer;
pub mod policy;
pub mod registry;
pub mod suspect;
mod words;
