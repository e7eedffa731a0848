//! The patterns in the order in which detection prefers them.

use std::collections::HashSet;

use super::{Builder, Test, builder::Draft};
use crate::detect::rules::Plain;

/// Way in which a pattern is found, in its place among all.
#[derive(Debug)]
pub(in crate::detect) struct Ranked {
    pub(in crate::detect) robot: usize,
    pub(in crate::detect) pattern: usize,
    /// Literal and edges, where a regular expression amounts to several.
    pub(in crate::detect) plain: Option<(Vec<u8>, Plain)>,
}

impl Builder {
    /// Returns the ways in which patterns are found, the most specific first.
    ///
    /// A regular expression stands at the first of its gates' places.
    pub(in crate::detect) fn ranked(mut self) -> Vec<Ranked> {
        self.settle_weakness();
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
