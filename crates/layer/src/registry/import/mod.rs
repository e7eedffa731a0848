//! Import of registries that other projects publish.

pub(super) mod list;
#[cfg(feature = "formats")]
pub(super) mod published;
