//! Tokens that only holders of the database can make.

use ring::hmac;

/// Seconds for which a token is good.
const GOOD_FOR_S: i64 = 60;

/// Key of an installation's tokens.
#[derive(Clone, Debug)]
pub(crate) struct ProbeKey(hmac::Key);

/// Content of a valid token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) id: String,
    pub(super) expires_s: i64,
    /// Whether the endpoint is not to answer.
    pub(super) is_silent: bool,
}

impl ProbeKey {
    /// Makes the key of the seed of an installation.
    pub(crate) fn new(seed: [u64; 2]) -> Self {
        let seed = seed.map(u64::to_le_bytes);
        Self(hmac::Key::new(hmac::HMAC_SHA256, seed.as_flattened()))
    }

    /// Makes a token; `id` is used once.
    pub(crate) fn token(&self, id: &str, is_silent: bool, now_ms: i64) -> String {
        let answer = if is_silent { "silence" } else { "answer" };
        let signed = format!("{id}.{}.{answer}", now_ms / 1_000 + GOOD_FOR_S);
        let mac = hmac::sign(&self.0, format!("probe {signed}").as_bytes());
        format!("{signed}.{}", hex::encode(mac))
    }

    /// Reads a token; `None`: it is forged, or not good any more.
    pub(super) fn read(&self, token: &str, now_ms: i64) -> Option<Token> {
        let (signed, mac) = token.rsplit_once('.')?;
        let mac = hex::decode(mac).ok()?;
        hmac::verify(&self.0, format!("probe {signed}").as_bytes(), &mac).ok()?;
        let mut parts = signed.split('.');
        let (id, expires_s, answer) = (parts.next()?, parts.next()?, parts.next()?);
        let expires_s = expires_s.parse().ok()?;
        let is_good = (0..=GOOD_FOR_S).contains(&(expires_s - now_ms / 1_000));
        is_good.then(|| Token {
            id: id.to_owned(),
            expires_s,
            is_silent: answer == "silence",
        })
    }
}
