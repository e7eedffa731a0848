//! The secret that a proxy sends which does not come by a Unix socket.

use std::fmt;

use axum::http::{HeaderMap, HeaderName};
use ring::{hmac, rand::SystemRandom};

/// Header of the secret; `Authorization` is the visitor's.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-robot-detection-token");

/// Secret of the decision endpoint, compared in constant time.
#[derive(Clone)]
pub(crate) struct CheckToken {
    /// Of this process alone, so that the time of a comparison tells nothing of the secret.
    key: hmac::Key,
    tag: hmac::Tag,
}

impl CheckToken {
    /// Creates it from the secret.
    ///
    /// # Errors
    ///
    /// Fails where the system has no random numbers.
    pub(crate) fn new(secret: &[u8]) -> std::io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
        let tag = hmac::sign(&key, secret);
        Ok(Self { key, tag })
    }

    /// Returns `true` if a request brings the secret, once.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(TOKEN).iter();
        let (Some(secret), None) = (given.next(), given.next()) else {
            return false;
        };
        hmac::verify(&self.key, secret.as_bytes(), self.tag.as_ref()).is_ok()
    }
}

impl fmt::Debug for CheckToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_secret_itself_and_once_opens() {
        let token = CheckToken::new(b"secret").unwrap();
        let is_in = |given: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for secret in given {
                headers.append(TOKEN, HeaderValue::from_static(secret));
            }
            token.is_in(&headers)
        };
        assert!(is_in(&["secret"]));
        for given in [
            &[][..],
            &[""],
            &["Secret"],
            &["secre"],
            &["secrets"],
            &["secret", "secret"],
            &["x", "secret"],
        ] {
            assert!(!is_in(given), "{given:?}");
        }
        assert_eq!(format!("{token:?}"), "***");
    }
}
