//! Paginated query for the descriptions of a site's pages.

/// A paginated query for the descriptions of a site.
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

/// The order of descriptions. Descriptions with the same key are ordered by URL; descriptions
/// without a key are omitted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum DescriptionOrder {
    /// By URL, compared bytewise; includes all descriptions.
    #[default]
    Url,
    /// By title, in lower case and with white space collapsed.
    Title,
}

/// The position after a description, from which the next page of results starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DescriptionCursor {
    pub(super) key: String,
    pub(super) url: String,
}

impl DescriptionQuery {
    /// Creates a query for the first 1,000 descriptions of a site, ordered by URL.
    pub fn new(site: impl Into<String>) -> Self {
        Self {
            site: site.into(),
            order: DescriptionOrder::Url,
            key: None,
            after: None,
            limit: 1_000,
        }
    }

    /// Sets the order; descriptions are ordered by URL by default.
    #[must_use]
    pub fn order(mut self, order: DescriptionOrder) -> Self {
        self.order = order;
        self
    }

    /// Restricts the query to descriptions with a single sort key; the order by URL has no keys.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the position after which results start; `None` means to start with the first
    /// description.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<DescriptionCursor>>) -> Self {
        self.after = after.into();
        self
    }

    /// Sets the maximum number of results; the default is 1,000.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }
}

impl DescriptionOrder {
    /// All orders in which descriptions can be returned.
    pub const ALL: [Self; 2] = [Self::Url, Self::Title];
}

impl DescriptionCursor {
    /// Creates the position after a URL, for an order by URL or a query restricted to one key.
    pub fn after_url(url: impl Into<String>) -> Self {
        Self {
            key: String::new(),
            url: url.into(),
        }
    }

    /// Creates the position after a sort key and a URL.
    pub fn behind(key: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            url: url.into(),
        }
    }
}
