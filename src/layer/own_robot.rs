//! The site robot of the program itself, which passes where others are sent away.

use std::{
    fmt,
    hint::black_box,
    sync::{Arc, OnceLock},
};

use http::{HeaderMap, HeaderName, Request};

/// Proof that a request comes from the site robot of the same program.
///
/// It holds a token that outsiders cannot guess. A request has it as an extension,
/// if it comes from the same process, or as the header [`OwnRobot::HEADER`].
#[derive(Clone)]
pub struct OwnRobot {
    token: Arc<str>,
}

/// What a layer knows of the program's site robot: nothing before there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownOwnRobot(Arc<OnceLock<OwnRobot>>);

impl OwnRobot {
    /// Header of the token; the layer takes it off before anybody behind it sees it.
    pub const HEADER: HeaderName = HeaderName::from_static("x-robot-detection-own");

    /// Creates a proof; the token is to be random, and a secret.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection::layer::OwnRobot;
    ///
    /// let own = OwnRobot::new("sixteen-random-b");
    /// assert_eq!(own.token(), "sixteen-random-b");
    /// assert!(!format!("{own:?}").contains("sixteen"));
    /// ```
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self {
            token: token.into(),
        }
    }

    /// Returns the token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Tells whether a request has the same token.
    fn sent<B>(&self, request: &Request<B>) -> bool {
        let extension = request.extensions().get::<Self>();
        let header = request.headers().get(Self::HEADER);
        let told = match (extension, header) {
            (Some(own), _) => own.token.as_bytes(),
            (None, Some(value)) => value.as_bytes(),
            (None, None) => return false,
        };
        is_same(told, self.token.as_bytes())
    }
}

impl KnownOwnRobot {
    /// Makes the robot known, to all clones; only the first counts.
    pub(super) fn know(&self, own: OwnRobot) {
        let _ = self.0.set(own);
    }

    /// Tells whether a request comes from our own robot.
    pub(super) fn sent<B>(&self, request: &Request<B>) -> bool {
        self.0.get().is_some_and(|own| own.sent(request))
    }

    /// Takes the token off, where there may be one.
    pub(super) fn take_off(&self, headers: &mut HeaderMap) {
        if self.0.get().is_some() {
            headers.remove(OwnRobot::HEADER);
        }
    }
}

impl fmt::Debug for OwnRobot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRobot(..)")
    }
}

/// Compares in a time that does not tell where two texts differ.
fn is_same(told: &[u8], token: &[u8]) -> bool {
    let difference = told
        .iter()
        .zip(token)
        .fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    told.len() == token.len() && !token.is_empty() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(token: &str) -> Request<()> {
        let request = Request::get("/a").header(OwnRobot::HEADER, token);
        request.body(()).unwrap()
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let known = KnownOwnRobot::default();
        assert!(!known.sent(&request("abcd")));
        known.know(OwnRobot::new("abcd"));
        assert!(known.sent(&request("abcd")));
        for wrong in ["", "abc", "abcde", "abcD", "Abcd"] {
            assert!(!known.sent(&request(wrong)), "{wrong}");
        }
        assert!(!known.sent(&Request::new(())));
    }

    #[test]
    fn an_extension_is_a_proof_too() {
        let known = KnownOwnRobot::default();
        known.know(OwnRobot::new("abcd"));
        let mut asked = Request::new(());
        asked.extensions_mut().insert(OwnRobot::new("abcd"));
        assert!(known.sent(&asked));
        asked.extensions_mut().insert(OwnRobot::new("efgh"));
        assert!(!known.sent(&asked));
    }

    #[test]
    fn an_empty_token_is_none() {
        let known = KnownOwnRobot::default();
        known.know(OwnRobot::new(""));
        assert!(!known.sent(&request("")));
    }

    #[test]
    fn the_token_is_taken_off() {
        let known = KnownOwnRobot::default();
        known.know(OwnRobot::new("abcd"));
        let mut asked = request("abcd");
        known.take_off(asked.headers_mut());
        assert!(asked.headers().is_empty());
    }
}
