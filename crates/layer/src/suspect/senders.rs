//! Senders of requests in which nothing was found.

use std::net::{IpAddr, SocketAddr};

use crate::keys::{AgentKey, SeenKeys, halves};

/// Senders that need not be judged again: a browser sends dozens of requests over a connection, and
/// one program has sent them all. They take 128 KiB.
///
/// Who makes two senders look alike has only himself to pass for.
pub(super) type Senders = SeenKeys<16_384>;

/// Returns a number for a sender and what tells its programs apart: the port of its connection, or a
/// shape of what they send where that is 0.
pub(super) fn sender_key(sender: SocketAddr, agent: AgentKey, shape: impl FnOnce() -> u64) -> u64 {
    let address = match sender.ip() {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => {
            let (high, low) = halves(v6.to_bits());
            high.rotate_left(32) ^ low
        }
    };
    let which = match sender.port() {
        0 => shape(),
        port => port.into(),
    };
    agent.with(address, which)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn programs_are_told_apart_by_all_that_is_known() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let keys = [
            sender_key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            sender_key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/152"), || 6 << 32),
            sender_key(at("192.0.2.1:0"), AgentKey::of(b"Chrome/151"), || 5 << 32),
            sender_key(at("192.0.2.1:5"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            sender_key(at("192.0.2.1:6"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            sender_key(at("192.0.2.2:5"), AgentKey::of(b"Chrome/152"), || 5 << 32),
            sender_key(at("[2001:db8::1]:5"), AgentKey::of(b"Chrome/152"), || {
                5 << 32
            }),
            sender_key(
                at("[2001:db8:0:1::]:5"),
                AgentKey::of(b"Chrome/152"),
                || 5 << 32,
            ),
        ];
        let apart: BTreeSet<_> = keys.into_iter().collect();
        assert_eq!(apart.len(), keys.len());
        let again = sender_key(at("192.0.2.1:5"), AgentKey::of(b"Chrome/152"), || 7 << 32);
        assert_eq!(again, keys[3], "one connection is one program");
    }
}
