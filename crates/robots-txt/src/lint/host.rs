//! Checks of `Host` lines and URLs.

use crate::{Dialect, HostUse, host as engine};

use super::{
    WarningKind,
    warnings::{Warnings, quote},
};

/// Returns `true` if a value is an http or https URL with a host.
pub(super) fn is_absolute_url(value: &[u8]) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = value.split_at_checked(scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme.as_bytes())
            .then_some(rest)
    });
    rest.is_some_and(|rest| {
        rest.first()
            .is_some_and(|octet| !matches!(octet, b'/' | b'?' | b'#' | b':'))
            && !rest.iter().any(u8::is_ascii_whitespace)
    })
}

/// Adds a warning if a `Host` line is ignored; `is_first` is `true` for the first `Host` line.
pub(super) fn host(
    value: &[u8],
    is_first: bool,
    line: usize,
    dialect: &Dialect,
    warnings: &mut Warnings,
) {
    let takes_url = dialect.host != HostUse::CloseMirrors;
    if !is_host(value, takes_url) {
        let example = if takes_url {
            "www.shop.example or https://www.shop.example"
        } else {
            "www.shop.example:8080"
        };
        warnings.add(line, WarningKind::Host, || {
            format!(
                "{} is not a host and is ignored; write a host such as {example}",
                quote(value)
            )
        });
    } else if !is_first && takes_url {
        let counts = if dialect.host == HostUse::RewriteByLast {
            "last"
        } else {
            "first"
        };
        warnings.add(line, WarningKind::Host, || {
            format!("of several Host lines, only the {counts} applies; remove the others")
        });
    }
}

fn is_host(value: &[u8], takes_url: bool) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = value.split_at_checked(scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme.as_bytes())
            .then_some(rest)
    });
    match rest {
        Some(rest) => takes_url && engine::is_host(rest.strip_suffix(b"/").unwrap_or(rest)),
        None => engine::is_host(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_name_with_an_optional_port() {
        for (value, alone, in_url) in [
            ("www.myhost.ru", true, true),
            ("myhost.ru:8081", true, true),
            ("localhost", true, true),
            ("https://myhost:8443", false, true),
            ("http://myhost/", false, true),
            ("ftp://myhost", false, false),
            ("http://myhost/path", false, false),
            ("myhost/path", false, false),
            ("my host", false, false),
            ("myhost:99999", false, false),
            ("my..host", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_host(value.as_bytes(), false), alone, "{value}");
            assert_eq!(is_host(value.as_bytes(), true), in_url, "{value}");
        }
    }
}
