//! Copies of the hosts' robots.txt files.

use super::Frontier;
use super::{super::StoreError, sql};

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
