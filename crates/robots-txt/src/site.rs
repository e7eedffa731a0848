//! Sites: whose robots.txt a URL is under.

/// What a URL says about the site whose robots.txt counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Site {
    /// The site of this host and port, `host:port` in lower case.
    Named(String),
    /// None: only http and https have a robots.txt.
    OtherScheme,
    /// The URL names no host, or a port that is none.
    Unknown,
}

impl Site {
    /// Reads a URL, or a host with or without a port.
    pub(super) fn of(url: &str) -> Self {
        match scheme(url) {
            Some((name, rest)) if name.eq_ignore_ascii_case("http") => authority(rest, "80"),
            Some((name, rest)) if name.eq_ignore_ascii_case("https") => authority(rest, "443"),
            Some(_) => Self::OtherScheme,
            None => named(url.split(['/', '?', '#']).next().unwrap_or(url), "80"),
        }
    }
}

/// Splits a scheme off; digits after the colon are a port.
pub(super) fn scheme(url: &str) -> Option<(&str, &str)> {
    let (name, rest) = url.split_once(':')?;
    let is_scheme = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let port = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_scheme && !is_port).then_some((name, rest))
}

fn authority(rest: &str, default_port: &str) -> Site {
    rest.strip_prefix("//").map_or(Site::Unknown, |rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        named(authority, default_port)
    })
}

fn named(authority: &str, default_port: &str) -> Site {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    // The colons of an IPv6 address stand in brackets.
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (host, ""),
    };
    let port = if port.is_empty() { default_port } else { port };
    match port.parse::<u16>() {
        Ok(port) if !host.is_empty() => Site::Named(format!("{}:{port}", host.to_lowercase())),
        _ => Site::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_name_the_site() {
        for (url, site) in [
            ("http://Shop.Example/a", "shop.example:80"),
            ("https://shop.example", "shop.example:443"),
            ("HTTP://shop.example:8080?q", "shop.example:8080"),
            ("http://shop.example:/", "shop.example:80"),
            ("http://me:pass@shop.example#a@b", "shop.example:80"),
            ("http://[2001:DB8::1]/", "[2001:db8::1]:80"),
            ("http://[::1]:81/", "[::1]:81"),
            ("shop.example:8080", "shop.example:8080"),
            ("shop.example", "shop.example:80"),
        ] {
            assert_eq!(Site::of(url), Site::Named(site.to_owned()), "{url}");
        }
    }

    #[test]
    fn other_schemes_have_no_site() {
        for url in ["mailto:a@shop.example", "ftp://shop.example/", "data:,a"] {
            assert_eq!(Site::of(url), Site::OtherScheme, "{url}");
        }
        for url in [
            "",
            "/a",
            "http:",
            "http:///a",
            "http://a:99999/",
            "http://:80/",
        ] {
            assert_eq!(Site::of(url), Site::Unknown, "{url}");
        }
    }
}
