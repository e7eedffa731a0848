//! Derivation of patterns from the User-Agent in a registry record.
//!
//! User-Agents in registries are written for human readers: `Foo/x.x`, `Mozilla/4.0 (compatible;
//! Foo Robot 1.0; +http://foo.example/)`, `'Foo'`, `no`. The rules in this module find the robot's
//! name and choose a comparison that matches no browser.

mod browser;
mod kind;
mod name;
mod normalise;
mod version;
mod words;
mod wrapper;

pub(super) use name::without_version;
pub use normalise::{NoPattern, normalise};
pub(super) use normalise::{clean_useragent, normalise_clean, strip_useragent, token};
