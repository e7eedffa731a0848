//! Server addresses in the spelling that each proxy requires.

use std::fmt;

/// The address of a server: a host and port, or a Unix socket.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    protocol: Protocol,
    /// Host and port of the server, or the path of its Unix socket.
    at: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Protocol {
    Http,
    Https,
    /// HTTP/2 without TLS.
    H2c,
    /// HTTP over a Unix socket.
    Unix,
}

/// The error for a value that must not appear in a proxy's file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(pub String);

impl Place {
    /// Parses `http(s)://HOST:PORT`, `h2c://HOST:PORT` or `unix:/PATH`.
    ///
    /// # Errors
    ///
    /// Returns an error for any other text, including a URL that has a path.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        if let Some(path) = text.strip_prefix("unix:") {
            // Each proxy resolves relative paths against a different directory.
            if !path.starts_with('/') {
                let text = format!("{text} is not an absolute path, as a proxy's file requires");
                return Err(PlaceError(text));
            }
            return Ok(Self {
                protocol: Protocol::Unix,
                at: plain(path)?.to_owned(),
            });
        }
        let schemes = [
            ("http://", Protocol::Http, 80),
            ("https://", Protocol::Https, 443),
            ("h2c://", Protocol::H2c, 80),
        ];
        let mut found = schemes.iter().filter_map(|(scheme, protocol, port)| {
            Some((text.strip_prefix(scheme)?, *protocol, *port))
        });
        let wrong = || {
            PlaceError(format!(
                "{text:?} is not a server address such as http://127.0.0.1:3000"
            ))
        };
        let (rest, protocol, port) = found.next().ok_or_else(wrong)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains('/') || authority.is_empty() {
            let text = format!(
                "{text} has a path, which proxies' files do not support: omit the path, or put robot-detection in front"
            );
            return Err(PlaceError(text));
        }
        let authority = plain(authority)?;
        let has_port = !authority.ends_with(']') && authority.contains(':');
        Ok(Self {
            protocol,
            at: if has_port {
                authority.to_owned()
            } else {
                format!("{authority}:{port}")
            },
        })
    }

    pub(super) fn is_unix(&self) -> bool {
        self.protocol == Protocol::Unix
    }

    pub(super) fn is_tls(&self) -> bool {
        self.protocol == Protocol::Https
    }

    pub(super) fn is_h2c(&self) -> bool {
        self.protocol == Protocol::H2c
    }

    /// Returns the path of the server's Unix socket.
    pub(crate) fn socket(&self) -> Option<&str> {
        self.is_unix().then_some(self.at.as_str())
    }

    pub(super) fn nginx(&self) -> String {
        if self.is_unix() {
            format!("unix:{}", self.at)
        } else {
            self.at.clone()
        }
    }

    pub(super) fn caddy(&self) -> String {
        match self.protocol {
            Protocol::Unix => format!("unix/{}", self.at),
            Protocol::Http => format!("http://{}", self.at),
            Protocol::Https => format!("https://{}", self.at),
            Protocol::H2c => format!("h2c://{}", self.at),
        }
    }

    pub(super) fn haproxy(&self) -> String {
        match self.protocol {
            Protocol::Unix => format!("unix@{}", self.at),
            Protocol::Http => self.at.clone(),
            Protocol::Https => format!("{} ssl verify required ca-file @system-ca", self.at),
            Protocol::H2c => format!("{} proto h2", self.at),
        }
    }

    /// Returns the server's URL, without a path.
    pub(super) fn url(&self) -> String {
        match self.protocol {
            // The socket's path is configured separately.
            Protocol::Unix => "http://robot-detection".to_owned(),
            _ => self.caddy(),
        }
    }

    /// Returns the server's port, or an empty text if the server listens on a Unix socket.
    pub(super) fn port(&self) -> &str {
        self.at.rsplit_once(':').map_or("", |(_, port)| port)
    }

    pub(super) fn apache(&self) -> String {
        match self.protocol {
            Protocol::Unix => format!("unix:{}|http://localhost", self.at),
            _ => self.caddy(),
        }
    }

    pub(super) fn envoy(&self) -> String {
        if self.is_unix() {
            return format!("{{ pipe: {{ path: {} }} }}", self.at);
        }
        let (host, port) = self.at.rsplit_once(':').unwrap_or((&self.at, "80"));
        let host = host.trim_matches(['[', ']']);
        format!("{{ socket_address: {{ address: \"{host}\", port_value: {port} }} }}")
    }
}

/// Writes the server's address as spelled in the configuration.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::Unix => write!(f, "unix:{}", self.at),
            _ => f.write_str(&self.caddy()),
        }
    }
}

/// Returns the text if it has no special meaning for any proxy.
pub(super) fn plain(text: &str) -> Result<&str, PlaceError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._~+,=@:-[]*".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok(text);
    }
    Err(PlaceError(format!(
        "{text:?} cannot be written in a proxy's file: use letters, digits and / . _ ~ + , = @ : -"
    )))
}
