//! Checks of field values.

use crate::{
    CrawlDelay, Dialect, EmptyPath, Escapes, LineReading, Naming, PolicyToken, RequestRate,
    policy::is_policy, request_rate as pace,
};

use super::{
    WarningKind,
    host::is_absolute_url,
    warnings::{Warnings, quote},
};

pub(super) fn path(
    path: &[u8],
    is_allow: bool,
    line: usize,
    dialect: &Dialect,
    warnings: &mut Warnings,
) {
    if path.is_empty() {
        return empty(is_allow, line, dialect, warnings);
    }
    if is_absolute_url(path) {
        // `WWW::RobotRules` resolves absolute URLs in rules.
        if dialect.escapes != Escapes::Resolved {
            warnings.add(line, WarningKind::FullUrl, || {
                "a rule must be a path, so a full URL matches nothing; write only the part after the host, starting with the slash".to_owned()
            });
        }
        return;
    }
    start(path, line, dialect, warnings);
    if path.iter().any(u8::is_ascii_whitespace) {
        warnings.add(line, WarningKind::BadPath, || {
            "robots treat a space as part of the path; write each path on a separate line, and write a space as %20".to_owned()
        });
    }
    if has_bad_escape(path) {
        warnings.add(line, WarningKind::BadEscape, || {
            format!("a % in {} is not followed by two hexadecimal digits, and robots disagree about its meaning; write %25", quote(path))
        });
    }
    if !dialect.wildcards && (path.contains(&b'*') || path.ends_with(b"$")) {
        warnings.add(line, WarningKind::Wildcard, || {
            format!("this dialect does not support the wildcards * and $, so {} rarely matches; write only the beginning of the path", quote(path))
        });
    }
}

fn empty(is_allow: bool, line: usize, dialect: &Dialect, warnings: &mut Warnings) {
    let (kind, text) = match (is_allow, dialect.empty_path) {
        (false, EmptyPath::MatchesAll) => (
            WarningKind::EmptyDisallow,
            "in this dialect an empty Disallow disallows everything, but in all others it disallows nothing; write Disallow: / to disallow everything",
        ),
        // If an empty `Disallow` is the only rule, it allows everything, which is fine; see
        // `useless_disallow`.
        (false, _) => return,
        (true, EmptyPath::Inverted) => (
            WarningKind::EmptyAllow,
            "in this dialect an empty Allow allows nothing, but other dialects ignore it; write Allow: / to allow everything",
        ),
        (true, _) => (
            WarningKind::EmptyAllow,
            "most robots ignore an empty Allow; write Allow: / to allow everything",
        ),
    };
    warnings.add(line, kind, || text.to_owned());
}

/// Adds a warning for an empty `Disallow`, which has no effect next to other rules.
pub(super) fn useless_disallow(line: usize, warnings: &mut Warnings) {
    warnings.add(line, WarningKind::EmptyDisallow, || {
        "an empty Disallow has no effect next to other rules; remove it, or write Disallow: / to disallow everything".to_owned()
    });
}

fn start(path: &[u8], line: usize, dialect: &Dialect, warnings: &mut Warnings) {
    if path.starts_with(b"/") {
        return;
    }
    let text = match path {
        b"*" if dialect.wildcards => {
            "* is not a path, and robots that do not support wildcards compare it literally; write /".to_owned()
        }
        b"*" => {
            "this dialect compares * literally, so the rule matches nothing; write /".to_owned()
        }
        [b'*', ..] if dialect.wildcards => format!(
            "a path must start with a slash, so robots that do not support wildcards never match {}; add a leading slash",
            quote(path)
        ),
        _ => format!(
            "a path must start with a slash, so most robots never match {}; add a leading slash",
            quote(path)
        ),
    };
    warnings.add(line, WarningKind::BadPath, || text);
}

fn has_bad_escape(path: &[u8]) -> bool {
    path.iter().enumerate().any(|(at, octet)| {
        let digits = path.get(at + 1..at + 3).unwrap_or_default();
        *octet == b'%' && !(digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit))
    })
}

