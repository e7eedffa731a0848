//! Keys with which confirmation forms and cookies are signed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac::{self, HMAC_SHA256},
    rand::{SecureRandom as _, SystemRandom},
};

/// The purpose that is included in each signature, so that the signature is not valid for other
/// purposes.
const PURPOSE: &[u8] = b"robot-detection way out 1";

/// The confirmation keys, each with its day (in days since 1970), ordered from oldest to newest.
#[derive(Debug)]
pub(super) struct Keys {
    /// The key that was used until the keys were loaded; forms signed with this key remain valid.
    provisional: Option<(i64, hmac::Key)>,
    stored: Vec<(i64, hmac::Key)>,
}

impl Keys {
    /// Creates a random confirmation key, to be used until the keys have been loaded from the
    /// database.
    pub(super) fn unknown(day: i64) -> Self {
        let random = hmac::Key::generate(HMAC_SHA256, &SystemRandom::new());
        // If there are no random numbers, there is no key: nothing is signed, and no cookie is
        // valid.
        Self {
            provisional: random.ok().map(|key| (day, key)),
            stored: Vec::new(),
        }
    }

    /// Returns the keys for the secrets stored in the database.
    pub(super) fn with_secrets(&self, secrets: &[(i64, String)]) -> Self {
        let keys = secrets.iter();
        let key = |secret: &String| hmac::Key::new(HMAC_SHA256, secret.as_bytes());
        Self {
            provisional: self.provisional.clone(),
            stored: keys.map(|(day, secret)| (*day, key(secret))).collect(),
        }
    }

    /// Signs the given parts with the newest key. Returns the key's day and the signature in
    /// Base64.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> Option<(i64, String)> {
        let (day, key) = self.stored.last().or(self.provisional.as_ref())?;
        let tag = hmac::sign(key, &joined(parts));
        Some((*day, URL_SAFE_NO_PAD.encode(tag)))
    }

    /// Returns `true` if the signature of the given parts is valid for the key of the given day.
    pub(super) fn verify(&self, day: i64, parts: &[&[u8]], signature: &str) -> bool {
        let Ok(tag) = URL_SAFE_NO_PAD.decode(signature) else {
            return false;
        };
        let keys = self.stored.iter().chain(&self.provisional);
        let mut keys = keys.filter(|(of, _)| *of == day);
        keys.any(|(_, key)| hmac::verify(key, &joined(parts), &tag).is_ok())
    }
}

/// Returns 256 random bits as text, or `None` if the system has no source of randomness.
pub(super) fn new_secret() -> Option<String> {
    let mut secret = [0; 32];
    SystemRandom::new().fill(&mut secret).ok()?;
    Some(URL_SAFE_NO_PAD.encode(secret))
}

/// Joins the signed parts. Length prefixes distinguish `ab`, `c` from `a`, `bc`.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut joined = Vec::new();
    for part in [&[PURPOSE], parts].concat() {
        joined.extend((part.len() as u64).to_be_bytes());
        joined.extend(part);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_is_only_valid_for_its_key() {
        let keys =
            Keys::unknown(0).with_secrets(&[(1, "first".to_owned()), (2, "second".to_owned())]);
        let (day, signature) = keys.sign(&[b"ab", b"c"]).unwrap();
        assert_eq!(day, 2);
        assert!(keys.verify(2, &[b"ab", b"c"], &signature));
        for (day, parts, signature) in [
            (1, [&b"ab"[..], b"c"], &*signature),
            (3, [b"ab", b"c"], &signature),
            (2, [b"a", b"bc"], &signature),
            (2, [b"ab", b"c"], "x"),
            (2, [b"ab", b"c"], ""),
        ] {
            assert!(!keys.verify(day, &parts, signature), "{day} {parts:?}");
        }
        let later =
            Keys::unknown(0).with_secrets(&[(2, "second".to_owned()), (3, "third".to_owned())]);
        assert!(later.verify(2, &[b"ab", b"c"], &signature), "kept");
        assert!(!Keys::unknown(2).verify(2, &[b"ab", b"c"], &signature));
    }

    #[test]
    fn form_from_before_the_keys_were_loaded_remains_valid() {
        let provisional = Keys::unknown(2);
        let (day, signature) = provisional.sign(&[b"a"]).unwrap();
        let loaded = provisional.with_secrets(&[(2, "stored".to_owned())]);
        assert!(loaded.verify(day, &[b"a"], &signature));
        assert_ne!(loaded.sign(&[b"a"]).unwrap().1, signature);
    }
}
