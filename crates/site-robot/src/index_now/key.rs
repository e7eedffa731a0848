//! `IndexNow` key of a site, and the key file that proves ownership of the site.

use axum::http::{HeaderValue, Method, Response, header};
use bytes::Bytes;
use ring::hmac;

/// Number of characters in a generated key.
const MADE_CHARS: usize = 32;

/// `IndexNow` key of a site, which consists of 8 to 128 letters, digits and dashes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IndexNowKey {
    key: String,
    path: String,
}

impl IndexNowKey {
    /// Parses a key.
    ///
    /// # Errors
    ///
    /// If the text is not a valid key, returns a description of valid keys.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_right = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !(8..=128).contains(&text.len()) || !text.chars().all(is_right) {
            let reason = "a key has 8 to 128 letters from a to z, digits and dashes";
            return Err(reason.to_owned());
        }
        Ok(Self::from_text(text.to_owned()))
    }

    /// Derives a key from the seed of an installation and the name of a site.
    pub fn from_seed(seed: [u64; 2], site: &str) -> Self {
        let seed = seed.map(u64::to_le_bytes);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, seed.as_flattened());
        let mut key = hex::encode(hmac::sign(&secret, format!("index-now {site}").as_bytes()));
        key.truncate(MADE_CHARS);
        Self::from_text(key)
    }

    fn from_text(key: String) -> Self {
        Self {
            path: format!("/{key}.txt"),
            key,
        }
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// Returns the path of the key file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns a response that contains the key file if the request is GET or HEAD for the file's
    /// path.
    pub fn answer(&self, method: &Method, path: &str) -> Option<Response<Bytes>> {
        if path != self.path || !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let is_head = *method == Method::HEAD;
        let body = if is_head { "" } else { &self.key };
        let mut response = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        Some(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_the_form_of_the_protocol() {
        for right in ["12345678", "a-B-3-d-5", &"k".repeat(128)] {
            assert_eq!(IndexNowKey::parse(right).unwrap().as_str(), right);
        }
        for wrong in [
            "",
            "1234567",
            &"k".repeat(129),
            "a/b/c/d/e",
            "schlüssel",
            "a b c d e",
        ] {
            assert!(IndexNowKey::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn key_is_unique_per_site_and_installation_and_stable() {
        let key = IndexNowKey::from_seed([1, 2], "shop");
        assert_eq!(key, IndexNowKey::from_seed([1, 2], "shop"));
        assert_eq!(IndexNowKey::parse(key.as_str()).unwrap(), key);
        assert_ne!(key, IndexNowKey::from_seed([2, 1], "shop"));
        assert_ne!(key, IndexNowKey::from_seed([1, 2], "default"));
    }

    #[test]
    fn file_contains_only_the_key() {
        let key = IndexNowKey::parse("12345678").unwrap();
        let file = key.answer(&Method::GET, "/12345678.txt").unwrap();
        assert_eq!(&file.body()[..], b"12345678");
        assert_eq!(file.headers()["content-type"], "text/plain; charset=utf-8");
        let head = key.answer(&Method::HEAD, "/12345678.txt").unwrap();
        assert!(head.body().is_empty());
        assert!(key.answer(&Method::POST, "/12345678.txt").is_none());
        assert!(key.answer(&Method::GET, "/87654321.txt").is_none());
    }
}
