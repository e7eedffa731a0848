//! What proving robots needs of the registry: the feature `verify`.

mod fixed_map;
mod public_suffix;

pub use fixed_map::{FixedMap, KeyHash};
pub use public_suffix::is_public_suffix;
