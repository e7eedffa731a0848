//! An estimator of the number of distinct values that needs only a few bytes.

/// The `N` registers of a `HyperLogLog`; `N` is a power of two, and the standard error is 1.04 ÷
/// √N.
///
/// P. Flajolet et al.: `HyperLogLog`, the analysis of a near-optimal cardinality estimation
/// algorithm (2007). Small numbers are estimated from the number of empty registers, as proposed in
/// that paper.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Distinct<const N: usize>([u8; N]);

impl<const N: usize> Default for Distinct<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Distinct<N> {
    /// Counts a value by its hash, which must be uniformly distributed.
    pub(crate) fn add(&mut self, hash: u64) {
        let at = usize::try_from(hash % N as u64).unwrap_or_default();
        let rest = hash >> N.ilog2();
        // The bits that were shifted in are not part of the hash.
        let most = u64::BITS - N.ilog2();
        let rank = rest.trailing_zeros().min(most) + 1;
        if let Some(register) = self.0.get_mut(at) {
            *register = u8::try_from(rank).unwrap_or(u8::MAX).max(*register);
        }
    }

    /// Adds the values counted by another estimator.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (register, other) in self.0.iter_mut().zip(other.0) {
            *register = (*register).max(other);
        }
    }

    pub(crate) fn registers(&self) -> &[u8; N] {
        &self.0
    }

    /// Creates an estimator from registers; returns `None` if the registers are invalid.
    pub(crate) fn from_registers(registers: [u8; N]) -> Option<Self> {
        let most = u64::BITS - N.ilog2() + 1;
        let can_be = registers.iter().all(|rank| u32::from(*rank) <= most);
        can_be.then_some(Self(registers))
    }

    /// Returns the estimated number of distinct values.
    pub(crate) fn estimate(&self) -> f64 {
        let registers = f64::from(u32::try_from(N).unwrap_or(u32::MAX));
        // The value is 2^-rank, built only from the exponent bits.
        let part = |rank: &u8| f64::from_bits((1_023 - u64::from(*rank)) << 52);
        let sum: f64 = self.0.iter().map(part).sum();
        let bias = 0.7213 / (1.0 + 1.079 / registers);
        let raw = bias * registers * registers / sum;
        let empty: u32 = self.0.iter().map(|rank| u32::from(*rank == 0)).sum();
        if empty > 0 && raw <= 2.5 * registers {
            registers * (registers / f64::from(empty)).ln()
        } else {
            raw
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use foldhash::quality::FixedState;
    use proptest::prelude::*;

    use super::*;

    fn of(numbers: impl Iterator<Item = u32>) -> Distinct<256> {
        let hasher = FixedState::with_seed(7);
        let mut distinct = Distinct::default();
        numbers.for_each(|number| distinct.add(hasher.hash_one(number)));
        distinct
    }

    #[test]
    fn numbers_are_estimated_within_a_fifth() {
        for number in [0, 1, 10, 100, 500, 700, 5_000, 100_000, 2_000_000] {
            let estimate = of((0..number).chain(0..number)).estimate();
            let wrong = (estimate - f64::from(number)).abs();
            assert!(wrong <= f64::from(number) / 5.0, "{number}: {estimate}");
        }
    }

    proptest! {
        #[test]
        fn merged_estimators_equal_one_that_has_seen_all_values(
            one in 0..3_000_u32, from in 0..3_000_u32, to in 0..6_000_u32,
        ) {
            let mut merged = of(0..one);
            merged.merge(&of(from..to));
            prop_assert_eq!(merged, of((0..one).chain(from..to)));
        }
    }
}
