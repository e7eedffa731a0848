//! What is counted of requests.

/// Sums of requests; of those of hours ago a part, so that they are no whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) requests: f64,
    /// Requests that are no assets.
    pub(crate) pages: f64,
    /// Addresses, added up over windows.
    pub(crate) senders: f64,
    /// Pages that name where they were linked.
    pub(crate) referred: f64,
    /// Requests of what is in a cache.
    pub(crate) conditional: f64,
    /// Pages that are deep in the site.
    pub(crate) deep: f64,
    /// Pages that nobody has asked for lately.
    pub(crate) unseen: f64,
}

impl Counts {
    /// Adds others, or a part of them.
    pub(crate) fn add(&mut self, other: &Self, part: f64) {
        self.requests += other.requests * part;
        self.pages += other.pages * part;
        self.senders += other.senders * part;
        self.referred += other.referred * part;
        self.conditional += other.conditional * part;
        self.deep += other.deep * part;
        self.unseen += other.unseen * part;
    }

    /// Returns these and others.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.add(other, 1.0);
        self
    }

    /// Returns what is counted of requests: all but senders.
    pub(crate) fn of_requests(&self) -> [f64; 6] {
        [
            self.requests,
            self.pages,
            self.referred,
            self.conditional,
            self.deep,
            self.unseen,
        ]
    }

    /// Returns counts of what [`of_requests`](Self::of_requests) returns.
    pub(crate) fn of_numbers(numbers: [f64; 6]) -> Self {
        let [requests, pages, referred, conditional, deep, unseen] = numbers;
        Self {
            requests,
            pages,
            senders: 0.0,
            referred,
            conditional,
            deep,
            unseen,
        }
    }

    pub(crate) fn asset_share(&self) -> f64 {
        share(self.requests - self.pages, self.requests)
    }

    pub(crate) fn per_sender(&self) -> f64 {
        share(self.requests, self.senders)
    }
}

/// Returns a part as a share of a whole, of nothing 0.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
