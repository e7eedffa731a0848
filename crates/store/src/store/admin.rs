//! The administrator: a password, tokens for scripts, sessions.

use sha2::{Digest, Sha256};

use super::{Store, StoreError, StoreErrorKind, sql};

impl Store {
    /// Returns the PHC string of the password, if one was set.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn admin_password_hash(&self) -> Result<Option<String>, StoreError> {
        let row = self.database.first::<(String,)>(&sql::ADMIN_PASSWORD, &[]);
        Ok(row.await?.map(|(hash,)| hash))
    }

    /// Sets the password's PHC string, ends all sessions, and forgets failed logins.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then changes nothing.
    pub async fn set_admin_password_hash(&self, hash: &str, now_ms: i64) -> Result<(), StoreError> {
        let what = sql::SET_ADMIN_PASSWORD.what;
        let mut transaction = self.database.begin(what).await?;
        let values = [hash.into(), now_ms.into()];
        let set = &sql::SET_ADMIN_PASSWORD;
        transaction.execute(set, &values).await?;
        transaction.execute(&sql::DELETE_SESSIONS, &[]).await?;
        let forget = &sql::FORGET_ALL_LOGIN_FAILURES;
        transaction.execute(forget, &[]).await?;
        transaction.commit().await
    }

    /// Sets the password's PHC string where none is set; returns whether it did.
    ///
    /// Of two instances that start at once one does.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn init_admin_password_hash(
        &self,
        hash: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let values = [hash.into(), now_ms.into()];
        let set = self.database.execute(&sql::INIT_ADMIN_PASSWORD, &values);
        Ok(set.await? > 0)
    }

    /// Adds a token for scripts, given as its SHA-256 in hexadecimal.
    ///
    /// # Errors
    ///
    /// `Conflict` when the name or the token is taken.
    pub async fn add_admin_token(
        &self,
        name: &str,
        sha256_hex: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = [name.into(), sha256_hex.into(), now_ms.into()];
        let added = self.database.execute(&sql::ADD_ADMIN_TOKEN, &values).await;
        match added {
            Err(error) if error.kind() == StoreErrorKind::Conflict => Err(StoreError::new(
                StoreErrorKind::Conflict,
                format!(
                    "a token with the name {name:?} is there already; \
                     remove it first, or take another name"
                ),
            )),
            result => result.map(|_| ()),
        }
    }

    /// Returns the name of the token with this SHA-256, if there is one.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn admin_token_name(&self, sha256_hex: &str) -> Result<Option<String>, StoreError> {
        let values = [sha256_hex.into()];
        let row = self
            .database
            .first::<(String,)>(&sql::ADMIN_TOKEN_NAME, &values);
        Ok(row.await?.map(|(name,)| name))
    }

    /// Removes a token.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of this name.
    pub async fn remove_admin_token(&self, name: &str) -> Result<(), StoreError> {
        let values = [name.into()];
        match self
            .database
            .execute(&sql::DELETE_ADMIN_TOKEN, &values)
            .await?
        {
            0 => Err(StoreError::new(
                StoreErrorKind::NotFound,
                format!("no token has the name {name:?}"),
            )),
            _ => Ok(()),
        }
    }

    /// Saves a session; only a hash of its id is stored.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn save_session(
        &self,
        id: &str,
        data: &str,
        expires_ms: i64,
    ) -> Result<(), StoreError> {
        let id = hashed(id);
        let values = [(&id).into(), data.into(), expires_ms.into()];
        let saved = self.database.execute(&sql::SAVE_SESSION, &values);
        saved.await.map(|_| ())
    }

    /// Returns the data of a session that has not ended.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load_session(&self, id: &str, now_ms: i64) -> Result<Option<String>, StoreError> {
        let id = hashed(id);
        let values = [(&id).into(), now_ms.into()];
        let row = self
            .database
            .first::<(String,)>(&sql::LOAD_SESSION, &values);
        Ok(row.await?.map(|(data,)| data))
    }

    /// Ends a session; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn delete_session(&self, id: &str) -> Result<(), StoreError> {
        let id = hashed(id);
        let values = [(&id).into()];
        let deleted = self.database.execute(&sql::DELETE_SESSION, &values);
        deleted.await.map(|_| ())
    }

    /// Removes sessions that ended; returns how many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune_sessions(&self, now_ms: i64) -> Result<u64, StoreError> {
        let values = [now_ms.into()];
        self.database.execute(&sql::PRUNE_SESSIONS, &values).await
    }
}

/// Only a hash is stored: a backup of the database must not make its reader the administrator.
fn hashed(id: &str) -> String {
    // Fast and without salt: an id is random, so that trying words finds none.
    hex::encode(Sha256::digest(id.as_bytes()))
}
