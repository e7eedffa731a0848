//! Counts of requests and bytes, and tables of such counts.

/// The number of requests, and the number of bytes sent in responses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Number of requests.
    pub hits: u64,
    /// Number of bytes in the responses.
    pub bytes: u64,
}

/// A table whose rows are sorted by number of requests, highest first.
#[derive(Debug)]
pub struct Rows {
    /// Names of the columns that contain the cells.
    pub columns: &'static [&'static str],
    /// Rows in the order in which they are displayed.
    pub rows: Vec<Row>,
}

/// A table row; a `None` cell means that the value is unknown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Values that identify the row's group.
    pub cells: Vec<Option<String>>,
    /// Requests and bytes of the row's group.
    pub count: Count,
}

impl Count {
    /// Adds one request, and the number of bytes in its response.
    pub fn hit(&mut self, bytes: u64) {
        self.add(Self { hits: 1, bytes });
    }

    /// Adds another count to this count.
    pub fn add(&mut self, other: Self) {
        self.hits += other.hits;
        // The byte count may come from a log, and a forged line must not overflow the sum.
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Returns the shares of the requests and bytes in `all` that this count makes up; 0 if `all`
    /// is empty.
    pub fn shares_in(self, all: Self) -> (f64, f64) {
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
    /// Keeps only the first `top` rows, or all rows if `top` is 0. Returns the number and the total
    /// count of the removed rows.
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

    /// Sorts the rows by number of requests, highest first.
    pub fn sort(&mut self) {
        self.rows.sort_by(|a, b| {
            let most = |row: &Row| std::cmp::Reverse((row.count.hits, row.count.bytes));
            // Rows with equal counts are sorted by name, because the order of a hash map varies.
            most(a).cmp(&most(b)).then_with(|| a.cells.cmp(&b.cells))
        });
    }
}

/// A summary whose counts can be printed as tables.
pub trait Summary {
    /// The type of the groupings that this summary supports.
    type By: Grouping;

    /// Returns the count for each kind of visitor.
    fn totals(&self) -> Vec<(&'static str, Count)>;

    /// Returns the table for a grouping.
    fn rows(&self, by: Self::By) -> Rows;

    /// Returns the total number of requests and bytes.
    fn all(&self) -> Count {
        let mut all = Count::default();
        for (_, count) in self.totals() {
            all.add(count);
        }
        all
    }
}

/// An attribute by which a summary groups requests.
pub trait Grouping: Copy + PartialEq {
    /// The grouping by kind of visitor.
    const TOTAL: Self;

    /// Returns the plural name of the groups, which is the name of the JSON array.
    fn plural(self) -> &'static str;
}
