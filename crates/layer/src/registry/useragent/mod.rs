//! From the useragent of a record to the patterns that recognise the robot.
//!
//! Useragents are written for people: `Foo/x.x`, `Mozilla/4.0 (compatible;
//! Foo Robot 1.0; +http://foo.example/)`, `'Foo'`, `no`. The rules here find
//! the name in them and choose how it is compared, so that no browser is hit.

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
