//! The origin of a login attempt: a browser that has logged in before, or a network.
//!
//! Wrong passwords from one address do not delay clients at other addresses, and a browser that has
//! logged in before is not delayed even by wrong passwords from its own address: see
//! <https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies>.

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use ring::hmac;
use tower_sessions::session::Id;

use robot_detection_operations::sessions;

use super::{
    access::{is_equal, location},
    session,
    settings::Access,
    state::AdminState,
};
use robot_detection_layer::policy::sender_address;

/// The name of the cookie set in a browser that has logged in before.
///
/// The cookie does not grant access; it only exempts the browser from the delays for strangers.
const COOKIE: &str = "robot-detection-browser";
/// Lifetime of the cookie in seconds after the browser's last login.
const COOKIE_SECONDS: u32 = 365 * 24 * 60 * 60;
/// Maximum number of cookies with this name that are checked; each check computes an HMAC.
///
/// A browser sends one cookie for each path for which the cookie was set (RFC 6265 §5.4).
const MAX_COOKIES: usize = 4;
/// Prefix length that identifies a single IPv6 client: the remaining bits identify an interface
/// (RFC 4291 §2.5.1), and a host may choose them freely.
const NETWORK_BITS: u32 = 64;
/// Prefix length of a large IPv4 network, such as those allocated to providers.
const LARGE_BITS_V4: u32 = 16;
const LARGE_BITS_V6: u32 = 32;
/// Prefix length of the IPv4 networks shown in the list of sessions.
const SHOWN_BITS_V4: u32 = 24;

/// The address and the cookies of a login attempt; an extractor.
#[derive(Clone, Debug, Default)]
pub(super) struct LoginOrigin {
    address: Option<IpAddr>,
    cookies: Vec<String>,
    user_agent: String,
}

/// A client whose failed logins are counted together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum LoginClient {
    /// A browser that has logged in before, identified by the name in its cookie.
    Browser(String),
    /// A client at this address or, for IPv6, in this network.
    Network(IpAddr),
    /// A client whose address is unknown.
    Unknown,
}

impl LoginOrigin {
    /// Returns the client whose failed logins are counted; the password's hash verifies the
    /// browser's cookie.
    pub(super) fn client(&self, password_hash: &str) -> LoginClient {
        let known = |cookie: &String| name_of(cookie, password_hash).map(str::to_owned);
        // The cookie takes precedence, so that an attacker behind the same NAT cannot delay the
        // browser.
        match (self.cookies.iter().find_map(known), self.address) {
            (Some(name), _) => LoginClient::Browser(name),
            (None, Some(address)) => LoginClient::Network(sender_address(address)),
            (None, None) => LoginClient::Unknown,
        }
    }

    /// Returns the network that contains the address, as shown in the list of sessions.
    pub(super) fn network(&self) -> Option<String> {
        Some(match self.address?.to_canonical() {
            IpAddr::V4(v4) => {
                let mask = u32::MAX << (u32::BITS - SHOWN_BITS_V4);
                let network = Ipv4Addr::from_bits(v4.to_bits() & mask);
                format!("{network}/{SHOWN_BITS_V4}")
            }
            v6 @ IpAddr::V6(_) => format!("{}/{NETWORK_BITS}", sender_address(v6)),
        })
    }

    /// Returns the short name of the browser.
    pub(super) fn browser(&self) -> String {
        sessions::browser_name(&self.user_agent)
    }
}

/// Writes the address, as used in log lines.
impl fmt::Display for LoginOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("an unknown address"),
        }
    }
}

impl FromRequestParts<AdminState> for LoginOrigin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Infallible> {
        Ok(Self {
            address: state.address(&parts.extensions),
            cookies: cookies(&parts.headers),
            user_agent: parts
                .headers
                .get(header::USER_AGENT)
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .unwrap_or_default(),
        })
    }
}

impl LoginClient {
    pub(super) fn is_browser(&self) -> bool {
        matches!(self, Self::Browser(_))
    }

