//! Patterns sorted by detection precedence.

use std::collections::HashSet;

use super::{Builder, Test, builder::Draft};
use crate::detect::rules::Plain;

/// One form of a pattern; forms are sorted by precedence.
#[derive(Debug)]
pub(in crate::detect) struct Ranked {
    pub(in crate::detect) robot: usize,
    pub(in crate::detect) pattern: usize,
    /// A literal and its edges, for a regular expression that is equivalent to several literals.
    pub(in crate::detect) plain: Option<(Vec<u8>, Plain)>,
}

impl Builder {
    /// Returns all forms of the patterns, the most specific first.
    ///
    /// A regular expression appears at the position of its first gate literal.
    pub(in crate::detect) fn ranked(mut self) -> Vec<Ranked> {
        self.apply_best_classification();
        self.drafts.sort_by_key(|draft| draft.specificity);
        let mut ran = HashSet::new();
        let is_new = |draft: &Draft| match draft.test {
            Test::Regex(regex) => ran.insert(regex),
            Test::Rule(_) | Test::Plain(_) | Test::Mark(_) => true,
        };
        self.drafts
            .into_iter()
            .filter(is_new)
            .map(|draft| Ranked {
                robot: draft.specificity.robot,
                pattern: draft.specificity.pattern,
                plain: match (draft.literal, draft.test) {
                    (Some(literal), Test::Plain(plain)) => {
                        let plain = self.plains.get(plain as usize).cloned();
                        plain.map(|plain| (literal, plain))
                    }
                    _ => None,
                },
            })
            .collect()
    }
}
