//! A deterministic automaton laid out for walking.

use aho_corasick::{
    Anchored, MatchKind, StartKind,
    automaton::{Automaton as _, StateID},
    dfa::DFA,
    nfa::noncontiguous,
};

use super::walk::Machine;

/// States up to this many bytes from the start have a row, as others have that
/// go on in more than one way.
const MAX_ROW_DEPTH: u32 = 3;

/// Flag of a state in which a literal ends.
const MATCH: u32 = 1 << 31;

/// Flag of a state that is a link.
const LINK: u32 = 1 << 30;

/// Automaton of rows and links.
///
/// Most states are deep inside one literal and go on in one way. A row for each
/// would fill the processor's cache, so they are links: a literal's links stand
/// beside each other in memory. A state is its flags and the place of its row
/// or link.
pub(super) struct Table {
    /// Column of each byte.
    columns: Box<[u8; 256]>,
    rows: Box<[u32]>,
    links: Box<[Link]>,
    start: u32,
    /// States of a row, behind which its number stands.
    width: usize,
    /// Number of the first link, behind those of the rows.
    first_link: usize,
    /// Where the literals of each state begin, and where the last ones end: of
    /// the rows, then of the links.
    bounds: Box<[u32]>,
    /// Literals that end in each state, ascending.
    literals: Box<[u32]>,
    lengths: Box<[u32]>,
}

/// State that goes on in one way.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Column on which `next` follows.
    column: u8,
    next: u32,
    /// State that knows what follows on others: that of the longest end of the
    /// text read, other than all of it, which begins a literal.
    other: u32,
}

impl Table {
    /// Builds one of `base`, of which a byte is a column of `columns`.
    ///
    /// `None` where it cannot be addressed.
    pub(super) fn new(base: &noncontiguous::NFA, columns: Box<[u8; 256]>) -> Option<Self> {
        let dfa = DFA::builder()
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build_from_noncontiguous(base)
            .ok()?;
        let width = columns.iter().copied().max()?.checked_add(1)?;
        let states = States::new(&dfa, width)?;
        let with_row = || states.all.iter().filter(|state| !state.is_link());
        let linked = || states.all.iter().filter(|state| state.is_link());
        let (mut rows, mut first_link) = (Vec::new(), 0);
        for (number, state) in with_row().enumerate() {
            let next = |column| states.name(dfa.next_state(Anchored::No, state.id, column));
            rows.extend((0..width).map(next));
            rows.push(u32::try_from(number).ok()?);
            first_link = number + 1;
        }
        let (mut bounds, mut literals) = (vec![0], Vec::new());
        for state in with_row().chain(linked()) {
            literals.extend(literals_of(&dfa, state.id)?);
            bounds.push(u32::try_from(literals.len()).ok()?);
        }
        Some(Self {
            columns,
            rows: rows.into(),
            links: linked().map(|state| states.link(state)).collect(),
            start: states.name(states.start),
            width: usize::from(width),
            first_link,
            bounds: bounds.into(),
            literals: literals.into(),
            lengths: lengths(&dfa)?,
        })
    }

    #[inline]
    fn follow_links(&self, state: u32, column: u8) -> Followed {
        let mut state = state & !MATCH;
        while state >= LINK {
            let Some(link) = self.links.get((state - LINK) as usize) else {
                return Followed::Next(self.start);
            };
            if link.column == column {
                return Followed::Next(link.next);
            }
            state = link.other & !MATCH;
        }
        Followed::Row(state)
    }

    /// Returns the memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.columns)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.links)
            + size_of_val(&*self.bounds)
            + size_of_val(&*self.literals)
            + size_of_val(&*self.lengths)
    }
}

/// Where a step from a flagged state leads.
enum Followed {
    /// To this state.
    Next(u32),
    /// To what this row says.
    Row(u32),
}

fn lengths(dfa: &DFA) -> Option<Box<[u32]>> {
    (0..dfa.patterns_len())
        .map(|literal| dfa.pattern_len(aho_corasick::PatternID::must(literal)))
        .map(|length| u32::try_from(length).ok())
        .collect()
}

/// Returns the literals that end in a state, ascending.
fn literals_of(dfa: &DFA, state: StateID) -> Option<Vec<u32>> {
    if !dfa.is_match(state) {
        return Some(Vec::new());
    }
    let mut literals = (0..dfa.match_len(state))
        .map(|index| u32::try_from(dfa.match_pattern(state, index).as_usize()).ok())
        .collect::<Option<Vec<_>>>()?;
    literals.sort_unstable();
    Some(literals)
}

impl Machine for Table {
    type State = u32;

    fn start(&self) -> u32 {
        self.start
    }

    #[inline]
    fn step(&self, state: u32, byte: u8) -> u32 {
        let column = self.columns.get(usize::from(byte)).copied();
        let column = column.unwrap_or_default();
        let row = if state < LINK {
            state
        } else {
            match self.follow_links(state, column) {
                Followed::Next(next) => return next,
                Followed::Row(row) => row,
            }
        };
        let place = row as usize + usize::from(column);
        self.rows.get(place).copied().unwrap_or_default()
    }

    #[inline]
    fn is_match(&self, state: u32) -> bool {
        state >= MATCH
    }

