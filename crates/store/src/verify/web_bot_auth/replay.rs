//! Stores used nonces.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use ring::digest;

/// The number of shards, each with its own lock, so that requests rarely wait for each other.
const SHARDS: usize = 16;

/// Used nonces that have not expired; their number is limited.
///
/// No nonce is removed before it expires, so no nonce can be used twice. If the maximum number is
/// reached, the caller is notified.
#[derive(Debug)]
pub(super) struct UsedNonces {
    shards: Vec<Mutex<Shard>>,
    room: usize,
}

#[derive(Debug, Default)]
struct Shard {
    /// The expiry time of each nonce, in seconds.
    until_s: HashMap<u128, i64>,
    /// The earliest time at which a nonce may expire.
    sweep_at_s: i64,
}

/// The result of storing a nonce.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NonceStatus {
    New,
    Known,
    NoRoom,
}

impl UsedNonces {
    pub(super) fn new(most: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            room: (most / SHARDS).max(1),
        }
    }

    /// Stores a key's nonce until its signature expires.
    pub(super) fn remember(
        &self,
        keyid: &str,
        nonce: &str,
        until_s: i64,
        now_s: i64,
    ) -> NonceStatus {
        let name = name(keyid, nonce);
        match self.shard(name) {
            Some(mut shard) => shard.remember(name, until_s, now_s, self.room),
            None => NonceStatus::NoRoom,
        }
    }

    /// Returns `true` if a key's nonce has been used and its signature has not expired.
    pub(super) fn contains(&self, keyid: &str, nonce: &str, now_s: i64) -> bool {
        let name = name(keyid, nonce);
        let shard = self.shard(name);
        shard.is_some_and(|shard| shard.knows(name, now_s))
    }

    fn shard(&self, name: u128) -> Option<MutexGuard<'_, Shard>> {
        let at = usize::try_from(name % SHARDS as u128).unwrap_or_default();
        let shard = self.shards.get(at)?;
        Some(shard.lock())
    }
}

fn name(keyid: &str, nonce: &str) -> u128 {
    let mut context = digest::Context::new(&digest::SHA256);
    // The NUL is a separator: no string of a structured field contains one (RFC 9651 §3.3.3).
    for part in [keyid, "\0", nonce] {
        context.update(part.as_bytes());
    }
    let digest = context.finish();
    // Half of the hash is sufficient, since finding two nonces with the same 128 bits is
    // infeasible.
    let first = digest.as_ref().first_chunk().copied();
    u128::from_be_bytes(first.unwrap_or_default())
}

impl Shard {
    fn knows(&self, name: u128, now_s: i64) -> bool {
        self.until_s.get(&name).is_some_and(|&until| until >= now_s)
    }

    fn remember(&mut self, name: u128, until_s: i64, now_s: i64, room: usize) -> NonceStatus {
        if self.knows(name, now_s) {
            return NonceStatus::Known;
        }
        // A sweep visits every nonce, so it is delayed until a nonce has expired. Otherwise, each
        // request in a flood would cause a sweep.
        if self.until_s.len() >= room && now_s > self.sweep_at_s {
            self.until_s.retain(|_, until| *until >= now_s);
            let next = self.until_s.values().min().copied();
            self.sweep_at_s = next.unwrap_or(now_s);
        }
        if self.until_s.len() >= room {
            return NonceStatus::NoRoom;
        }
        self.sweep_at_s = self.sweep_at_s.min(until_s);
        self.until_s.insert(name, until_s);
        NonceStatus::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_nonce_is_known_until_it_expires() {
        let used = UsedNonces::new(1 << 10);
        let nonce = |keyid, now_s| used.remember(keyid, "n", 100, now_s);
        assert!(!used.contains("a", "n", 0));
        assert_eq!(nonce("a", 0), NonceStatus::New);
        assert_eq!(nonce("a", 100), NonceStatus::Known);
        assert_eq!(nonce("b", 100), NonceStatus::New);
        assert!(used.contains("a", "n", 100) && !used.contains("a", "n", 101));
        assert!(!used.contains("a", "m", 0));
    }

    #[test]
    fn full_store_reports_no_room_and_drops_only_expired_nonces() {
        let used = UsedNonces::new(0);
        let ask =
            |number: u32, until_s, now_s| used.remember("a", &number.to_string(), until_s, now_s);
        let answers: Vec<_> = (0..1_000).map(|number| ask(number, 100, 0)).collect();
        let new = answers.iter().filter(|it| **it == NonceStatus::New).count();
        assert_eq!(new, SHARDS);
        for (number, answer) in (0..1_000).zip(answers) {
            let again = match answer {
                NonceStatus::New => NonceStatus::Known,
                answer => answer,
            };
            assert_eq!(ask(number, 200, 100), again);
        }
        let new = (0..1_000).filter(|&number| ask(number, 200, 101) == NonceStatus::New);
        assert_eq!(new.count(), SHARDS);
    }
}
