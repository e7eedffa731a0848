//! What can be printed.

use super::{Count, Rows};

/// Sums that can be printed.
pub trait Summary {
    /// What they can be added up by.
    type By: Grouping;

    /// Returns the count of each kind of visitor.
    fn totals(&self) -> Vec<(&'static str, Count)>;

    /// Returns the rows of a table.
    fn rows(&self, by: Self::By) -> Rows;

    /// Returns the count of all.
    fn all(&self) -> Count {
        let mut all = Count::default();
        for (_, count) in self.totals() {
            all.add(count);
        }
        all
    }
}

/// What a summary adds up by.
pub trait Grouping: Copy + PartialEq {
    /// Kinds of visitors.
    const TOTAL: Self;

    /// Returns the name of an array of them.
    fn plural(self) -> &'static str;
}