pub(super) fn agent(value: &[u8], line: usize, dialect: &Dialect, warnings: &mut Warnings) {
    if value.is_empty() {
        warnings.add(line, WarningKind::EmptyAgent, || {
            let effect = match dialect.names {
                Naming::Substring | Naming::SubstringOfWord => {
                    "an empty name is part of every name, so the group applies to all robots"
                }
                _ => "the group applies to no robot",
            };
            format!("{effect}; write a name, or * for all other robots")
        });
        return;
    }
    let is_known = |known: &PolicyToken| value.eq_ignore_ascii_case(known.token.as_bytes());
    if is_policy(value) && !PolicyToken::ALL.iter().any(is_known) {
        warnings.add(line, WarningKind::PolicyToken, || {
            let known = PolicyToken::ALL.map(|known| known.token).join(", ");
            format!(
                "no draft defines the use {}, so the group has no effect; known: {known}",
                quote(value)
            )
        });
    }
    let token = token(value, dialect);
    if value == b"*" || token == value {
        return;
    }
    let next = if value.contains(&b'*') {
        "names cannot contain wildcards; write a complete name, or only *".to_owned()
    } else if value.contains(&b'(') {
        "write the robot's product token".to_owned()
    } else if value.get(token.len()) == Some(&b'/') && !token.is_empty() {
        format!(
            "omit the version: write User-agent: {}",
            String::from_utf8_lossy(token)
        )
    } else if value
        .iter()
        .any(|octet| octet.is_ascii_whitespace() || *octet == b',')
    {
        "names contain no spaces; write several names on separate lines".to_owned()
    } else {
        "write the robot's product token".to_owned()
    };
    let effect = match dialect.names {
        Naming::TokenPrefix => format!("this dialect reads only {}", quote(token)),
        _ => "robots look for their own name, which consists of letters, - and _, and may not find it".to_owned(),
    };
    warnings.add(line, WarningKind::BadAgent, || {
        format!("{} is not a product token: {effect}; {next}", quote(value))
    });
}

/// Returns the part of a value that may be a name; digits are accepted although RFC 9309 does not
/// permit them.
fn token<'v>(value: &'v [u8], dialect: &Dialect) -> &'v [u8] {
    let has_digits = dialect.names != Naming::TokenPrefix;
    let is_token = |octet: &&u8| {
        octet.is_ascii_alphabetic()
            || matches!(octet, b'-' | b'_')
            || (has_digits && octet.is_ascii_digit())
    };
    let length = value.iter().take_while(is_token).count();
    value.get(..length).unwrap_or_default()
}

pub(super) fn crawl_delay(value: &[u8], line: usize, dialect: &Dialect, warnings: &mut Warnings) {
    let text = match dialect.crawl_delay {
        _ if dialect.lines == LineReading::Google => {
            "Google's robots ignore Crawl-delay; they slow down after 429 and 503 responses"
                .to_owned()
        }
        CrawlDelay::Unknown => "robots that use this dialect ignore Crawl-delay".to_owned(),
        CrawlDelay::LastInFile if pace::whole_crawl_delay(value).is_none() => format!(
            "{} is not a whole number and is ignored in this dialect; write seconds, such as 10",
            quote(value)
        ),
        _ if pace::crawl_delay(value).is_some() => return,
        _ => format!(
            "{} is not a number of seconds and is ignored; write a number such as 10 or 0.5",
            quote(value)
        ),
    };
    warnings.add(line, WarningKind::CrawlDelay, || text);
}

pub(super) fn request_rate(value: &[u8], line: usize, warnings: &mut Warnings) {
    if RequestRate::parse(value).is_none() {
        warnings.add(line, WarningKind::RequestRate, || {
            format!(
                "{} is not a rate and is ignored; write a number of documents per number of seconds, such as 1/5",
                quote(value)
            )
        });
    }
}

pub(super) fn sitemap(value: &[u8], line: usize, warnings: &mut Warnings) {
    if !is_absolute_url(value) {
        warnings.add(line, WarningKind::Sitemap, || {
            format!(
                "{} is not an absolute URL and is ignored; include https:// and the host",
                quote(value)
            )
        });
    }
}

pub(super) fn clean_param(value: &[u8], line: usize, warnings: &mut Warnings) {
    let mut words = value
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let has_names = words.next().is_some_and(|names| !names.starts_with(b"/"));
    let is_path = words
        .next()
        .is_none_or(|path| path.starts_with(b"/") || path.starts_with(b"*"));
    if !(has_names && is_path && words.next().is_none()) {
        warnings.add(line, WarningKind::CleanParam, || {
            format!(
                "{} is ignored; write parameters and a path, such as session&ref /shop/",
                quote(value)
            )
        });
    }
}
