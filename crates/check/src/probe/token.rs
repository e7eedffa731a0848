//! Tokens for probes and reloads, which only programs with access to the database can create.

use ring::hmac;

use robot_detection_store::store::{Store, StoreError};

/// Validity period of a probe token in seconds.
const GOOD_FOR_S: i64 = 60;

/// The key with which an installation signs probe tokens.
#[derive(Clone, Debug)]
pub struct ProbeKey(hmac::Key);

/// The content of a valid probe token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) id: String,
    pub(super) expires_s: i64,
    pub(super) purpose: Purpose,
}

impl Token {
    /// Returns the token's creation time in seconds since 1970.
    pub(super) fn created_s(&self) -> i64 {
        self.expires_s - GOOD_FOR_S
    }
}

/// The purpose of a probe token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// A probe from `doctor`.
    Answer,
    /// A probe from `doctor` to which the decision endpoint must not respond.
    Silence,
    /// A reload of the configuration.
    Reload,
    /// A reload of the configuration that is applied even if it would be held for review.
    AcceptedReload,
}

impl Purpose {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Answer, "answer"),
        (Self::Silence, "silence"),
        (Self::Reload, "reload"),
        (Self::AcceptedReload, "accepted-reload"),
    ];

    fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(purpose, _)| *purpose == self);
        found.map_or("", |(_, word)| word)
    }
}

impl ProbeKey {
    /// Derives the key from an installation's seed.
    pub(crate) fn new(seed: [u64; 2]) -> Self {
        let seed = seed.map(u64::to_le_bytes);
        Self(hmac::Key::new(hmac::HMAC_SHA256, seed.as_flattened()))
    }

    /// Returns the key of the installation that uses the database.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails.
    pub async fn from_store(store: &Store) -> Result<Self, StoreError> {
        let random = [fastrand::u64(..), fastrand::u64(..)];
        Ok(Self::new(store.pace().seed(random).await?))
    }

    /// Creates a token; `id` must be unique among all tokens.
    pub fn token(&self, id: &str, purpose: Purpose, now_ms: i64) -> String {
        let (expires_s, purpose) = (now_ms / 1_000 + GOOD_FOR_S, purpose.as_str());
        let signed = format!("{id}.{expires_s}.{purpose}");
        let mac = hmac::sign(&self.0, format!("probe {signed}").as_bytes());
        format!("{signed}.{}", hex::encode(mac))
    }

    /// Parses a token; returns `None` if the token is forged or has expired.
    pub(super) fn read(&self, token: &str, now_ms: i64) -> Option<Token> {
        let (signed, mac) = token.rsplit_once('.')?;
        let mac = hex::decode(mac).ok()?;
        hmac::verify(&self.0, format!("probe {signed}").as_bytes(), &mac).ok()?;
        let mut parts = signed.split('.');
        let (id, expires_s, word) = (parts.next()?, parts.next()?, parts.next()?);
        let (purpose, _) = Purpose::ALL.iter().find(|(_, known)| *known == word)?;
        let expires_s = expires_s.parse().ok()?;
        let is_good = (0..=GOOD_FOR_S).contains(&(expires_s - now_ms / 1_000));
        is_good.then(|| Token {
            id: id.to_owned(),
            expires_s,
            purpose: *purpose,
        })
    }
}
