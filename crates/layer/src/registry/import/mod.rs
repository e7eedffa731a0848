//! Import of registries published by other projects.

pub(super) mod list;
#[cfg(feature = "formats")]
pub(super) mod published;
