//! Walks through a text, two steps at a time.

/// Deterministic machine that finds literals.
pub(super) trait Machine {
    type State: Copy + Eq;

    fn start(&self) -> Self::State;

    fn step(&self, state: Self::State, byte: u8) -> Self::State;

    /// Tells whether a literal ends in this state.
    fn is_match(&self, state: Self::State) -> bool;

    /// Tells whether a literal ends in one of two states.
    fn is_either_match(&self, one: Self::State, other: Self::State) -> bool {
        self.is_match(one) || self.is_match(other)
    }

    /// Calls `found` with each literal that ends in this state, the lowest
    /// first, as long as it says `true`.
    fn for_each_literal(&self, state: Self::State, found: impl FnMut(usize) -> bool);

    /// Returns how many bytes a literal has.
    fn length(&self, literal: usize) -> usize;
}

/// What browsers and robots begin with.
const BEGINNINGS: &[&[u8]] = &[b"Mozilla/5.0 (compatible; ", b"Mozilla/5.0 ("];

/// What browsers say behind their first comment.
const CONTINUATIONS: &[&[u8]] = &[
    b" AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
    b" AppleWebKit/537.36 (KHTML, like Gecko",
    b" AppleWebKit/605.1.15 (KHTML, like Gecko) ",
    b" Gecko/20100101 Firefox/",
];

/// Bytes of which a half is walked beside the other.
const MIN_HALVES_BYTES: usize = 48;

/// Walks that are known without being walked.
#[derive(Debug)]
pub(super) struct Shortcuts<S> {
    beginnings: Vec<Shortcut<S>>,
    continuations: Vec<Shortcut<S>>,
}

/// Walk through a text from the start.
#[derive(Debug)]
struct Shortcut<S> {
    text: &'static [u8],
    /// State behind it.
    state: S,
    /// Literals that end in it, and where.
    occurrences: Vec<(usize, usize)>,
}

impl<S: Copy + Eq> Shortcuts<S> {
    pub(super) fn new(machine: &impl Machine<State = S>) -> Self {
        let walked = |texts: &[&'static [u8]]| {
            texts
                .iter()
                .map(|text| Shortcut::new(machine, text))
                .collect()
        };
        Self {
            beginnings: walked(BEGINNINGS),
            continuations: walked(CONTINUATIONS),
        }
    }
}

impl<S: Copy + Eq> Shortcut<S> {
    fn new(machine: &impl Machine<State = S>, text: &'static [u8]) -> Self {
        let mut occurrences = Vec::new();
        let mut found = |literal, end| {
            occurrences.push((literal, end));
            true
        };
        let state = walk_on(machine, machine.start(), text, 0, &mut found);
        Self {
            text,
            state,
            occurrences,
        }
    }
}

/// Returns the first shortcut whose text `rest` starts with.
fn shortcut<'s, S>(shortcuts: &'s [Shortcut<S>], rest: &[u8]) -> Option<&'s Shortcut<S>> {
    shortcuts
        .iter()
        .find(|shortcut| rest.starts_with(shortcut.text))
}

/// Calls `found` with the literal and the end of each occurrence, in any order.
///
/// Where several end at one place, `found` says whether it wants the next of
/// them too.
///
/// A step has to wait for the state that the one before found in memory. So two
/// parts of the text are walked at once, whose steps do not wait for each other;
/// then the first is followed into the second for what began in it.
pub(super) fn walk<M: Machine>(
    machine: &M,
    shortcuts: &Shortcuts<M::State>,
    text: &[u8],
    mut found: impl FnMut(usize, usize) -> bool,
) {
    let beginning = shortcut(&shortcuts.beginnings, text);
    let (mut a, start) = take(machine, beginning, 0, &mut found);
    let border = border(start, text);
    let behind = text.get(border..).unwrap_or_default();
    let continuation = shortcut(&shortcuts.continuations, behind);
    let (mut b, restart) = take(machine, continuation, border, &mut found);
    let first = text.get(start..border).unwrap_or_default();
    let second = text.get(restart..).unwrap_or_default();
    for (at, (&x, &y)) in first.iter().zip(second).enumerate() {
        a = machine.step(a, x);
        b = machine.step(b, y);
        if machine.is_either_match(a, b) {
            for (state, part) in [(a, start), (b, restart)] {
                if machine.is_match(state) {
                    report(machine, state, part + at + 1, 0, &mut found);
                }
            }
        }
    }
    let both = first.len().min(second.len());
    let (first, second) = (first.get(both..), second.get(both..));
    let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
    a = walk_on(machine, a, first, start + both, &mut found);
    walk_on(machine, b, second, restart + both, &mut found);
    follow(machine, a, behind, border, &mut found);
}

/// Returns the state behind a shortcut that is taken at `at`, and where that is.
fn take<M: Machine>(
    machine: &M,
    shortcut: Option<&Shortcut<M::State>>,
    at: usize,
    found: &mut impl FnMut(usize, usize) -> bool,
) -> (M::State, usize) {
    let Some(shortcut) = shortcut else {
        return (machine.start(), at);
    };
    for &(literal, end) in &shortcut.occurrences {
        found(literal, at + end);
    }
    (shortcut.state, at + shortcut.text.len())
}

/// Returns where the second part begins: behind the first comment, where few
/// literals go on, else in the middle of what is long, else nowhere.
fn border(start: usize, text: &[u8]) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    if rest.len() < MIN_HALVES_BYTES {
        return text.len();
    }
    start + memchr::memchr(b')', rest).map_or(rest.len() / 2, |end| end + 1)
}

/// Walks on through `rest`, which starts at `border` of the text, to its end.
fn walk_on<M: Machine>(
    machine: &M,
    mut state: M::State,
    rest: &[u8],
    border: usize,
    found: &mut impl FnMut(usize, usize) -> bool,
) -> M::State {
    for (at, &byte) in rest.iter().enumerate() {
        state = machine.step(state, byte);
        if machine.is_match(state) {
            report(machine, state, border + at + 1, 0, found);
        }
    }
    state
}

/// Walks on for occurrences that began before the border.
///
/// Another walk started there. When both are in the same state they go on
/// together, and nothing is left to be found.
fn follow<M: Machine>(
    machine: &M,
    mut state: M::State,
    rest: &[u8],
    border: usize,
    found: &mut impl FnMut(usize, usize) -> bool,
) {
    let mut other = machine.start();
    for (at, &byte) in rest.iter().enumerate() {
        if other == state {
            return;
        }
        state = machine.step(state, byte);
        other = machine.step(other, byte);
        if machine.is_match(state) {
            report(machine, state, border + at + 1, at + 1, found);
        }
    }
}

/// Reports the literals that end here and have more than `longer_than` bytes.
///
/// Kept out of the loop, which would else hold its states in memory instead of
/// registers, at twice the time.
#[cold]
#[inline(never)]
fn report<M: Machine>(
    machine: &M,
    state: M::State,
    end: usize,
    longer_than: usize,
    found: &mut impl FnMut(usize, usize) -> bool,
) {
    machine.for_each_literal(state, |literal| {
        let is_known = longer_than > 0 && machine.length(literal) <= longer_than;
        is_known || found(literal, end)
    });
}
