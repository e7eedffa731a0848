//! Finds every occurrence of every literal in one pass.

use std::fmt;

use aho_corasick::{
    Anchored, MatchKind,
    automaton::{Automaton as _, StateID},
    nfa::{contiguous, noncontiguous},
};

use super::{
    table::Table,
    walk::{Machine, Shortcuts, walk},
};

/// Automaton over literals that differ in more than ASCII case.
pub(super) enum Automaton {
    Table(Table, Shortcuts<u32>),
    Sparse(Box<Sparse>, Shortcuts<StateID>),
}

impl Automaton {
    /// Builds one over lower-case `literals`, as a table if building it takes
    /// at most `max_table_bytes`.
    pub(super) fn build(
        literals: &[&[u8]],
        max_table_bytes: usize,
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
        if table_bytes(literals, alphabet) <= max_table_bytes
            && let Some(table) = Table::new(&base, fold.clone())
        {
            let shortcuts = Shortcuts::new(&table);
            return Ok(Self::Table(table, shortcuts));
        }
        let nfa = contiguous::NFA::builder()
            .match_kind(MatchKind::Standard)
            .prefilter(false)
            .build_from_noncontiguous(&base)?;
        let sparse = Sparse { fold, nfa };
        let shortcuts = Shortcuts::new(&sparse);
        Ok(Self::Sparse(Box::new(sparse), shortcuts))
    }

    /// Calls `found` with the index and the end of each occurrence, in any order.
    ///
    /// Of literals that end at one place the next is told only if it says `true`.
    ///
    /// Takes time linear in the text, and one call per occurrence: at most as
    /// many at one end as there are lengths of literals.
    pub(super) fn for_each(&self, text: &[u8], found: impl FnMut(usize, usize) -> bool) {
        match self {
            Self::Table(table, shortcuts) => walk(table, shortcuts, text, found),
            Self::Sparse(sparse, shortcuts) => walk(&**sparse, shortcuts, text, found),
        }
    }

    /// Returns the memory that the tables take.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Table(table, _) => table.memory_bytes(),
            Self::Sparse(sparse, _) => sparse.nfa.memory_usage() + size_of_val(&*sparse.fold),
        }
    }
}

impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self {
            Self::Table(..) => "table",
            Self::Sparse(..) => "sparse",
        };
        f.debug_struct("Automaton")
            .field("engine", &engine)
            .field("memory_bytes", &self.memory_bytes())
            .finish_non_exhaustive()
    }
}

/// Machine of few bytes, in which a step takes longer.
pub(super) struct Sparse {
    fold: Box<[u8; 256]>,
    nfa: contiguous::NFA,
}

impl Machine for Sparse {
    type State = StateID;

    fn start(&self) -> StateID {
        self.nfa.start_state(Anchored::No).unwrap_or_default()
    }

    fn step(&self, state: StateID, byte: u8) -> StateID {
        self.nfa
            .next_state(Anchored::No, state, look_up(&self.fold, byte))
    }

    fn is_match(&self, state: StateID) -> bool {
        self.nfa.is_match(state)
    }

    fn for_each_literal(&self, state: StateID, mut found: impl FnMut(usize) -> bool) {
        for index in 0..self.nfa.match_len(state) {
            if !found(self.nfa.match_pattern(state, index).as_usize()) {
                return;
            }
        }
    }

    fn length(&self, literal: usize) -> usize {
        aho_corasick::PatternID::new(literal).map_or(0, |literal| self.nfa.pattern_len(literal))
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

/// Estimates what building a table takes: a state for each different beginning
/// of a literal, four bytes for each number of the alphabet, rounded up.
fn table_bytes(literals: &[&[u8]], alphabet: usize) -> usize {
    let mut sorted = literals.to_vec();
    sorted.sort_unstable();
    let mut previous: &[u8] = &[];
    let mut states = 1;
    for literal in sorted {
        let shared = previous.iter().zip(literal).take_while(|(a, b)| a == b);
        states += literal.len() - shared.count();
        previous = literal;
    }
    states
        .saturating_mul(alphabet.next_power_of_two())
        .saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrences(automaton: &Automaton, text: &[u8]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        automaton.for_each(text, |literal, end| {
            all.push((literal, end));
            true
        });
        all.sort_unstable();
        all
    }

    #[test]
    fn overlapping_and_nested_literals_are_all_found_by_both_engines() {
        let literals: [&[u8]; 4] = [b"abcd", b"bc", b"c", b"cdx"];
        for max_table_bytes in [usize::MAX, 0] {
            let automaton = Automaton::build(&literals, max_table_bytes).unwrap();
            assert_eq!(
                occurrences(&automaton, b"-ABcdX\xffz"),
                [(0, 5), (1, 4), (2, 4), (3, 6)]
            );
        }
    }

    #[test]
    fn literals_across_the_borders_of_parts_are_found_once() {
        let literals: [&[u8]; 6] = [
            b"a",
            b"ab",
            b"ba",
            b"aabab",
            b"abababababab",
            b"bbbbbbbbbbbbbbbbbbbb",
        ];
        for max_table_bytes in [usize::MAX, 0] {
            let automaton = Automaton::build(&literals, max_table_bytes).unwrap();
            for length in 0..120_usize {
                for seed in 0..8_usize {
                    let letter = |n: usize| {
                        if (n * n / 7 + n * seed / 3) % 5 < seed.div_ceil(2) {
                            b'b'
                        } else {
                            b'a'
                        }
                    };
                    let text: Vec<u8> = (0..length).map(letter).collect();
                    let mut expected = Vec::new();
                    for (index, literal) in literals.iter().enumerate() {
                        let ends = text.windows(literal.len()).enumerate();
                        let ends = ends.filter(|(_, window)| window == literal);
                        expected.extend(ends.map(|(at, _)| (index, at + literal.len())));
                    }
                    assert_eq!(occurrences(&automaton, &text), expected, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn table_is_smaller_than_a_row_for_each_state_would_be() {
        let literals: Vec<String> = (0..500)
            .map(|n| format!("robot{n}-{}", n * 7919 % 1000))
            .collect();
        let literals: Vec<&[u8]> = literals.iter().map(String::as_bytes).collect();
        let table = Automaton::build(&literals, usize::MAX).unwrap();
        let (_, alphabet) = fold(&literals);
        let rows = table_bytes(&literals, alphabet);
        assert!(
            table.memory_bytes() < rows / 2,
            "{} of {rows}",
            table.memory_bytes()
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
