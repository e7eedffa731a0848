//! Canonical URLs of pages, learned from responses to the site robot and to other robots.

use super::StoreError;

/// The maximum number of canonical URLs stored per site. If there are more, the oldest are removed.
// Each entry also takes up two URLs in memory, about ten megabytes in total.
pub const MAX_CANONICALS: u32 = 100_000;

statements! {
    LEARN = "save a canonical URL",
        "INSERT INTO canonicals (site, url, canonical, learnt_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (site, url) DO UPDATE SET canonical = excluded.canonical, \
         learnt_ms = excluded.learnt_ms";
    FORGET = "remove a canonical URL",
        "DELETE FROM canonicals WHERE site = $1 AND (url = $2 OR canonical = $2)";
    LEARNT = "read the canonical URLs",
        "SELECT url, canonical FROM canonicals WHERE site = $1 AND learnt_ms > $2 \
         ORDER BY learnt_ms DESC, url LIMIT $3 + 0";
    TOO_MANY = "count the canonical URLs",
        "SELECT learnt_ms FROM canonicals WHERE site = $1 ORDER BY learnt_ms DESC LIMIT 1 OFFSET $2 + 0";
    PRUNE = "remove old canonical URLs",
        "DELETE FROM canonicals WHERE site = $1 AND learnt_ms <= $2";
    // A preference of 8 or higher marks a page that specifies another URL as canonical.
    NAMED = "read the canonical URLs specified by pages",
        "SELECT seen.url, seen.alias_of FROM site_robot_urls AS seen \
         JOIN site_robot_urls AS page ON page.site = seen.site AND page.url = seen.alias_of \
         WHERE seen.site = $1 AND seen.url > $2 AND seen.described = 0 AND seen.loss = 'duplicate' \
         AND seen.preference >= 8 AND seen.fetched_ms > $3 AND page.described = 1 \
         AND page.loss IS NULL AND page.alias_of IS NULL AND COALESCE(page.asks_password, 0) = 0 \
         ORDER BY seen.url LIMIT $4 + 0";
}

/// A canonical URL observed in a response to a robot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LearnedCanonical {
    /// The host and path of the page's URL.
    pub url: String,
    /// The host and path of the canonical URL; `None` removes every entry that has `url` as page or
    /// canonical URL.
    pub canonical: Option<String>,
}

handle! {
    /// Access to the stored canonical URLs.
    Canonicals, canonicals
}

impl Canonicals<'_> {
    /// Saves canonical URLs of a site, and removes those learned at or before `since_ms`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(
        self,
        site: &str,
        learnt: &[LearnedCanonical],
        now_ms: i64,
        since_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("save canonical URLs").await?;
        for one in learnt {
            let url = (&one.url).into();
            match &one.canonical {
                Some(canonical) => {
                    let values = [site.into(), url, canonical.into(), now_ms.into()];
                    transaction.execute(&LEARN, &values).await?;
                }
                None => _ = transaction.execute(&FORGET, &[site.into(), url]).await?,
            }
        }
        transaction.commit().await?;
        let values = [site.into(), i64::from(MAX_CANONICALS).into()];
        let end = self.db.value::<i64>(&TOO_MANY, &values).await?;
        let end = end.map_or(since_ms, |end| end.max(since_ms));
        let values = [site.into(), end.into()];
        self.db.run(&PRUNE, &values).await
    }

    /// Returns the canonical URLs of a site learned after `since_ms`, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list(
        self,
        site: &str,
        since_ms: i64,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let values = [
            site.into(),
            since_ms.into(),
            i64::from(MAX_CANONICALS).into(),
        ];
        self.db.rows(&LEARNT, &values).await
    }

    /// Returns pairs of a page URL and the canonical URL that the page specifies, starting after
    /// the URL `after`. Only pages fetched by the site robot after `since_ms` are included.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list_from_pages(
        self,
        site: &str,
        after: &str,
        since_ms: i64,
        limit: u32,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let values = [
            site.into(),
            after.into(),
            since_ms.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&NAMED, &values).await
    }
}
