//! An index of rules with wildcards, by octets that a matching path must contain.

use std::borrow::Cow;

use super::pattern::{PathPattern, matches};

/// The number of adjacent octets by which a rule is indexed; three octets fit in a `u32`.
const GRAM: usize = 3;

/// The number of counters for the frequency of groups of three octets, one for each value of
/// [`place`].
const COUNTERS: usize = 4096;

/// An index of rules with wildcards.
#[derive(Debug, Default)]
pub(super) struct Wildcards {
    rules: Vec<Rule>,
    /// The rarest group of three adjacent octets in each rule that contains such a group, with the
    /// rule's index; sorted.
    grams: Vec<(u32, u32)>,
    /// A bit set of the values in `grams`; most paths contain none of them and need no search.
    filter: Vec<u64>,
    /// The indexes of the other rules, which do not contain three literal octets in a row.
    short: Vec<u32>,
    /// Whether the index contains rules that end with an optional slash.
    bare: bool,
}

#[derive(Debug)]
struct Rule {
    rank: u32,
    texts: Box<[Box<[u8]>]>,
    ends: bool,
    /// Whether the path is compared with a slash appended to it.
    bare: bool,
}

impl Wildcards {
    /// Creates an index of patterns, which must be sorted by rank.
    pub(super) fn new(patterns: &[(&PathPattern<'_>, u32)], slash_matches_bare: bool) -> Self {
        let mut this = Self::default();
        if patterns.is_empty() {
            return this;
        }
        let mut common = vec![0_u32; COUNTERS];
        for gram in patterns.iter().flat_map(|(pattern, _)| grams_of(pattern)) {
            if let Some(count) = common.get_mut(place(gram)) {
                *count += 1;
            }
        }
        let rarity = |gram: &u32| common.get(place(*gram)).copied();
        this.filter = vec![0; COUNTERS / 64];
        for (at, (pattern, rank)) in (0..).zip(patterns) {
            match grams_of(pattern).min_by_key(rarity) {
                Some(gram) => this.push_gram(gram, at),
                None => this.short.push(at),
            }
            this.push(pattern, *rank, slash_matches_bare);
        }
        this.grams.sort_unstable();
        this
    }

    fn push_gram(&mut self, gram: u32, at: u32) {
        self.grams.push((gram, at));
        if let Some(word) = self.filter.get_mut(place(gram) / 64) {
            *word |= 1 << (place(gram) % 64);
        }
    }

    fn push(&mut self, pattern: &PathPattern<'_>, rank: u32, slash_matches_bare: bool) {
        let slash = pattern
            .texts
            .last()
            .is_some_and(|text| text.ends_with(b"/"));
        let bare = slash_matches_bare && slash && !pattern.ends;
        self.bare |= bare;
        self.rules.push(Rule {
            rank,
            texts: pattern
                .texts
                .iter()
                .map(|text| text.as_ref().into())
                .collect(),
            ends: pattern.ends,
            bare,
        });
    }

    /// Returns the lowest rank of a rule that matches a path, or `limit` if `limit` is lower.
    pub(super) fn best(&self, path: &[u8], limit: u32) -> u32 {
        if self.rules.is_empty() {
            return limit;
        }
        let slashed: Cow<'_, [u8]> = if self.bare && !path.ends_with(b"/") {
            Cow::Owned([path, b"/"].concat())
        } else {
            Cow::Borrowed(path)
        };
        let mut best = limit;
        let mut look = |at: u32| {
            if let Some(rule) = self.rules.get(at as usize)
                // Compare the rank first, which is cheap, because rules are found in any order.
                && rule.rank < best
                && rule.matches(if rule.bare { &slashed } else { path })
            {
                best = rule.rank;
            }
        };
        self.short.iter().copied().for_each(&mut look);
        for gram in grams(&slashed).filter(|gram| self.may_have(*gram)) {
            let first = self.grams.partition_point(|(other, _)| *other < gram);
            let found = self.grams.iter().skip(first);
            let same = found.take_while(|(other, _)| *other == gram);
            same.for_each(|(_, at)| look(*at));
        }
        best
    }

    fn may_have(&self, gram: u32) -> bool {
        let word = self.filter.get(place(gram) / 64);
        word.is_some_and(|word| word >> (place(gram) % 64) & 1 == 1)
    }
}

impl Rule {
    fn matches(&self, path: &[u8]) -> bool {
        matches(self.texts.iter().map(AsRef::as_ref), self.ends, path)
    }
}

fn grams_of(pattern: &PathPattern<'_>) -> impl Iterator<Item = u32> {
    pattern.texts.iter().flat_map(|text| grams(text))
}

/// Returns each group of three adjacent octets of a text as a number.
fn grams(text: &[u8]) -> impl Iterator<Item = u32> {
    text.windows(GRAM)
        .filter_map(|gram| <[u8; GRAM]>::try_from(gram).ok())
        .map(|[one, two, three]| u32::from_be_bytes([0, one, two, three]))
}

/// Returns the index of the counter for a group of three octets.
///
/// This is Fibonacci hashing: the octets are multiplied by 2³² divided by the golden ratio. The
/// high bits of the product depend on every octet; twelve of them select the counter.
fn place(gram: u32) -> usize {
    (gram.wrapping_mul(0x9e37_79b1) >> 20) as usize
}
