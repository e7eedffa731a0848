//! Addresses of a site; moves the site's pages to a new address.

use super::Publications;
use super::{
    super::{StoreError, statement::Value},
    publish::{increment_heaven_version, lock},
    sql,
};

/// The maximum number of addresses stored per site.
const MAX_ADDRESSES: usize = 32;

impl Publications<'_> {
    /// Moves a site's pages from all previous addresses to `address`. Returns the number of moved
    /// pages.
    ///
    /// An address is an origin, such as `https://www.example.com`. `others` are further addresses
    /// of the site. Pages that already exist at `address` are not replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, no page is moved.
    pub async fn move_site(
        self,
        site: &str,
        address: &str,
        others: &[String],
    ) -> Result<u64, StoreError> {
        let known = self.site_addresses(site).await?;
        let mut all = vec![address.to_owned()];
        for other in known.iter().chain(others) {
            if !all.contains(other) && all.len() < MAX_ADDRESSES {
                all.push(other.clone());
            }
        }
        if all == known {
            return Ok(0);
        }
        let mut transaction = self.db.begin(sql::MOVE_DESCRIPTIONS.what).await?;
        lock(&mut transaction, site).await?;
        let mut moved = 0;
        for former in all.iter().skip(1) {
            let values: [Value<'_>; 3] = [site.into(), former.into(), address.into()];
            moved += transaction
                .execute(&sql::MOVE_DESCRIPTIONS, &values)
                .await?;
            for statement in [
                &sql::MOVE_STAGED,
                &sql::MOVE_PREVIOUS,
                &sql::MOVE_WITHDRAWN,
                &sql::MOVE_URLS,
            ] {
                transaction.execute(statement, &values).await?;
            }
        }
        let all = all.join(" ");
        let values = [site.into(), (&all).into()];
        transaction.execute(&sql::SET_ADDRESSES, &values).await?;
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(moved)
    }

    /// Returns the addresses of a site, starting with the current one.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn site_addresses(self, site: &str) -> Result<Vec<String>, StoreError> {
        let all: Option<String> = self.db.value(&sql::ADDRESSES, &[site.into()]).await?;
        let all = all.unwrap_or_default();
        Ok(all.split_whitespace().map(str::to_owned).collect())
    }
}
