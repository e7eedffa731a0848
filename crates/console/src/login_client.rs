//! The origin of a login: a browser that has logged in before, or a network.
//!
//! A guesser at one address keeps nobody at another one waiting, and a browser that has
//! logged in before is distinguished from strangers even at the guesser's own address: see
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
use robot_detection_layer::policy::one_sender;

/// Cookie of a browser that has logged in before.
///
/// It opens no page: it only exempts the browser from the delays of strangers.
const COOKIE: &str = "robot-detection-browser";
/// Seconds for which a browser keeps the cookie after its last login.
const COOKIE_SECONDS: u32 = 365 * 24 * 60 * 60;
/// Most cookies of this name that are checked, as each costs an HMAC.
///
/// A browser sends one for each path that it was set for (RFC 6265 §5.4).
const MAX_COOKIES: usize = 4;
/// Bits of an IPv6 address that name one client: the rest of it identifies an interface
/// (RFC 4291 §2.5.1), and a host may choose that freely.
const NETWORK_BITS: u32 = 64;
/// Bits of an address that name a network as a provider gets it.
const LARGE_BITS_V4: u32 = 16;
const LARGE_BITS_V6: u32 = 32;
/// Bits of an IPv4 address that lists of sessions show.
const SHOWN_BITS_V4: u32 = 24;

/// Origin of a login by the address and cookies of its request; an extractor.
#[derive(Clone, Debug, Default)]
pub(super) struct LoginOrigin {
    address: Option<IpAddr>,
    cookies: Vec<String>,
    user_agent: String,
}

/// Client whose failed logins are counted together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum LoginClient {
    /// Browser that has logged in before, by the name in its cookie.
    Browser(String),
    /// Address, without what a client may choose of it.
    Network(IpAddr),
    /// No address is known.
    Unknown,
}

impl LoginOrigin {
    /// Returns the client whose failures count; cookies are checked with the password's hash.
    pub(super) fn client(&self, password_hash: &str) -> LoginClient {
        let known = |cookie: &String| name_of(cookie, password_hash).map(str::to_owned);
        // The cookie counts before the address, else a guesser behind the same NAT would keep it waiting.
        match (self.cookies.iter().find_map(known), self.address) {
            (Some(name), _) => LoginClient::Browser(name),
            (None, Some(address)) => LoginClient::Network(one_sender(address)),
            (None, None) => LoginClient::Unknown,
        }
    }

    /// Returns the network of the address, as lists of sessions show it.
    pub(super) fn network(&self) -> Option<String> {
        Some(match self.address?.to_canonical() {
            IpAddr::V4(v4) => {
                let mask = u32::MAX << (u32::BITS - SHOWN_BITS_V4);
                let network = Ipv4Addr::from_bits(v4.to_bits() & mask);
                format!("{network}/{SHOWN_BITS_V4}")
            }
            v6 @ IpAddr::V6(_) => format!("{}/{NETWORK_BITS}", one_sender(v6)),
        })
    }

    /// Returns the name of the browser, in short.
    pub(super) fn browser(&self) -> String {
        sessions::browser_name(&self.user_agent)
    }
}

/// Writes the address as log lines have it.
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

    /// Returns the large network of its address, such as that of a provider.
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

    /// Returns the key under which its failures are counted.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Browser(name) => format!("browser {name}"),
            Self::Network(address @ IpAddr::V4(_)) => address.to_string(),
            Self::Network(address) => format!("{address}/{NETWORK_BITS}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// Writer of the cookie of browsers that have logged in.
///
/// The password's hash signs it, so that it is worthless once the password has changed.
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
        // A new name with each login, so that failures under a cookie that was stolen do not follow
        // it.
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

/// Returns the name in a cookie that was signed under this password.
fn name_of<'c>(cookie: &'c str, password_hash: &str) -> Option<&'c str> {
    let (name, signed) = cookie.split_once('.')?;
    let signature = signature(name, password_hash);
    is_equal(signature.as_bytes(), signed.as_bytes()).then_some(name)
}

fn signature(name: &str, password_hash: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, password_hash.as_bytes());
    let mut signing = hmac::Context::with_key(&key);
    // The cookie's name is signed too: no other use of the key gives the same signature.
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
    fn a_client_is_an_address_or_the_network_of_one() {
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(key("2001:db8:1:2::9"), "2001:db8:1:2::/64");
        assert_ne!(key("2001:db8:1:3::9"), "2001:db8:1:2::/64");
        assert_eq!(LoginOrigin::default().client("hash").key(), "unknown");
    }

    #[test]
    fn a_browser_is_known_by_what_we_signed_under_this_password() {
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