    /// Returns the large network that contains the address, such as the network of a provider.
    pub(super) fn large_network(&self) -> Option<IpAddr> {
        match self {
            Self::Network(IpAddr::V4(v4)) => {
                let mask = u32::MAX << (u32::BITS - LARGE_BITS_V4);
                Some(Ipv4Addr::from_bits(v4.to_bits() & mask).into())
            }
            Self::Network(IpAddr::V6(v6)) => {
                let mask = u128::MAX << (u128::BITS - LARGE_BITS_V6);
                Some(Ipv6Addr::from_bits(v6.to_bits() & mask).into())
            }
            Self::Browser(_) | Self::Unknown => None,
        }
    }

    /// Returns the key under which the client's failed logins are counted.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Browser(name) => format!("browser {name}"),
            Self::Network(address @ IpAddr::V4(_)) => address.to_string(),
            Self::Network(address) => format!("{address}/{NETWORK_BITS}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// The cookie that is set in a browser that has logged in.
///
/// The cookie is signed with the password's hash, so it becomes invalid when the password changes.
pub(super) struct BrowserCookie {
    path: String,
    is_secure: bool,
}

impl FromRequestParts<AdminState> for BrowserCookie {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Infallible> {
        let access = &state.admin().access;
        Ok(Self {
            path: session::cookie_path(&location(&parts.extensions)),
            is_secure: matches!(
                access,
                Access::Login {
                    secure_cookies: true
                }
            ),
        })
    }
}

impl BrowserCookie {
    pub(super) fn add_to(&self, headers: &mut HeaderMap, password_hash: &str) {
        // Each login creates a new name, so that failed logins with a stolen cookie do not affect
        // the browser.
        let name = Id::default().to_string();
        let signature = signature(&name, password_hash);
        let (path, secure) = (&self.path, if self.is_secure { "; Secure" } else { "" });
        let cookie = format!(
            "{COOKIE}={name}.{signature}; HttpOnly; SameSite=Strict; Path={path}; \
             Max-Age={COOKIE_SECONDS}{secure}"
        );
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))
        .take(MAX_COOKIES)
        .map(str::to_owned)
        .collect()
}

/// Returns the name in a cookie if the cookie's signature matches this password hash.
fn name_of<'c>(cookie: &'c str, password_hash: &str) -> Option<&'c str> {
    let (name, signed) = cookie.split_once('.')?;
    let signature = signature(name, password_hash);
    is_equal(signature.as_bytes(), signed.as_bytes()).then_some(name)
}

fn signature(name: &str, password_hash: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, password_hash.as_bytes());
    let mut signing = hmac::Context::with_key(&key);
    // The cookie's name is signed too, so no other use of the key produces the same signature.
    signing.update(COOKIE.as_bytes());
    signing.update(b"=");
    signing.update(name.as_bytes());
    hex::encode(signing.sign().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> String {
        let caller = LoginOrigin {
            address: Some(address.parse().unwrap()),
            ..LoginOrigin::default()
        };
        caller.client("hash").key()
    }

    fn cookie(password_hash: &str) -> String {
        let browser = BrowserCookie {
            path: "/admin".to_owned(),
            is_secure: true,
        };
        let mut headers = HeaderMap::new();
        browser.add_to(&mut headers, password_hash);
        headers[header::SET_COOKIE].to_str().unwrap().to_owned()
    }

    #[test]
    fn client_is_an_address_or_its_network() {
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(key("2001:db8:1:2::9"), "2001:db8:1:2::/64");
        assert_ne!(key("2001:db8:1:3::9"), "2001:db8:1:2::/64");
        assert_eq!(LoginOrigin::default().client("hash").key(), "unknown");
    }

    #[test]
    fn browser_is_recognised_by_a_cookie_signed_with_this_password() {
        let cookie = cookie("hash");
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Secure"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let pair = cookie.split(';').next().unwrap();
        let known = |line: &str, hash: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, line.parse().unwrap());
            let caller = LoginOrigin {
                cookies: cookies(&headers),
                ..LoginOrigin::default()
            };
            matches!(caller.client(hash), LoginClient::Browser(_))
        };
        assert!(known(pair, "hash"));
        assert!(known(&format!("a=b; {COOKIE}=x.y; {pair}"), "hash"));
        assert!(!known(pair, "another hash"));
        assert!(!known(&pair.replace("browser=", "browser=x"), "hash"));
        assert!(!known(&format!("{COOKIE}="), "hash"));
        assert!(!known(&format!("{COOKIE}=."), "hash"));
        assert!(!known("a=b", "hash"));
    }
}
