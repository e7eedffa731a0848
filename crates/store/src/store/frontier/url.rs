//! URLs in the frontier.

use super::{
    super::{Loss, StoreError},
    Frontier, sql,
};

/// A URL that was found and is to be visited.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundUrl {
    /// The absolute URL of the page, at most 2,000 bytes.
    pub url: String,
    /// The host and port, which determine the connections to use.
    pub host: String,
    /// The number of links to follow from a starting point to reach the page.
    pub depth: u32,
    /// The maximum depth of links to follow from this URL; `None` means no limit.
    pub max_depth: Option<u32>,
    /// The URL of the page that contains the link; empty for a starting point.
    pub found_on: String,
}

columns! {
    /// A URL that a holder has claimed for a visit.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct ClaimedUrl {
        /// The absolute URL of the page.
        pub url: String,
        /// The host and port, which determine the connections to use.
        pub host: String,
        /// The number of links to follow from a starting point to reach the page.
        pub depth: u32,
        /// The maximum depth of links to follow from this URL; `None` means no limit.
        pub max_depth: Option<u32>,
        /// The URL of the page that contains the link; empty for a starting point.
        pub found_on: String,
        /// The number of failed attempts to fetch the URL in this run.
        pub attempts: u32,
        /// Whether to follow only the stored links of the page, without fetching the page.
        pub is_relink: bool,
        /// Whether the page has a resource description.
        pub is_described: bool,
        /// The `ETag` value from the last visit.
        pub etag: Option<String>,
        /// The `Last-Modified` value from the last visit.
        pub last_modified: Option<String>,
        /// The hash of the response body at the last visit.
        pub content_hash: Option<String>,
        /// The settings that were in effect at the last visit.
        pub settings: Option<String>,
        /// Whether the page requested a password when it was last read.
        pub asks_password: bool,
        /// The number of consecutive visits on which the page had not changed.
        pub steady: u32,
        /// The time of the next regular visit; `None` if no regular visit was ever scheduled.
        pub next_ms: Option<i64>,
    }
}

impl ClaimedUrl {
    /// Creates a starting point that has never been visited.
    pub fn new(url: impl Into<String>, host: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            host: host.into(),
            depth: 0,
            max_depth: None,
            found_on: String::new(),
            attempts: 0,
            is_relink: false,
            is_described: false,
            etag: None,
            last_modified: None,
            content_hash: None,
            settings: None,
            asks_password: false,
            steady: 0,
            next_ms: None,
        }
    }
}

columns! {
    /// The state of a URL in the frontier.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct KnownUrl {
        /// The ID of the last run that found the URL.
        pub run_id: i64,
        /// The number of links to follow from a starting point to reach the page.
        pub depth: u32,
        /// The URL of the page that contains the link; empty for a starting point.
        pub found_on: String,
        /// The state of the URL: `waiting`, `taken`, `deferred` or `done`.
        pub state: String,
        /// Whether the page has a resource description.
        pub is_described: bool,
        /// The HTTP status of the last response for the URL.
        pub status: Option<u16>,
        /// The outcome of the last visit, as text.
        pub outcome: Option<String>,
        /// The time when the URL was last fetched.
        pub fetched_ms: Option<i64>,
        /// The reason why the page has no description.
        pub loss: Option<Loss>,
        /// Whether the page requested a password when it was last read.
        pub asks_password: bool,
        /// The hash of the response body at the last visit.
        pub content_hash: Option<String>,
    }
}

columns! {
    /// A database row of a claimed URL.
    #[derive(Debug)]
    pub(super) struct ClaimedRow {
        pub(super) position: i64,
        pub(super) claimed: ClaimedUrl,
    }
}

columns! {
    /// The last copy of a host's robots.txt, with its validators.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct RobotsTxtCopy {
        /// The URL of the robots.txt file.
        pub url: String,
        /// The `ETag` of the stored copy.
        pub etag: Option<String>,
        /// The `Last-Modified` value of the stored copy, unparsed.
        pub last_modified: Option<String>,
        /// The content of the stored copy.
        pub body: String,
    }
}

impl Frontier<'_> {
    /// Returns the stored copy of a robots.txt file.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn robots_txt_copy(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<RobotsTxtCopy>, StoreError> {
        let values = [site.into(), url.into()];
        self.db.first(&sql::ROBOTS_TXT_COPY, &values).await
    }

    /// Saves a copy of a robots.txt file, which replaces the previous copy.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails, for example if a text contains NUL on `PostgreSQL`.
    pub async fn save_robots_txt_copy(
        self,
        site: &str,
        copy: &RobotsTxtCopy,
    ) -> Result<(), StoreError> {
        let values = [
            site.into(),
            (&copy.url).into(),
            (&copy.etag).into(),
            (&copy.last_modified).into(),
            (&copy.body).into(),
        ];
        self.db.run(&sql::KEEP_ROBOTS_TXT, &values).await
    }

    /// Removes the stored copy of a robots.txt file; does nothing if there is no copy.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove_robots_txt_copy(self, site: &str, url: &str) -> Result<(), StoreError> {
        let values = [site.into(), url.into()];
        self.db.run(&sql::FORGET_ROBOTS_TXT, &values).await
    }
}
