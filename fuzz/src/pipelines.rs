//! Pipelined HTTP/1.1 requests: parsed strictly, or refused.
//!
//! `cargo +nightly fuzz run pipelines fuzz/corpus/pipelines fuzz/seeds/pipelines --
//! -dict=fuzz/pipelines.dict`: the first two bytes determine where the others are split.

use super::pipelined;

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let [one, two, input @ ..] = bytes else {
        return;
    };
    pipelined::check(input, [usize::from(*one), usize::from(*two)]);
}
