//! The administrator: a password, tokens for scripts, sessions.

use sha2::{Digest, Sha256};

use super::{StoreError, StoreErrorKind};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Time in which a session that is used again is not noted again, as each note is a write.
const SEEN_MS: i64 = 5 * 60 * 1_000;

/// Digits of a digest by which lists name a session.
const KEY_DIGITS: usize = 16;

robot_detection_layer::words! {
    /// What a token may do.
    #[derive(Default)]
    pub enum TokenScope {
        /// Asks, and changes nothing.
        Read = "read",
        /// Asks and changes.
        #[default]
        Write = "write",
    }
}

columns! {
    /// Token for scripts, without the secret.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct AdminToken {
        /// Name of what uses it.
        pub name: String,
        /// What it may do.
        pub scope: TokenScope,
        /// When it was made, in milliseconds since 1970.
        pub created_ms: i64,
        /// Hour in which it was last used.
        pub used_ms: Option<i64>,
        /// When it ends; nothing for one that is lasting.
        pub ends_ms: Option<i64>,
    }
}

columns! {
    /// Session that has not ended.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredSession {
        /// Key by which it is ended.
        pub key: String,
        /// Data, as it was saved.
        pub data: String,
        /// When it was last used, to some minutes; 0 for never.
        pub seen_ms: i64,
        /// When it ends.
        pub expires_ms: i64,
    }
}

macro_rules! token_columns {
    () => {
        "name, scope, created_ms, used_ms, ends_ms"
    };
}

statements! {
    ADMIN_PASSWORD = "read the administrator's password hash",
        "SELECT password_hash FROM admin_credentials WHERE id = 1";
    SET_ADMIN_PASSWORD = "set the administrator's password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash, \
         changed_ms = excluded.changed_ms";
    INIT_ADMIN_PASSWORD = "set the administrator's first password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
    ADD_ADMIN_TOKEN = "add a token",
        "INSERT INTO admin_tokens (name, sha256, created_ms, scope, ends_ms) \
         VALUES ($1, $2, $3, $4, $5)";
    // Looked up by its hash, so that the time of the comparison tells nothing of the token.
    ADMIN_TOKEN = "look for a token",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens WHERE sha256 = $1");
    ADMIN_TOKENS = "list the tokens",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens ORDER BY name");
    USE_ADMIN_TOKEN = "note the use of a token",
        "UPDATE admin_tokens SET used_ms = $2 WHERE name = $1";
    CHANGE_ADMIN_TOKEN = "change a token",
        "UPDATE admin_tokens SET scope = $2, ends_ms = $3 WHERE name = $1";
    DELETE_ADMIN_TOKEN = "remove a token",
        "DELETE FROM admin_tokens WHERE name = $1";
    FORGET_ALL_LOGIN_FAILURES = "forget all failed logins",
        "DELETE FROM login_failures";
    SAVE_SESSION = "save a session",
        "INSERT INTO admin_sessions (id_sha256, data, expires_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (id_sha256) DO UPDATE SET data = excluded.data, \
         expires_ms = excluded.expires_ms";
    LOAD_SESSION = "load a session",
        "SELECT data, seen_ms FROM admin_sessions WHERE id_sha256 = $1 AND expires_ms > $2";
    SEE_SESSION = "note the use of a session",
        "UPDATE admin_sessions SET seen_ms = $2 WHERE id_sha256 = $1";
    SESSIONS = "list the sessions",
        "SELECT SUBSTR(id_sha256, 1, 16) AS key, data, seen_ms, expires_ms FROM admin_sessions WHERE expires_ms > $1 \
         ORDER BY seen_ms DESC, id_sha256";
    // Half a digest names a session as surely, and is shorter to show.
    END_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE SUBSTR(id_sha256, 1, 16) = $1 AND expires_ms > $2";
    END_OTHER_SESSIONS = "end the other sessions",
        "DELETE FROM admin_sessions WHERE id_sha256 <> $1";
    DELETE_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE id_sha256 = $1";
    DELETE_SESSIONS = "end all sessions",
        "DELETE FROM admin_sessions";
    PRUNE_SESSIONS = "remove ended sessions",
        "DELETE FROM admin_sessions WHERE expires_ms <= $1";
}

// A word that is not known opens no more than it has to.
column!(TokenScope, String, |word| Ok(
    TokenScope::from_word(&word).unwrap_or(TokenScope::Read)
));

impl AdminToken {
    /// Creates a token that may do everything and does not end.
    pub fn new(name: &str, created_ms: i64) -> Self {
        Self {
            name: name.to_owned(),
            scope: TokenScope::default(),
            created_ms,
            used_ms: None,
            ends_ms: None,
        }
    }

