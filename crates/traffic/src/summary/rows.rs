//! Counts of hits and bytes, and tables of such counts.

/// Number of requests, and number of bytes sent in responses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Number of requests.
    pub hits: u64,
    /// Number of bytes in the responses.
    pub bytes: u64,
}

/// Table whose rows are sorted by hits, most first.
#[derive(Debug)]
pub struct Rows {
    /// Names of the columns for the cells.
    pub columns: &'static [&'static str],
    /// Rows in display order.
    pub rows: Vec<Row>,
}

/// A table row; a `None` cell means that the value is unknown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Values that identify the row's group.
    pub cells: Vec<Option<String>>,
    /// Count of the row's group.
    pub count: Count,
}

impl Count {
    /// Counts one request.
    pub fn hit(&mut self, bytes: u64) {
        self.add(Self { hits: 1, bytes });
    }

    /// Adds another count.
    pub fn add(&mut self, other: Self) {
        self.hits += other.hits;
        // The byte count comes from a log: a forged line must not overflow the sum.
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Returns the shares of `all` hits and bytes that this count makes up; 0 if `all` is empty.
    pub fn shares_of(self, all: Self) -> (f64, f64) {
        (share(self.hits, all.hits), share(self.bytes, all.bytes))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares are printed with six digits"
)]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    part as f64 / all as f64
}

impl Rows {
    /// Keeps only the first `top` rows (0: all rows); returns the number and total count of the
    /// removed rows.
    pub fn truncate(&mut self, top: usize) -> (usize, Count) {
        let mut rest = Count::default();
        if top == 0 || self.rows.len() <= top {
            return (0, rest);
        }
        let gone = self.rows.split_off(top);
        for row in &gone {
            rest.add(row.count);
        }
        (gone.len(), rest)
    }

    /// Sorts the rows by hits, most first.
    pub fn sort(&mut self) {
        self.rows.sort_by(|a, b| {
            let most = |row: &Row| std::cmp::Reverse((row.count.hits, row.count.bytes));
            // Rows with equal counts are sorted by name, as the order of a hash map would vary.
            most(a).cmp(&most(b)).then_with(|| a.cells.cmp(&b.cells))
        });
    }
}

/// Counts that can be printed as tables.
pub trait Summary {
    /// Type of the groupings that this summary supports.
    type By: Grouping;

    /// Returns the count for each kind of visitor.
    fn totals(&self) -> Vec<(&'static str, Count)>;

    /// Returns the table for a grouping.
    fn rows(&self, by: Self::By) -> Rows;

    /// Returns the total count.
    fn all(&self) -> Count {
        let mut all = Count::default();
        for (_, count) in self.totals() {
            all.add(count);
        }
        all
    }
}

/// Attribute by which a summary groups requests.
pub trait Grouping: Copy + PartialEq {
    /// Grouping by kind of visitor.
    const TOTAL: Self;

    /// Returns the plural name of the groups, which is used as the name of a JSON array.
    fn plural(self) -> &'static str;
}
