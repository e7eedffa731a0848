//! URLs as the frontier holds them.

use super::{
    super::{Loss, StoreError},
    Frontier, sql,
};

/// URL that was found and shall be visited.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundUrl {
    /// The URL, at most 2,000 bytes.
    pub url: String,
    /// Host and port whose connections it shares.
    pub host: String,
    /// Links from a starting point.
    pub depth: u32,
    /// Depth that its links may reach; nothing: any.
    pub max_depth: Option<u32>,
    /// URL that it was found on; empty for a starting point.
    pub found_on: String,
}

columns! {
    /// URL that a holder has taken.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct ClaimedUrl {
        /// The URL.
        pub url: String,
        /// Host and port whose connections it shares.
        pub host: String,
        /// Links from a starting point.
        pub depth: u32,
        /// Depth that its links may reach; nothing: any.
        pub max_depth: Option<u32>,
        /// URL that it was found on; empty for a starting point.
        pub found_on: String,
        /// Times that it failed in this run.
        pub attempts: u32,
        /// Whether only its stored links shall be followed again.
        pub is_relink: bool,
        /// Whether it has a resource description.
        pub is_described: bool,
        /// `ETag` of the last visit.
        pub etag: Option<String>,
        /// `Last-Modified` of the last visit.
        pub last_modified: Option<String>,
        /// Hash of the body at the last visit.
        pub content_hash: Option<String>,
        /// Settings that the last visit was judged by.
        pub settings: Option<String>,
        /// Whether the page asked for a password when it was read last.
        pub asks_password: bool,
        /// Times in a row that it was as before.
        pub steady: u32,
        /// When it is to be asked for again; nothing: it never was, or not by this program.
        pub next_ms: Option<i64>,
    }
}

impl ClaimedUrl {
    /// Creates a starting point that was never visited.
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
    /// State of a URL in the frontier.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct KnownUrl {
        /// Run that found it last.
        pub run_id: i64,
        /// Links from a starting point.
        pub depth: u32,
        /// URL that it was found on; empty for a starting point.
        pub found_on: String,
        /// `waiting`, `taken`, `deferred` or `done`.
        pub state: String,
        /// Whether it has a resource description.
        pub is_described: bool,
        /// Status of the last answer.
        pub status: Option<u16>,
        /// Outcome of the last visit, in words.
        pub outcome: Option<String>,
        /// When it was last fetched.
        pub fetched_ms: Option<i64>,
        /// Reason why it has no description.
        pub loss: Option<Loss>,
        /// Whether it asked for a password when it was read last.
        pub asks_password: bool,
        /// Hash of the body at the last visit.
        pub content_hash: Option<String>,
    }
}

columns! {
    /// Row of a URL that was claimed.
    #[derive(Debug)]
    pub(super) struct ClaimedRow {
        pub(super) position: i64,
        pub(super) claimed: ClaimedUrl,
    }
}

columns! {
    /// A host's robots.txt as it came last, and what tells its version.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct RobotsTxtCopy {
        /// URL of the file.
        pub url: String,
        /// `ETag` of it.
        pub etag: Option<String>,
        /// `Last-Modified` of it, as the server wrote it.
        pub last_modified: Option<String>,
        /// The file itself.
        pub body: String,
    }
}

impl Frontier<'_> {
    /// Returns a site's copy of a robots.txt.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn robots_txt_copy(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<RobotsTxtCopy>, StoreError> {
        let values = [site.into(), url.into()];
        self.db.first(&sql::ROBOTS_TXT_COPY, &values).await
    }

    /// Saves a copy of a robots.txt in place of the one before.
    ///
    /// # Errors
    ///
    /// Fails when the database does, as `PostgreSQL` with a NUL in a text.
    pub async fn keep_robots_txt(self, site: &str, copy: &RobotsTxtCopy) -> Result<(), StoreError> {
        let values = [
            site.into(),
            (&copy.url).into(),
            (&copy.etag).into(),
            (&copy.last_modified).into(),
            (&copy.body).into(),
        ];
        self.db.run(&sql::KEEP_ROBOTS_TXT, &values).await
    }

    /// Forgets the copy of a robots.txt; does nothing where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget_robots_txt(self, site: &str, url: &str) -> Result<(), StoreError> {
        let values = [site.into(), url.into()];
        self.db.run(&sql::FORGET_ROBOTS_TXT, &values).await
    }
}
