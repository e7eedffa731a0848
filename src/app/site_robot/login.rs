//! How the site robot logs in, as the configuration spells it.

use crate::site_robot::source::Credentials;

/// Reads `bearer TOKEN`, `cookie NAME=VALUE` or `basic NAME:PASSWORD`.
///
/// # Errors
///
/// Fails with what would be right, never with the secret.
pub(super) fn login(text: &str) -> Result<Option<Credentials>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (kind, secret) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let secret = secret.trim();
    let credentials = match kind.to_ascii_lowercase().as_str() {
        "bearer" if !secret.is_empty() => Some(Credentials::Bearer(secret.to_owned())),
        "cookie" if secret.contains('=') => Some(Credentials::Cookie(secret.to_owned())),
        "basic" => secret
            .split_once(':')
            .map(|(username, password)| Credentials::Basic {
                username: username.to_owned(),
                password: password.to_owned(),
            }),
        _ => None,
    };
    credentials.map(Some).ok_or_else(|| {
        "it is neither bearer TOKEN, nor cookie NAME=VALUE, nor basic NAME:PASSWORD".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_kinds_of_login_are_known() {
        let kind = |text: &str| login(text).map(|found| found.map(|found| format!("{found:?}")));
        assert_eq!(kind(" ").unwrap(), None);
        assert_eq!(kind("bearer t0ken").unwrap().unwrap(), "Bearer(..)");
        assert_eq!(kind("Cookie a=b; c=d").unwrap().unwrap(), "Cookie(..)");
        assert_eq!(kind("basic me:a:b").unwrap().unwrap(), "Basic { .. }");
    }

    #[test]
    fn a_wrong_login_is_refused_without_being_told() {
        for text in ["bearer", "cookie geheim", "basic geheim", "geheim"] {
            let error = login(text).unwrap_err();
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
