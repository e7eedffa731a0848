//! Several HTTP/1.1 requests at once: read as by the letter, or refused.
//!
//! `cargo +nightly fuzz run pipelines fuzz/corpus/pipelines fuzz/seeds/pipelines --
//! -dict=fuzz/pipelines.dict`: the first two bytes say where the others are parted.

use super::pipelined;

/// Reads any bytes.
pub fn run(bytes: &[u8]) {
    let [one, two, input @ ..] = bytes else {
        return;
    };
    pipelined::check(input, [usize::from(*one), usize::from(*two)]);
}
