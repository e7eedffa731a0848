//! Administrator credentials: password, API tokens and sessions.

use sha2::{Digest, Sha256};

use super::{StoreError, StoreErrorKind};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The minimum interval between updates of a session's last-used time, to limit writes.
const SEEN_MS: i64 = 5 * 60 * 1_000;

/// The length of a session key: the first hexadecimal digits of the session ID's SHA-256 hash.
const KEY_DIGITS: usize = 16;

robot_detection_layer::words! {
    /// The scope of an API token.
    #[derive(Default)]
    pub enum TokenScope {
        /// Allows read access only.
        Read = "read",
        /// Allows read and write access.
        #[default]
        Write = "write",
    }
}

columns! {
    /// An API token, without its secret.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct AdminToken {
        /// The name of the API token.
        pub name: String,
        /// The scope of the API token.
        pub scope: TokenScope,
        /// The creation time of the token, in milliseconds since the Unix epoch.
        pub created_ms: i64,
        /// The hour in which the token was last used; `None` if the token was never used.
        pub used_ms: Option<i64>,
        /// The expiry time of the token; `None` if the token does not expire.
        pub ends_ms: Option<i64>,
    }
}

columns! {
    /// A session that has not expired.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredSession {
        /// The key that identifies the session when sessions are listed or ended.
        pub key: String,
        /// The data of the session, exactly as saved.
        pub data: String,
        /// The time of the session's last use, accurate to five minutes; 0 if it was never used.
        pub seen_ms: i64,
        /// The expiry time of the session.
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
    INIT_ADMIN_PASSWORD = "set the initial administrator password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
    ADD_ADMIN_TOKEN = "add a token",
        "INSERT INTO admin_tokens (name, sha256, created_ms, scope, ends_ms) \
         VALUES ($1, $2, $3, $4, $5)";
    // Tokens are looked up by hash, so that the lookup time reveals nothing about the token.
    ADMIN_TOKEN = "look up a token",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens WHERE sha256 = $1");
    ADMIN_TOKENS = "list the tokens",
        concat!("SELECT ", token_columns!(), " FROM admin_tokens ORDER BY name");
    USE_ADMIN_TOKEN = "record the use of a token",
        "UPDATE admin_tokens SET used_ms = $2 WHERE name = $1";
    CHANGE_ADMIN_TOKEN = "change a token",
        "UPDATE admin_tokens SET scope = $2, ends_ms = $3 WHERE name = $1";
    DELETE_ADMIN_TOKEN = "remove a token",
        "DELETE FROM admin_tokens WHERE name = $1";
    FORGET_ALL_LOGIN_FAILURES = "delete all failed logins",
        "DELETE FROM login_failures";
    SAVE_SESSION = "save a session",
        "INSERT INTO admin_sessions (id_sha256, data, expires_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (id_sha256) DO UPDATE SET data = excluded.data, \
         expires_ms = excluded.expires_ms";
    LOAD_SESSION = "load a session",
        "SELECT data, seen_ms FROM admin_sessions WHERE id_sha256 = $1 AND expires_ms > $2";
    SEE_SESSION = "record the use of a session",
        "UPDATE admin_sessions SET seen_ms = $2 WHERE id_sha256 = $1";
    SESSIONS = "list the sessions",
        "SELECT SUBSTR(id_sha256, 1, 16) AS key, data, seen_ms, expires_ms FROM admin_sessions WHERE expires_ms > $1 \
         ORDER BY seen_ms DESC, id_sha256";
    // Half a digest identifies a session just as reliably and is shorter to display.
    END_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE SUBSTR(id_sha256, 1, 16) = $1 AND expires_ms > $2";
    END_OTHER_SESSIONS = "end the other sessions",
        "DELETE FROM admin_sessions WHERE id_sha256 <> $1";
    DELETE_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE id_sha256 = $1";
    DELETE_SESSIONS = "end all sessions",
        "DELETE FROM admin_sessions";
    PRUNE_SESSIONS = "remove expired sessions",
        "DELETE FROM admin_sessions WHERE expires_ms <= $1";
}

// An unknown word grants only read access.
column!(TokenScope, String, |word| Ok(
    TokenScope::from_word(&word).unwrap_or(TokenScope::Read)
));

impl AdminToken {
    /// Creates an API token that has full access and does not expire.
    pub fn new(name: &str, created_ms: i64) -> Self {
        Self {
            name: name.to_owned(),
            scope: TokenScope::default(),
            created_ms,
            used_ms: None,
            ends_ms: None,
        }
    }

