//! The automaton that finds all literals, as a transition table or in a compact form.

use std::ops::{ControlFlow, Range};

use aho_corasick::{
    Anchored, BuildError,
    automaton::{Automaton, StateID},
    dfa,
    nfa::{contiguous, noncontiguous},
};

/// Number of bytes processed between checks for the end of the User-Agent.
const BLOCK: usize = 8;

/// An automaton that reports all literals that end at each byte, including overlapping literals.
#[derive(Debug)]
pub(super) struct Literals {
    symbols: Symbols,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Table(dfa::DFA),
    Compact(contiguous::NFA),
}

impl Literals {
    /// Builds the automaton from sorted, distinct, lower-case literals: as a transition table, or
    /// in a compact form if the table would exceed `max_table_bytes`.
    pub(super) fn new<'l>(
        literals: impl Iterator<Item = &'l [u8]> + Clone,
        max_table_bytes: usize,
    ) -> Result<Self, BuildError> {
        let symbols = Symbols::of(literals.clone());
        // Four bytes per entry; the crate rounds a state's entries up to a power of two.
        let table_bytes = states(literals.clone()) * symbols.count.next_power_of_two() * 4;
        let spelled = literals.map(|literal| symbols.spell(literal));
        let all = noncontiguous::Builder::new()
            .prefilter(false)
            .build(spelled)?;
        let form = if table_bytes <= max_table_bytes {
            Form::Table(dfa::Builder::new().build_from_noncontiguous(&all)?)
        } else {
            Form::Compact(contiguous::Builder::new().build_from_noncontiguous(&all)?)
        };
        Ok(Self { symbols, form })
    }

    /// Calls `found` with the number and range of each literal in a text, until `found` returns a
    /// break.
    #[inline]
    pub(super) fn find(
        &self,
        text: &[u8],
        found: impl FnMut(usize, Range<usize>) -> ControlFlow<()>,
    ) {
        match &self.form {
            Form::Table(table) => self.walk(table, text, found),
            Form::Compact(compact) => self.walk(compact, text, found),
        }
    }

    /// Returns the automaton's size in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.form {
            Form::Table(table) => table.memory_usage(),
            Form::Compact(compact) => compact.memory_usage(),
        }
    }

    /// Runs the search loop. Separate from the handling of matches, so that the loop can use all
    /// registers.
    #[inline(never)]
    fn walk(
        &self,
        automaton: &impl Automaton,
        text: &[u8],
        mut found: impl FnMut(usize, Range<usize>) -> ControlFlow<()>,
    ) {
        let Ok(mut state) = automaton.start_state(Anchored::No) else {
            return;
        };
        let mut end = 0;
        let mut read = |byte: &u8| {
            state = automaton.next_state(Anchored::No, state, self.symbols.of_byte(*byte));
            end += 1;
            if automaton.is_special(state) {
                report_matches(automaton, state, end, &mut found)
            } else {
                ControlFlow::Continue(())
            }
        };
        // Unrolled in blocks: counting would be a quarter of the loop's instructions.
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        for block in blocks {
            if block.iter().try_for_each(&mut read).is_break() {
                return;
            }
        }
        // After the last byte, breaking has no effect.
        let _ = rest.iter().try_for_each(read);
    }
}

/// Calls `found` with the literals that end at `end`. Separate from the search loop, so that the
/// loop keeps its state in a register.
#[inline(never)]
fn report_matches(
    automaton: &impl Automaton,
    state: StateID,
    end: usize,
    found: &mut impl FnMut(usize, Range<usize>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if !automaton.is_match(state) {
        return ControlFlow::Continue(());
    }
    for index in 0..automaton.match_len(state) {
        let literal = automaton.match_pattern(state, index);
        let start = end - automaton.pattern_len(literal);
        found(literal.as_usize(), start..end)?;
    }
    ControlFlow::Continue(())
}

/// A number for each byte that occurs in the literals, the same for both cases of a letter; 0 for
/// other bytes.
///
/// Compact numbering halves the crate's transition table and makes matching case-insensitive.
#[derive(Debug)]
struct Symbols {
    of_bytes: [u8; 1 << u8::BITS],
    count: usize,
}

impl Symbols {
    fn of<'l>(literals: impl Iterator<Item = &'l [u8]>) -> Self {
        let mut is_said = [false; 1 << u8::BITS];
        for byte in literals.flatten() {
            if let Some(said) = is_said.get_mut(usize::from(byte.to_ascii_lowercase())) {
                *said = true;
            }
        }
        let mut symbols = Self {
            of_bytes: [0; 1 << u8::BITS],
            count: 1,
        };
        for byte in (0..=u8::MAX).filter(|byte| is_said.get(usize::from(*byte)) == Some(&true)) {
            // Always fits: upper and lower case share a number, which leaves 230 numbers.
            let symbol = u8::try_from(symbols.count).unwrap_or_default();
            for byte in [byte, byte.to_ascii_uppercase()] {
                if let Some(of_byte) = symbols.of_bytes.get_mut(usize::from(byte)) {
                    *of_byte = symbol;
                }
            }
            symbols.count += 1;
        }
        symbols
    }

    #[inline]
    fn of_byte(&self, byte: u8) -> u8 {
        self.of_bytes
            .get(usize::from(byte))
            .copied()
            .unwrap_or_default()
    }

    fn spell(&self, literal: &[u8]) -> Vec<u8> {
        literal.iter().map(|byte| self.of_byte(*byte)).collect()
    }
}

/// Returns the number of distinct prefixes of sorted literals.
fn states<'l>(literals: impl Iterator<Item = &'l [u8]>) -> usize {
    let mut last: &[u8] = b"";
    let new = literals.map(|literal| {
        let same = literal.iter().zip(last).take_while(|(a, b)| a == b);
        last = literal;
        literal.len() - same.count()
    });
    new.sum()
}
