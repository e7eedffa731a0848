//! Hits and bytes, and the rows of a table of them.

/// Hits, and the bytes that were sent for them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Requests.
    pub hits: u64,
    /// Bytes of their responses.
    pub bytes: u64,
}

/// Rows of a table, most hits first.
#[derive(Debug)]
pub struct Rows {
    /// Names of the cells.
    pub columns: &'static [&'static str],
    /// In the order in which they are shown.
    pub rows: Vec<Row>,
}

/// Row of a table; a cell of `None` is unknown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Group of the row.
    pub cells: Vec<Option<String>>,
    /// Sum of the row.
    pub count: Count,
}

impl Count {
    /// Counts a request.
    pub fn hit(&mut self, bytes: u64) {
        self.add(Self { hits: 1, bytes });
    }

    /// Adds another sum.
    pub fn add(&mut self, other: Self) {
        self.hits += other.hits;
        // The log says how many bytes were sent: a forged line must not overflow the sum.
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Returns the shares of hits and bytes; those of nothing are 0.
    pub fn shares_of(self, all: Self) -> (f64, f64) {
        (share(self.hits, all.hits), share(self.bytes, all.bytes))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share is shown with six digits"
)]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    part as f64 / all as f64
}

impl Rows {
    /// Keeps the first `top` rows, 0 being all; returns how many were removed, and their count.
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

    /// Puts the rows with most hits first.
    pub fn sort(&mut self) {
        self.rows.sort_by(|a, b| {
            let most = |row: &Row| std::cmp::Reverse((row.count.hits, row.count.bytes));
            // Equal counts stand by name: a hash map's order would differ from run to run.
            most(a).cmp(&most(b)).then_with(|| a.cells.cmp(&b.cells))
        });
    }
}

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
