//! A password that is not printed.

use std::fmt;

/// Password, which debug output and tables do not show.
#[derive(Clone, Eq, PartialEq)]
pub struct Password(String);

impl Password {
    pub(super) fn new(password: &str) -> Self {
        Self(password.to_owned())
    }

    /// Returns the password.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