    /// Sets what it may do.
    #[must_use]
    pub fn scope(mut self, scope: TokenScope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets when it ends.
    #[must_use]
    pub fn ends_ms(mut self, ends_ms: Option<i64>) -> Self {
        self.ends_ms = ends_ms;
        self
    }

    /// Returns `true` if it no longer counts.
    pub fn has_ended(&self, now_ms: i64) -> bool {
        self.ends_ms.is_some_and(|ends_ms| ends_ms <= now_ms)
    }
}

handle! {
    /// The password, tokens and sessions of the administrator.
    Access, access
}

impl Access<'_> {
    /// Returns the PHC string of the password, if one was set.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn password_hash(self) -> Result<Option<String>, StoreError> {
        self.db.value(&ADMIN_PASSWORD, &[]).await
    }

    /// Sets the password's PHC string, ends all sessions, and forgets failed logins.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then changes nothing.
    pub async fn set_password_hash(self, hash: &str, now_ms: i64) -> Result<(), StoreError> {
        let (set, forget) = (&SET_ADMIN_PASSWORD, &FORGET_ALL_LOGIN_FAILURES);
        let mut transaction = self.db.begin(set.what).await?;
        let values = [hash.into(), now_ms.into()];
        transaction.execute(set, &values).await?;
        transaction.execute(&DELETE_SESSIONS, &[]).await?;
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
    pub async fn init_password_hash(self, hash: &str, now_ms: i64) -> Result<bool, StoreError> {
        let values = [hash.into(), now_ms.into()];
        let set = self.db.execute(&INIT_ADMIN_PASSWORD, &values);
        Ok(set.await? > 0)
    }

    /// Adds a token for scripts; only its SHA-256, in hexadecimal, is stored.
    ///
    /// # Errors
    ///
    /// `Conflict` when the name or the token is taken.
    pub async fn add_token(self, token: &AdminToken, sha256_hex: &str) -> Result<(), StoreError> {
        let name = &token.name;
        let values = [
            name.into(),
            sha256_hex.into(),
            token.created_ms.into(),
            token.scope.as_str().into(),
            token.ends_ms.into(),
        ];
        let added = self.db.execute(&ADD_ADMIN_TOKEN, &values).await;
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

    /// Changes scope and expiry of a token.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn change_token(
        self,
        name: &str,
        scope: TokenScope,
        ends_ms: Option<i64>,
    ) -> Result<(), StoreError> {
        let values = [name.into(), scope.as_str().into(), ends_ms.into()];
        let changed = self.db.execute(&CHANGE_ADMIN_TOKEN, &values);
        changed.await.map(drop)
    }

    /// Returns the token with this SHA-256, if there is one that has not ended.
    ///
    /// Its use is noted, to the hour.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn use_token(
        self,
        sha256_hex: &str,
        now_ms: i64,
    ) -> Result<Option<AdminToken>, StoreError> {
        let values = [sha256_hex.into()];
        let token: Option<AdminToken> = self.db.first(&ADMIN_TOKEN, &values).await?;
        let Some(token) = token.filter(|token| !token.has_ended(now_ms)) else {
            return Ok(None);
        };
        let hour_ms = now_ms - now_ms.rem_euclid(HOUR_MS);
        // To the hour, so that a program that asks all the time does not write all the time.
        if token.used_ms.is_none_or(|used_ms| used_ms < hour_ms) {
            let values = [(&token.name).into(), hour_ms.into()];
            let noted = self.db.execute(&USE_ADMIN_TOKEN, &values);
            noted.await?;
        }
        Ok(Some(token))
    }

    /// Returns the tokens by name, those that have ended among them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn tokens(self) -> Result<Vec<AdminToken>, StoreError> {
        self.db.rows(&ADMIN_TOKENS, &[]).await
    }

    /// Removes a token.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of this name.
    pub async fn remove_token(self, name: &str) -> Result<(), StoreError> {
        match self.db.execute(&DELETE_ADMIN_TOKEN, &[name.into()]).await? {
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
        self,
        id: &str,
        data: &str,
        expires_ms: i64,
    ) -> Result<(), StoreError> {
        let id = hashed(id);
        let values = [(&id).into(), data.into(), expires_ms.into()];
        self.db.run(&SAVE_SESSION, &values).await
    }

    /// Returns the data of a session that has not ended; its use is noted, to some minutes.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load_session(self, id: &str, now_ms: i64) -> Result<Option<String>, StoreError> {
        let id = hashed(id);
        let values = [(&id).into(), now_ms.into()];
        let row = self.db.first::<(String, i64)>(&LOAD_SESSION, &values);
        let Some((data, seen_ms)) = row.await? else {
            return Ok(None);
        };
        if now_ms.saturating_sub(seen_ms) >= SEEN_MS {
            self.db.execute(&SEE_SESSION, &values).await?;
        }
        Ok(Some(data))
    }

    /// Returns the sessions that have not ended, the last used first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn sessions(self, now_ms: i64) -> Result<Vec<StoredSession>, StoreError> {
        self.db.rows(&SESSIONS, &[now_ms.into()]).await
    }

    /// Returns the key of a session, by which lists name it; nobody finds the id from it.
    pub fn session_key(id: &str) -> String {
        key(&hashed(id))
    }

    /// Ends the session with this key.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none.
    pub async fn end_session(self, key: &str, now_ms: i64) -> Result<(), StoreError> {
        let values = [key.into(), now_ms.into()];
        match self.db.execute(&END_SESSION, &values).await? {
            0 => Err(StoreError::new(
                StoreErrorKind::NotFound,
                format!("no session has the key {key:?}"),
            )),
            _ => Ok(()),
        }
    }

    /// Ends all sessions, but for the one with this id where there is one; returns how many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn end_other_sessions(self, id: Option<&str>) -> Result<u64, StoreError> {
        let id = id.map(hashed).unwrap_or_default();
        let values = [(&id).into()];
        let ended = self.db.execute(&END_OTHER_SESSIONS, &values);
        ended.await
    }

    /// Ends a session; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn delete_session(self, id: &str) -> Result<(), StoreError> {
        let id = hashed(id);
        self.db.run(&DELETE_SESSION, &[(&id).into()]).await
    }

    /// Removes sessions that ended; returns how many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune_sessions(self, now_ms: i64) -> Result<u64, StoreError> {
        self.db.execute(&PRUNE_SESSIONS, &[now_ms.into()]).await
    }
}

/// Only a hash is stored: a backup of the database must not make its reader the administrator.
fn hashed(id: &str) -> String {
    // Fast and without salt: an id is random, so that trying words finds none.
    hex::encode(Sha256::digest(id.as_bytes()))
}

/// Returns the beginning of a digest.
fn key(digest: &str) -> String {
    digest.chars().take(KEY_DIGITS).collect()
}
