//! Which descriptions, in which order.

/// Query for descriptions of a site, a piece at a time.
///
/// # Example
///
/// ```
/// use robot_detection_store::store::{DescriptionOrder, DescriptionQuery};
///
/// let query = DescriptionQuery::new("docs")
///     .order(DescriptionOrder::Title)
///     .limit(100);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DescriptionQuery {
    pub(super) site: String,
    pub(super) order: DescriptionOrder,
    pub(super) key: Option<String>,
    pub(super) after: Option<DescriptionCursor>,
    pub(super) limit: u32,
}

/// Order of descriptions; those without a key in it are left out, ties go by URL.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum DescriptionOrder {
    /// By URL, byte by byte; every description is there.
    #[default]
    Url,
    /// By title in lower case, white space folded.
    Title,
}

/// Place behind a description, where the next piece begins.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DescriptionCursor {
    pub(super) key: String,
    pub(super) url: String,
}

impl DescriptionQuery {
    /// Creates a query for the first 1,000 descriptions of a site by URL.
    pub fn new(site: impl Into<String>) -> Self {
        Self {
            site: site.into(),
            order: DescriptionOrder::Url,
            key: None,
            after: None,
            limit: 1_000,
        }
    }

    /// Sets the order; the default is by URL.
    #[must_use]
    pub fn order(mut self, order: DescriptionOrder) -> Self {
        self.order = order;
        self
    }

    /// Asks for those with this key only; by URL there is none.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Asks for those behind a place; the first without one.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<DescriptionCursor>>) -> Self {
        self.after = after.into();
        self
    }

    /// Sets how many are returned at most; the default is 1,000.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }
}

impl DescriptionOrder {
    /// Every order.
    pub const ALL: [Self; 2] = [Self::Url, Self::Title];
}

impl DescriptionCursor {
    /// Creates the place behind a URL, in the order by URL or of one key.
    pub fn behind_url(url: impl Into<String>) -> Self {
        Self {
            key: String::new(),
            url: url.into(),
        }
    }

    /// Creates the place behind a key and a URL.
    pub fn behind(key: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            url: url.into(),
        }
    }
}
