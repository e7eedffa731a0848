//! Weighted counts of requests.

/// Counts of requests; older requests have less weight, so the counts are not whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) requests: f64,
    /// Requests for pages, as opposed to assets.
    pub(crate) pages: f64,
    /// Number of addresses, summed over the windows.
    pub(crate) senders: f64,
    /// Page requests with a referrer.
    pub(crate) referred: f64,
    /// Conditional requests for cached pages.
    pub(crate) conditional: f64,
    /// Requests for pages deep in the site.
    pub(crate) deep: f64,
    /// Requests for pages that no visitor has requested recently.
    pub(crate) unseen: f64,
}

impl Counts {
    /// Adds other counts, each multiplied by `part`.
    pub(crate) fn add(&mut self, other: &Self, part: f64) {
        self.requests += other.requests * part;
        self.pages += other.pages * part;
        self.senders += other.senders * part;
        self.referred += other.referred * part;
        self.conditional += other.conditional * part;
        self.deep += other.deep * part;
        self.unseen += other.unseen * part;
    }

    /// Returns the sum of these counts and `other`.
    pub(crate) fn sum_with(mut self, other: &Self) -> Self {
        self.add(other, 1.0);
        self
    }

    /// Returns all counts except the number of senders.
    pub(crate) fn as_numbers(&self) -> [f64; 6] {
        [
            self.requests,
            self.pages,
            self.referred,
            self.conditional,
            self.deep,
            self.unseen,
        ]
    }

    /// Creates counts without senders from the result of [`as_numbers`](Self::as_numbers).
    pub(crate) fn from_numbers(numbers: [f64; 6]) -> Self {
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

/// Returns `part` divided by `whole`, or 0 if `whole` is 0.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
