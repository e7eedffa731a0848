//! A cache of detection results for recent User-Agents.

use std::ops::Range;

use super::matcher::Owner;
use crate::keys::{AgentKey, KeyedWords};

/// Number of cached User-Agents, which occupy 64 KiB.
const AGENTS: usize = 4_096;

/// The word cached for a User-Agent that matches no robot.
const NOBODY: u64 = 0;

/// Number of bits for each part of a [`Hit`] packed into a word, from the lowest bits up.
const START_BITS: u32 = 14;
const LENGTH_BITS: u32 = 10;
const PATTERN_BITS: u32 = 16;
const ROBOT_BITS: u32 = u64::BITS - PATTERN_BITS - LENGTH_BITS - START_BITS;

/// A robot's pattern and the range in the User-Agent that the pattern matched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Hit {
    pub(super) robot: u32,
    pub(super) pattern: u32,
    pub(super) range: Range<usize>,
}

impl Hit {
    pub(super) fn new(owner: Owner, range: Range<usize>) -> Self {
        Self {
            robot: owner.robot,
            pattern: owner.pattern,
            range,
        }
    }

    /// Packs the hit into a word that is never [`NOBODY`]; `None` if the hit does not fit.
    fn packed(&self) -> Option<u64> {
        let parts = [
            (u64::from(self.robot) + 1, ROBOT_BITS),
            (u64::from(self.pattern), PATTERN_BITS),
            (self.range.len().try_into().ok()?, LENGTH_BITS),
            (self.range.start.try_into().ok()?, START_BITS),
        ];
        parts.into_iter().try_fold(0, |word, (part, bits)| {
            (part >> bits == 0).then_some(word << bits | part)
        })
    }

    fn unpacked(mut word: u64) -> Option<Self> {
        let mut take = |bits: u32| {
            let part = word & !(u64::MAX << bits);
            word >>= bits;
            part
        };
        let start: usize = take(START_BITS).try_into().ok()?;
        let length: usize = take(LENGTH_BITS).try_into().ok()?;
        Some(Self {
            pattern: take(PATTERN_BITS).try_into().ok()?,
            robot: take(ROBOT_BITS).checked_sub(1)?.try_into().ok()?,
            range: start..start + length,
        })
    }
}

/// The cached detection result for a User-Agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum CachedResult {
    Nobody,
    Robot(Hit),
}

/// A lock-free cache of the detection results for recent User-Agents; it stores no texts.
#[derive(Debug, Default)]
pub(super) struct KnownAgents(KeyedWords<AGENTS>);

impl KnownAgents {
    /// Returns the cached result for a User-Agent.
    #[inline]
    pub(super) fn get(&self, key: AgentKey) -> Option<CachedResult> {
        let word = self.0.get(key.number())?;
        Some(Hit::unpacked(word).map_or(CachedResult::Nobody, CachedResult::Robot))
    }

    /// Caches the detection result for a User-Agent, unless the result is too large for a slot.
    pub(super) fn set(&self, key: AgentKey, known: &CachedResult) {
        let word = match known {
            CachedResult::Nobody => Some(NOBODY),
            CachedResult::Robot(hit) => hit.packed(),
        };
        if let Some(word) = word {
            self.0.set(key.number(), word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robot(robot: u32, pattern: u32, range: Range<usize>) -> CachedResult {
        CachedResult::Robot(Hit {
            robot,
            pattern,
            range,
        })
    }

    #[test]
    fn result_for_a_user_agent_is_cached() {
        let memory = KnownAgents::default();
        for (number, known) in [
            CachedResult::Nobody,
            robot(0, 0, 0..0),
            robot(2_896, 7, 25..34),
            robot(
                (1 << ROBOT_BITS) - 2,
                (1 << PATTERN_BITS) - 1,
                16_383..17_406,
            ),
        ]
        .iter()
        .enumerate()
        {
            let key = AgentKey::parse(number.to_string().as_bytes());
            assert_eq!(memory.get(key), None);
            memory.set(key, known);
            assert_eq!(memory.get(key).as_ref(), Some(known));
        }
    }

    #[test]
    fn result_that_does_not_fit_is_not_cached() {
        let memory = KnownAgents::default();
        let key = AgentKey::parse(b"examplebot/1.0");
        for known in [
            robot((1 << ROBOT_BITS) - 1, 0, 0..1),
            robot(0, 1 << PATTERN_BITS, 0..1),
            robot(0, 0, 0..1 << LENGTH_BITS),
            robot(0, 0, 1 << START_BITS..(1 << START_BITS) + 1),
        ] {
            memory.set(key, &known);
            assert_eq!(memory.get(key), None, "{known:?}");
        }
    }
}