    #[inline]
    fn is_either_match(&self, one: u32, other: u32) -> bool {
        (one | other) >= MATCH
    }

    fn for_each_literal(&self, state: u32, mut found: impl FnMut(usize) -> bool) {
        let place = (state & !MATCH & !LINK) as usize;
        let number = if state & LINK == 0 {
            let last = self.rows.get(place + self.width).copied();
            last.unwrap_or_default() as usize
        } else {
            self.first_link + place
        };
        let bounds = self.bounds.get(number..).and_then(<[_]>::first_chunk);
        let Some(&[from, to]) = bounds else {
            return;
        };
        let literals = self.literals.get(from as usize..to as usize);
        for &literal in literals.unwrap_or_default() {
            if !found(literal as usize) {
                return;
            }
        }
    }

    fn length(&self, literal: usize) -> usize {
        self.lengths.get(literal).copied().unwrap_or_default() as usize
    }
}

/// States of a DFA, by depth, and what they are called in the table.
struct States {
    start: StateID,
    all: Vec<State>,
    /// Index in `all` of a state, by its identifier.
    indexes: Vec<usize>,
}

#[derive(Clone, Debug)]
struct State {
    id: StateID,
    depth: u32,
    /// State of the longest other end of the text read.
    other: StateID,
    /// Column and state of the first way in which a literal goes on.
    next: Option<(u8, StateID)>,
    /// How many ways there are.
    ways: usize,
    /// Flags and place in the table.
    name: u32,
}

impl State {
    fn new(id: StateID, depth: u32, other: StateID) -> Self {
        Self {
            id,
            depth,
            other,
            next: None,
            ways: 0,
            name: 0,
        }
    }

    fn is_link(&self) -> bool {
        self.depth > MAX_ROW_DEPTH && self.ways < 2
    }
}

impl States {
    fn new(dfa: &DFA, width: u8) -> Option<Self> {
        let start = dfa.start_state(Anchored::No).ok()?;
        let mut states = Self {
            start,
            all: Vec::new(),
            indexes: Vec::new(),
        };
        states.add(State::new(start, 0, start));
        states.explore(dfa, width)?;
        states.order();
        states.give_names(dfa, width)?;
        Some(states)
    }

    fn add(&mut self, state: State) {
        let id = state.id.as_usize();
        if self.indexes.len() <= id {
            self.indexes.resize(id + 1, usize::MAX);
        }
        if let Some(index) = self.indexes.get_mut(id) {
            *index = self.all.len();
        }
        self.all.push(state);
    }

    fn of(&self, id: StateID) -> Option<&State> {
        self.all.get(*self.indexes.get(id.as_usize())?)
    }

    /// Finds all states, the shortest beginnings of literals first.
    ///
    /// A state that is first come to from another is one byte deeper, and a
    /// way in which a literal goes on; every other step leads to a state that
    /// is known.
    fn explore(&mut self, dfa: &DFA, width: u8) -> Option<()> {
        let mut next = 0;
        while let Some(state) = self.all.get(next).cloned() {
            for column in 0..width {
                let id = dfa.next_state(Anchored::No, state.id, column);
                if self.of(id).is_some() {
                    continue;
                }
                let other = if state.depth == 0 {
                    self.start
                } else {
                    dfa.next_state(Anchored::No, state.other, column)
                };
                self.add(State::new(id, state.depth + 1, other));
                let state = self.all.get_mut(next)?;
                state.next.get_or_insert((column, id));
                state.ways += 1;
            }
            next += 1;
        }
        Some(())
    }

    /// Puts the links of a literal beside each other.
    fn order(&mut self) {
        let mut order = Vec::with_capacity(self.all.len());
        let mut is_placed = vec![false; self.all.len()];
        for first in 0..self.all.len() {
            let mut index = first;
            while let (Some(state), Some(false)) = (self.all.get(index), is_placed.get(index)) {
                order.push(state.clone());
                if let Some(is_placed) = is_placed.get_mut(index) {
                    *is_placed = true;
                }
                match state.next.filter(|_| state.is_link()) {
                    Some((_, next)) => {
                        index = self.indexes.get(next.as_usize()).copied().unwrap_or(index);
                    }
                    None => break,
                }
            }
        }
        self.all.clear();
        for state in order {
            self.add(state);
        }
    }

    fn give_names(&mut self, dfa: &DFA, width: u8) -> Option<()> {
        let (mut row, mut link) = (0_u32, 0_u32);
        for state in &mut self.all {
            let place = if state.is_link() {
                link += 1;
                LINK | (link - 1)
            } else {
                let cells = u32::from(width) + 1;
                row = row.checked_add(cells)?;
                row - cells
            };
            let flag = if dfa.is_match(state.id) { MATCH } else { 0 };
            state.name = place | flag;
        }
        (row < LINK && link < LINK).then_some(())
    }

    fn name(&self, id: StateID) -> u32 {
        self.of(id).map_or(0, |state| state.name)
    }

    fn link(&self, state: &State) -> Link {
        let (column, next) = state.next.unwrap_or((u8::MAX, state.id));
        Link {
            column,
            next: self.name(next),
            other: self.name(state.other),
        }
    }
}
