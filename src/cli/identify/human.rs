//! Figures for people.

use indicatif::{BinaryBytes, HumanCount};

/// Returns a count with its thousands apart.
pub(super) fn count(count: u64) -> String {
    HumanCount(count).to_string()
}

/// Returns bytes in the unit that fits.
pub(super) fn bytes(bytes: u64) -> String {
    BinaryBytes(bytes).to_string()
}

/// Returns a share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
