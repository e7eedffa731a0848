use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

/// An address on which a listener accepts connections.
///
/// The text format is `127.0.0.1:8080`, `[::]:443` or `unix:/run/site.sock`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListenAddr {
    /// An IP address and port; if the port is 0, the system chooses a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// An error for text that is not a listen address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?} is not an address such as 127.0.0.1:8080, [::]:8080 or unix:/run/site.sock")]
pub struct ListenAddrError {
    text: String,
}

impl From<SocketAddr> for ListenAddr {
    fn from(addr: SocketAddr) -> Self {
        Self::Tcp(addr)
    }
}

impl FromStr for ListenAddr {
    type Err = ListenAddrError;

    fn from_str(text: &str) -> Result<Self, ListenAddrError> {
        let text = text.trim();
        let wrong = || ListenAddrError {
            text: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            // In other programs, `@name` means an abstract socket; here, it would be a file with
            // that name.
            let is_path = !path.is_empty() && !path.starts_with('@') && !path.contains('\0');
            return is_path.then(|| Self::Unix(path.into())).ok_or_else(wrong);
        }
        text.parse().map(Self::Tcp).map_err(|_| wrong())
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_parsing_and_writing() {
        for text in [
            "127.0.0.1:8080",
            "[::]:443",
            "unix:/run/site.sock",
            "unix:site.sock",
        ] {
            let addr: ListenAddr = text.parse().unwrap();
            assert_eq!(addr.to_string(), text);
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for text in [
            "",
            "8080",
            ":8080",
            "127.0.0.1",
            "localhost:80",
            "unix:",
            "unix:@name",
            "systemd",
            "[::1]",
            "127.0.0.1:65536",
        ] {
            let error = text.parse::<ListenAddr>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{text:?} is not an address")),
                "{error}"
            );
        }
    }
}
