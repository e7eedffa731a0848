//! The ways in which patterns are found.

use crate::detect::rules::Rule;

/// Which flag tells [`Form::is_name`] of a word.
pub(super) const NAME: usize = 0;

/// Whose a hit is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::detect) struct Owner {
    /// Place among all by specificity: the lowest is the most specific.
    pub(in crate::detect) rank: u32,
    /// Number of the robot, as given to [`Builder::add`](super::Builder::add).
    pub(in crate::detect) robot: u32,
    /// Index among the robot's patterns.
    pub(in crate::detect) pattern: u32,
}

/// One way in which a pattern is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) owner: Owner,
    /// Where its literal starts among all.
    pub(super) literal: u32,
    pub(super) length: u16,
    /// Where in the literal its anchor stands.
    pub(super) offset: u16,
    /// Where in the literal a byte stands that is compared first, and which.
    pub(super) beside: u16,
    pub(super) beside_byte: u8,
    /// Where in the literal a part stands that is told by the anchor's key and that byte,
    /// and need not be compared.
    pub(super) told: u16,
    pub(super) told_length: u8,
    pub(super) test: Test,
}

impl Form {
    /// Tells whether it is a word that names a robot wherever it stands alone: found as a
    /// whole, it is a hit if no digit stands before it.
    pub(super) fn is_name(&self) -> bool {
        self.beside == 0 && self.is_told() && matches!(self.test, Test::Rule(Rule::Token))
    }

    /// Tells whether it is a word that names a robot at the start, before a version.
    pub(super) fn is_product(&self) -> bool {
        let is_slash_told = self.beside == 0 || self.beside_byte == b'/';
        let rules = matches!(
            self.test,
            Test::Rule(Rule::Token | Rule::Prefix | Rule::Product)
        );
        is_slash_told && self.is_told() && rules
    }

    /// Tells whether it is the word that is its anchor, and a byte behind it if one is `beside`.
    pub(super) fn is_told(&self) -> bool {
        self.offset == 0 && u16::from(self.told_length) == self.length
    }
}

/// What is asked at an occurrence of a form's literal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    Rule(Rule),
    Plain(u32),
    Regex(u32),
    /// Nothing yet: whether a mark counts is asked when no robot is found.
    Mark(u8),
}

/// Forms that share an anchor, the most specific first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// Which stands here, as there mostly is no other.
    pub(super) first: Option<Form>,
    /// Where the others stand.
    pub(super) others: u32,
    pub(super) count: u16,
    /// Whether a word is told by its key, and has no letters in a row that are looked for.
    pub(super) is_known: bool,
    /// Whether a word may begin a phrase of browsers, in which nothing is looked for.
    pub(super) is_skipped: bool,
    /// Whether names of three words or more begin with a word.
    pub(super) begins: bool,
}

impl Bucket {
    /// Returns its forms, of which all but the first stand among `others`.
    pub(super) fn forms<'f>(&'f self, others: &'f [Form]) -> impl Iterator<Item = &'f Form> {
        let start = self.others as usize;
        let others = others.get(start..start + usize::from(self.count));
        self.first.iter().chain(others.unwrap_or_default())
    }
}
