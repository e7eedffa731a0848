//! Finds every occurrence of every literal in one pass.

use std::fmt;

use aho_corasick::{
    Anchored, MatchKind, StartKind,
    automaton::{Automaton as Walk, StateID},
    dfa::DFA,
    nfa::{contiguous, noncontiguous},
};

/// Automaton over literals that differ in more than ASCII case.
pub(super) struct Automaton {
    /// Gives the bytes that occur in literals numbers from 1, both cases of a
    /// letter the same, and all other bytes 0. That halves the alphabet.
    fold: Box<[u8; 256]>,
    engine: Engine,
}

enum Engine {
    Dfa(DFA),
    Nfa(contiguous::NFA),
}

impl Automaton {
    /// Builds one over lower-case `literals`, as a DFA if that takes at most
    /// `max_dfa_bytes`.
    pub(super) fn build(
        literals: &[&[u8]],
        max_dfa_bytes: usize,
    ) -> Result<Self, aho_corasick::BuildError> {
        let (fold, alphabet) = fold(literals);
        let folded = literals.iter().map(|literal| {
            let folded: Vec<u8> = literal.iter().map(|&byte| look_up(&fold, byte)).collect();
            folded
        });
        let base = noncontiguous::NFA::builder()
            .match_kind(MatchKind::Standard)
            .prefilter(false)
            .build(folded)?;
        let engine = if dfa_bytes(literals, alphabet) <= max_dfa_bytes {
            Engine::Dfa(
                DFA::builder()
                    .match_kind(MatchKind::Standard)
                    .start_kind(StartKind::Unanchored)
                    .prefilter(false)
                    .build_from_noncontiguous(&base)?,
            )
        } else {
            Engine::Nfa(
                contiguous::NFA::builder()
                    .match_kind(MatchKind::Standard)
                    .prefilter(false)
                    .build_from_noncontiguous(&base)?,
            )
        };
        Ok(Self { fold, engine })
    }

    /// Calls `found` with the index and the end of each occurrence, ends ascending.
    ///
    /// Takes time linear in the text, and one call per occurrence: at most as
    /// many at one end as there are lengths of literals.
    pub(super) fn for_each(&self, text: &[u8], found: impl FnMut(usize, usize)) {
        match &self.engine {
            Engine::Dfa(dfa) => walk(dfa, &self.fold, text, found),
            Engine::Nfa(nfa) => walk(nfa, &self.fold, text, found),
        }
    }

    /// Returns the memory that the tables take.
    pub(super) fn memory_bytes(&self) -> usize {
        let engine = match &self.engine {
            Engine::Dfa(dfa) => dfa.memory_usage(),
            Engine::Nfa(nfa) => nfa.memory_usage(),
        };
        engine + size_of_val(&*self.fold)
    }
}

impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match &self.engine {
            Engine::Dfa(_) => "dfa",
            Engine::Nfa(_) => "nfa",
        };
        f.debug_struct("Automaton")
            .field("engine", &engine)
            .field("memory_bytes", &self.memory_bytes())
            .finish_non_exhaustive()
    }
}

/// Walks through the text, one step a byte.
fn walk(automaton: &impl Walk, fold: &[u8; 256], text: &[u8], mut found: impl FnMut(usize, usize)) {
    let Ok(mut state) = automaton.start_state(Anchored::No) else {
        return;
    };
    for (at, &byte) in text.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, look_up(fold, byte));
        if automaton.is_special(state) && automaton.is_match(state) {
            report(automaton, state, at + 1, &mut found);
        }
    }
}

/// Reports the literals that end here.
///
/// Kept out of the loop, which would else hold its state in memory instead of a
/// register, at twice the time.
#[cold]
#[inline(never)]
fn report(automaton: &impl Walk, state: StateID, end: usize, found: &mut impl FnMut(usize, usize)) {
    for index in 0..automaton.match_len(state) {
        found(automaton.match_pattern(state, index).as_usize(), end);
    }
}

#[inline]
fn look_up(fold: &[u8; 256], byte: u8) -> u8 {
    fold.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Returns the table of numbers, and how many different ones there are.
fn fold(literals: &[&[u8]]) -> (Box<[u8; 256]>, usize) {
    let mut used = [false; 256];
    for &byte in literals.iter().copied().flatten() {
        if let Some(used) = used.get_mut(usize::from(byte)) {
            *used = true;
        }
    }
    let mut fold = Box::new([0; 256]);
    let mut next = 0;
    for (number, byte) in fold.iter_mut().zip(0..=u8::MAX) {
        if used.get(usize::from(byte)) == Some(&true) {
            next += 1;
            *number = next;
        }
    }
    for byte in b'A'..=b'Z' {
        let number = look_up(&fold, byte.to_ascii_lowercase());
        if let Some(upper) = fold.get_mut(usize::from(byte)) {
            *upper = number;
        }
    }
    (fold, usize::from(next) + 1)
}

/// Estimates a DFA's table: a state for each different beginning of a literal,
/// a four-byte transition for each number, rounded up to a power of two.
fn dfa_bytes(literals: &[&[u8]], alphabet: usize) -> usize {
    let mut sorted = literals.to_vec();
    sorted.sort_unstable();
    let mut previous: &[u8] = &[];
    let mut states = 4;
    for literal in sorted {
        let shared = previous.iter().zip(literal).take_while(|(a, b)| a == b);
        states += literal.len() - shared.count();
        previous = literal;
    }
    let stride = (alphabet + 1).next_power_of_two();
    states.saturating_mul(stride).saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrences(automaton: &Automaton, text: &[u8]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        automaton.for_each(text, |literal, end| all.push((literal, end)));
        all.sort_unstable();
        all
    }

    #[test]
    fn overlapping_and_nested_literals_are_all_found_by_both_engines() {
        let literals: [&[u8]; 4] = [b"abcd", b"bc", b"c", b"cdx"];
        for max_dfa_bytes in [usize::MAX, 0] {
            let automaton = Automaton::build(&literals, max_dfa_bytes).unwrap();
            assert_eq!(
                occurrences(&automaton, b"-ABcdX\xffz"),
                [(0, 5), (1, 4), (2, 4), (3, 6)]
            );
        }
    }

    #[test]
    fn estimate_is_the_size_of_the_table() {
        let literals: Vec<String> = (0..500)
            .map(|n| format!("robot{n}-{}", n * 7919 % 1000))
            .collect();
        let literals: Vec<&[u8]> = literals.iter().map(String::as_bytes).collect();
        let automaton = Automaton::build(&literals, usize::MAX).unwrap();
        let (_, alphabet) = fold(&literals);
        let estimate = dfa_bytes(&literals, alphabet);
        let actual = automaton.memory_bytes();
        assert!(
            estimate <= actual && actual - estimate < actual / 4,
            "estimated {estimate}, took {actual}"
        );
    }

    #[test]
    fn all_bytes_may_occur_in_literals() {
        let all: Vec<u8> = (0..=u8::MAX).filter(|b| !b.is_ascii_uppercase()).collect();
        let automaton = Automaton::build(&[&all], usize::MAX).unwrap();
        assert_eq!(occurrences(&automaton, &all), [(0, all.len())]);
        assert_eq!(occurrences(&automaton, &all[1..]), []);
    }

    #[test]
    fn no_literals_never_occur() {
        let automaton = Automaton::build(&[], usize::MAX).unwrap();
        assert_eq!(occurrences(&automaton, b"anything"), []);
    }
}
