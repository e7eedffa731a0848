//! Canonical URLs of pages, as the site robot and other robots were told them.

use super::StoreError;

/// Canonical URLs of a site that are kept; the oldest go first.
// Each is two URLs in memory too: some ten megabytes.
pub const MAX_CANONICALS: u32 = 100_000;

statements! {
    LEARN = "keep a canonical URL",
        "INSERT INTO canonicals (site, url, canonical, learnt_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (site, url) DO UPDATE SET canonical = excluded.canonical, \
         learnt_ms = excluded.learnt_ms";
    FORGET = "forget a canonical URL",
        "DELETE FROM canonicals WHERE site = $1 AND (url = $2 OR canonical = $2)";
    LEARNT = "read the canonical URLs",
        "SELECT url, canonical FROM canonicals WHERE site = $1 AND learnt_ms > $2 \
         ORDER BY learnt_ms DESC, url LIMIT $3 + 0";
    TOO_MANY = "count the canonical URLs",
        "SELECT learnt_ms FROM canonicals WHERE site = $1 ORDER BY learnt_ms DESC LIMIT 1 OFFSET $2 + 0";
    PRUNE = "forget old canonical URLs",
        "DELETE FROM canonicals WHERE site = $1 AND learnt_ms <= $2";
    // A rank from 8 on is that of a page which names another URL.
    NAMED = "read the canonical URLs that pages have named",
        "SELECT seen.url, seen.alias_of FROM site_robot_urls AS seen \
         JOIN site_robot_urls AS page ON page.site = seen.site AND page.url = seen.alias_of \
         WHERE seen.site = $1 AND seen.url > $2 AND seen.described = 0 AND seen.loss = 'duplicate' \
         AND seen.preference >= 8 AND seen.fetched_ms > $3 AND page.described = 1 \
         AND page.loss IS NULL AND page.alias_of IS NULL AND COALESCE(page.asks_password, 0) = 0 \
         ORDER BY seen.url LIMIT $4 + 0";
}

/// What a robot was told of a URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LearntCanonical {
    /// Host and path.
    pub url: String,
    /// The same of its canonical URL; `None`: nothing may lead there.
    pub canonical: Option<String>,
}

handle! {
    /// Canonical URLs.
    Canonicals, canonicals
}

impl Canonicals<'_> {
    /// Keeps what robots were told of a site, and forgets what is from `since_ms` or before.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn learn(
        self,
        site: &str,
        learnt: &[LearntCanonical],
        now_ms: i64,
        since_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("keep canonical URLs").await?;
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

    /// Returns what was learnt of a site after a time, the newest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn learnt(
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

    /// Returns URLs whose pages have named others as canonical that are described, and these, behind
    /// a URL, as far as the site robot has asked for them after a time.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn named(
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
