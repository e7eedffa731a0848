//! Memory of the signatures that were used.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use ring::digest;

/// Parts of the memory, each with its lock: two requests seldom wait for each other.
const SHARDS: usize = 16;

/// What was used and has not expired; as good as bounded.
///
/// Nothing is forgotten before it expires, so nothing is used twice. Where
/// there is no room, the caller is told.
#[derive(Debug)]
pub(super) struct Used {
    shards: Vec<Mutex<Shard>>,
    room: usize,
}

#[derive(Debug, Default)]
struct Shard {
    /// When each expires, in seconds.
    until_s: HashMap<u128, i64>,
    /// Before that there is nothing to sweep.
    sweep_at_s: i64,
}

/// What became of a signature that is to be remembered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Remembered {
    New,
    Known,
    NoRoom,
}

impl Used {
    pub(super) fn new(most: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            room: (most / SHARDS).max(1),
        }
    }

    /// Remembers a key's nonce, or a signature without one, until it expires.
    pub(super) fn remember(
        &self,
        keyid: &str,
        what: What<'_>,
        until_s: i64,
        now_s: i64,
    ) -> Remembered {
        let name = what.name(keyid);
        let at = usize::try_from(name % SHARDS as u128).unwrap_or_default();
        let Some(shard) = self.shards.get(at) else {
            return Remembered::NoRoom;
        };
        // What a lock guards here is whole at any moment.
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.remember(name, until_s, now_s, self.room)
    }
}

/// What is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'w> {
    Nonce(&'w str),
    Signature(&'w [u8]),
}

impl What<'_> {
    fn name(self, keyid: &str) -> u128 {
        let (kind, bytes) = match self {
            Self::Nonce(nonce) => (b"n", nonce.as_bytes()),
            Self::Signature(signature) => (b"s", signature),
        };
        let mut context = digest::Context::new(&digest::SHA256);
        for part in [keyid.as_bytes(), b"\0", kind, bytes] {
            context.update(part);
        }
        let digest = context.finish();
        let first = digest.as_ref().first_chunk().copied();
        u128::from_be_bytes(first.unwrap_or_default())
    }
}

impl Shard {
    fn remember(&mut self, name: u128, until_s: i64, now_s: i64, room: usize) -> Remembered {
        if self.until_s.get(&name).is_some_and(|&until| until >= now_s) {
            return Remembered::Known;
        }
        if self.until_s.len() >= room && now_s > self.sweep_at_s {
            self.until_s.retain(|_, until| *until >= now_s);
            let next = self.until_s.values().min().copied();
            self.sweep_at_s = next.unwrap_or(now_s);
        }
        if self.until_s.len() >= room {
            return Remembered::NoRoom;
        }
        self.sweep_at_s = self.sweep_at_s.min(until_s);
        self.until_s.insert(name, until_s);
        Remembered::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_known_until_it_expires() {
        let used = Used::new(1 << 10);
        let nonce = |keyid, now_s| used.remember(keyid, What::Nonce("n"), 100, now_s);
        assert_eq!(nonce("a", 0), Remembered::New);
        assert_eq!(nonce("a", 100), Remembered::Known);
        assert_eq!(nonce("b", 100), Remembered::New);
        let signature = used.remember("a", What::Signature(b"n"), 100, 0);
        assert_eq!(signature, Remembered::New);
    }

    #[test]
    fn a_full_memory_says_so_and_forgets_nothing_but_what_expired() {
        let used = Used::new(0);
        let ask = |number: u32, until_s, now_s| {
            used.remember("a", What::Nonce(&number.to_string()), until_s, now_s)
        };
        let answers: Vec<_> = (0..1_000).map(|number| ask(number, 100, 0)).collect();
        let new = answers.iter().filter(|it| **it == Remembered::New).count();
        assert_eq!(new, SHARDS);
        for (number, answer) in (0..1_000).zip(answers) {
            let again = match answer {
                Remembered::New => Remembered::Known,
                answer => answer,
            };
            assert_eq!(ask(number, 200, 100), again);
        }
        let new = (0..1_000).filter(|&number| ask(number, 200, 101) == Remembered::New);
        assert_eq!(new.count(), SHARDS);
    }
}