    /// Sets the scope of the API token.
    #[must_use]
    pub fn scope(mut self, scope: TokenScope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets the expiry time of the token; `None` means that the token does not expire.
    #[must_use]
    pub fn ends_ms(mut self, ends_ms: Option<i64>) -> Self {
        self.ends_ms = ends_ms;
        self
    }

    /// Returns `true` if the API token has expired.
    pub fn has_ended(&self, now_ms: i64) -> bool {
        self.ends_ms.is_some_and(|ends_ms| ends_ms <= now_ms)
    }
}

handle! {
    /// Access to the administrator's password, API tokens and sessions.
    Access, access
}

impl Access<'_> {
    /// Returns the PHC string of the administrator's password, if a password is set.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn password_hash(self) -> Result<Option<String>, StoreError> {
        self.db.value(&ADMIN_PASSWORD, &[]).await
    }

    /// Sets the PHC string of the administrator's password, ends all sessions and clears all failed
    /// logins.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is changed.
    pub async fn set_password_hash(self, hash: &str, now_ms: i64) -> Result<(), StoreError> {
        let (set, forget) = (&SET_ADMIN_PASSWORD, &FORGET_ALL_LOGIN_FAILURES);
        let mut transaction = self.db.begin(set.what).await?;
        let values = [hash.into(), now_ms.into()];
        transaction.execute(set, &values).await?;
        transaction.execute(&DELETE_SESSIONS, &[]).await?;
        transaction.execute(forget, &[]).await?;
        transaction.commit().await
    }

    /// Sets the PHC string of the administrator's password unless a password is already set.
    /// Returns `true` if the password was set.
    ///
    /// If two instances start at the same time, only one of them sets the password.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn init_password_hash(self, hash: &str, now_ms: i64) -> Result<bool, StoreError> {
        let values = [hash.into(), now_ms.into()];
        let set = self.db.execute(&INIT_ADMIN_PASSWORD, &values);
        Ok(set.await? > 0)
    }

    /// Adds an API token; only the hexadecimal SHA-256 hash of its secret is stored.
    ///
    /// # Errors
    ///
    /// Returns `Conflict` if a token with the same name or secret already exists.
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
                    "a token with the name {name:?} already exists; remove it first, or choose \
                     another name"
                ),
            )),
            result => result.map(|_| ()),
        }
    }

    /// Changes the scope and expiry of an API token.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns the unexpired API token whose secret has the given SHA-256 hash, if any.
    ///
    /// Records the use of the token, accurate to the hour.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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
        // Recorded per hour, so that frequent use of a token does not cause frequent writes.
        if token.used_ms.is_none_or(|used_ms| used_ms < hour_ms) {
            let values = [(&token.name).into(), hour_ms.into()];
            let noted = self.db.execute(&USE_ADMIN_TOKEN, &values);
            noted.await?;
        }
        Ok(Some(token))
    }

    /// Returns all API tokens, including expired ones, ordered by name.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn tokens(self) -> Result<Vec<AdminToken>, StoreError> {
        self.db.rows(&ADMIN_TOKENS, &[]).await
    }

    /// Removes an API token.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if no token has the given name.
    pub async fn remove_token(self, name: &str) -> Result<(), StoreError> {
        match self.db.execute(&DELETE_ADMIN_TOKEN, &[name.into()]).await? {
            0 => Err(StoreError::new(
                StoreErrorKind::NotFound,
                format!("there is no token with the name {name:?}"),
            )),
            _ => Ok(()),
        }
    }

    /// Saves a session. Only a hash of the session ID is stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns the data of an unexpired session and records its use, accurate to five minutes.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns all unexpired sessions, most recently used first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn sessions(self, now_ms: i64) -> Result<Vec<StoredSession>, StoreError> {
        self.db.rows(&SESSIONS, &[now_ms.into()]).await
    }

    /// Returns the key of a session. The session ID cannot be derived from the key.
    pub fn session_key(id: &str) -> String {
        key(&hashed(id))
    }

    /// Ends the session with the given key.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if no session has the given key.
    pub async fn end_session(self, key: &str, now_ms: i64) -> Result<(), StoreError> {
        let values = [key.into(), now_ms.into()];
        match self.db.execute(&END_SESSION, &values).await? {
            0 => Err(StoreError::new(
                StoreErrorKind::NotFound,
                format!("there is no session with the key {key:?}"),
            )),
            _ => Ok(()),
        }
    }

    /// Ends all sessions except the one with the given ID, if any. Returns the number of ended
    /// sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn end_other_sessions(self, id: Option<&str>) -> Result<u64, StoreError> {
        let id = id.map(hashed).unwrap_or_default();
        let values = [(&id).into()];
        let ended = self.db.execute(&END_OTHER_SESSIONS, &values);
        ended.await
    }

    /// Ends a session; does nothing if the session does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn delete_session(self, id: &str) -> Result<(), StoreError> {
        let id = hashed(id);
        self.db.run(&DELETE_SESSION, &[(&id).into()]).await
    }

    /// Removes expired sessions. Returns the number of removed sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn prune_sessions(self, now_ms: i64) -> Result<u64, StoreError> {
        self.db.execute(&PRUNE_SESSIONS, &[now_ms.into()]).await
    }
}

/// Hashes a session ID, so that a backup of the database contains no usable session IDs.
fn hashed(id: &str) -> String {
    // A fast, unsalted hash is sufficient, since IDs are random and cannot be guessed.
    hex::encode(Sha256::digest(id.as_bytes()))
}

/// Returns the session key: the first digits of the ID's digest.
fn key(digest: &str) -> String {
    digest.chars().take(KEY_DIGITS).collect()
}
