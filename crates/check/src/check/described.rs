//! Reconstruction of the visitor's request from a proxy's query.

use std::net::IpAddr;

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header, uri::PathAndQuery,
};

use crate::probe::PROBE_HEADER;
use robot_detection_http::listen::{
    ClientAddr, RequestContext, TrustedProxies, hides_identity, read_target,
};
use robot_detection_layer::layer::SiteRobotKey;

use super::{
    CLIENT, CONNECTION, Dialect, IDENTIFICATION_HEADER, PAGE, PREFIX, REQUEST, SCHEME,
    VERDICT_HEADER,
};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const X_FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_ORIGINAL_URL: HeaderName = HeaderName::from_static("x-original-url");
const X_ORIGINAL_METHOD: HeaderName = HeaderName::from_static("x-original-method");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// Headers that ingress-nginx sets in its queries, apart from `X-Forwarded-*`.
const INGRESS_NGINX: [&str; 7] = [
    "x-original-url",
    "x-original-uri",
    "x-original-method",
    "x-real-ip",
    "x-request-id",
    "x-sent-from",
    "x-auth-request-redirect",
];

/// Headers with this program's prefix that are not removed from a reconstructed request.
const KEPT: [HeaderName; 5] = [
    PROBE_HEADER,
    REQUEST,
    SiteRobotKey::HEADER,
    IDENTIFICATION_HEADER,
    VERDICT_HEADER,
];

/// The reason why a query does not describe a valid request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidDescription {
    /// A header is invalid: the front proxy's file is outdated or was not printed by this program.
    #[error("the header {0} {1}; print the proxy's file again with robot-detection proxy-config")]
    Header(HeaderName, &'static str),
    /// The visitor's request is invalid; none of this program's listeners would accept it.
    #[error("the visitor's request is not a valid HTTP request")]
    Request,
}

/// A description of a visitor's request, as parsed from a query.
struct RequestDescription {
    client: IpAddr,
    /// Whether the visitor used HTTPS; `None` if not specified.
    is_https: Option<bool>,
    /// Method of the visitor's request; `None` if the query itself uses this method.
    method: Option<Method>,
    uri: Uri,
    /// Host by which the proxy routed the request, if it differs from `Host`.
    host: Option<HeaderValue>,
}

/// Converts a front proxy's query into the visitor's request.
///
/// `rest` is the part of the target after the endpoint's path. Traefik sends the visitor's address
/// in a list; addresses of trusted `proxies` in the list are skipped.
///
/// # Errors
///
/// Returns an error if a header is missing, duplicated or invalid.
pub fn describe(
    dialect: Dialect,
    rest: &str,
    question: &mut Request<RequestContext>,
    proxies: &TrustedProxies,
) -> Result<(), InvalidDescription> {
    let headers = question.headers();
    if hides_identity(headers.get_all(CONNECTION).iter()) {
        return Err(InvalidDescription::Request);
    }
    let described = match dialect {
        Dialect::Nginx | Dialect::Caddy | Dialect::Haproxy | Dialect::Apache => {
            RequestDescription::in_one(headers)?
        }
        Dialect::Traefik => RequestDescription::by_traefik(headers, proxies)?,
        Dialect::Envoy => RequestDescription::by_envoy(headers, rest)?,
        Dialect::IngressNginx => RequestDescription::by_ingress_nginx(headers)?,
    };
    if let Some(method) = described.method {
        *question.method_mut() = method;
    }
    *question.uri_mut() = described.uri;
    let told = ClientAddr::reported(described.client, described.is_https);
    question.body_mut().set_client(told);
    let headers = question.headers_mut();
    strip_description(headers, dialect);
    if let Some(host) = described.host {
        headers.insert(header::HOST, host);
    }
    Ok(())
}

impl RequestDescription {
    fn in_one(headers: &HeaderMap) -> Result<Self, InvalidDescription> {
        let line = once(headers, &REQUEST)?.ok_or(missing(&REQUEST))?;
        let mut parts = line.as_bytes().splitn(5, |byte| *byte == b' ');
        let short = || InvalidDescription::Header(REQUEST, "does not have five parts");
        let mut next = || parts.next().ok_or_else(short);
        let client = address(&REQUEST, next()?)?;
        let is_https = Some(is_https(next()?));
        let method = Some(method(&REQUEST, next()?)?);
        let host = other_host(headers, next()?)?;
        let uri = read_target(next()?).map_err(|_| InvalidDescription::Request)?;
        Ok(Self {
            client,
            is_https,
            method,
            uri,
            host,
        })
    }

    fn by_traefik(
        headers: &HeaderMap,
        proxies: &TrustedProxies,
    ) -> Result<Self, InvalidDescription> {
        let sent = |name: &HeaderName| once(headers, name)?.ok_or(missing(name));
        let host = once(headers, &X_FORWARDED_HOST)?;
        let uri = read_target(sent(&X_FORWARDED_URI)?.as_bytes());
        Ok(Self {
            client: last_address(sent(&X_FORWARDED_FOR)?.as_bytes(), proxies)?,
            is_https: scheme(headers, &X_FORWARDED_PROTO)?,
            method: Some(method(
                &X_FORWARDED_METHOD,
                sent(&X_FORWARDED_METHOD)?.as_bytes(),
            )?),
            uri: uri.map_err(|_| InvalidDescription::Request)?,
            host: other_host(headers, host.map_or(b"", HeaderValue::as_bytes))?,
        })
    }

    /// Parses the absolute URL sent by ingress-nginx, because `Host` is the endpoint's own host.
    fn by_ingress_nginx(headers: &HeaderMap) -> Result<Self, InvalidDescription> {
        let sent = |name: &HeaderName| once(headers, name)?.ok_or(missing(name));
        let url = sent(&X_ORIGINAL_URL)?.as_bytes();
        let no_url = || InvalidDescription::Header(X_ORIGINAL_URL, "contains no URL");
        let mark = memchr::memmem::find(url, b"://").ok_or_else(no_url)?;
        let (scheme, rest) = url.split_at_checked(mark).unwrap_or_default();
        let rest = rest.get("://".len()..).unwrap_or_default();
        let slash = memchr::memchr(b'/', rest).ok_or(InvalidDescription::Request)?;
        let (host, target) = rest.split_at(slash);
        Ok(Self {
            client: address(&X_REAL_IP, sent(&X_REAL_IP)?.as_bytes())?,
            is_https: Some(is_https(scheme)),
            method: Some(method(
                &X_ORIGINAL_METHOD,
                sent(&X_ORIGINAL_METHOD)?.as_bytes(),
            )?),
            uri: read_target(target).map_err(|_| InvalidDescription::Request)?,
            host: Some(HeaderValue::from_bytes(host).map_err(|_| InvalidDescription::Request)?),
        })
    }

    /// Parses a query from Envoy, which uses the visitor's method and `Host` and appends the
    /// visitor's path to the endpoint's path.
    fn by_envoy(headers: &HeaderMap, rest: &str) -> Result<Self, InvalidDescription> {
        let client = once(headers, &CLIENT)?.ok_or(missing(&CLIENT))?;
        if !rest.starts_with('/') {
            return Err(InvalidDescription::Request);
        }
        let uri = Uri::try_from(rest);
        Ok(Self {
            client: address(&CLIENT, client.as_bytes())?,
            is_https: scheme(headers, &SCHEME)?,
            method: None,
            uri: uri.map_err(|_| InvalidDescription::Request)?,
            host: None,
        })
    }
}

/// Returns the page that a proxy must serve directly instead of the requested page.
///
/// # Errors
///
/// Returns an error if the header is missing, duplicated or contains no page.
pub fn page_from_headers(headers: &HeaderMap) -> Result<Page, InvalidDescription> {
    let page = once(headers, &PAGE)?.ok_or(missing(&PAGE))?;
    Page::from_header(page).ok_or(InvalidDescription::Header(PAGE, "contains no page"))
}

/// A page to serve directly instead of the requested page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Path and query of the visitor's request.
    pub path: PathAndQuery,
    /// Whether the visitor is a suspect and is served a copy of the requested page.
    pub is_for_suspect: bool,
}

impl Page {
    /// URL query that marks a page served to a suspect; URLs of heaven pages have no query.
    const OF_SUSPECT: &str = "?suspect";

    /// Returns the header value with which a front proxy requests the page.
    pub fn header(&self) -> Option<HeaderValue> {
        let mark = if self.is_for_suspect {
            Self::OF_SUSPECT
        } else {
            ""
        };
        HeaderValue::try_from(format!("{}{mark}", self.path)).ok()
    }

    fn from_header(header: &HeaderValue) -> Option<Self> {
        let bytes = header.as_bytes();
        let path = bytes.strip_suffix(Self::OF_SUSPECT.as_bytes());
        Some(Self {
            is_for_suspect: path.is_some(),
            path: PathAndQuery::try_from(path.unwrap_or(bytes)).ok()?,
        })
    }
}

/// Returns the value of a header that must not be duplicated, because one of the duplicates would
/// come from the visitor.
fn once<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, InvalidDescription> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(InvalidDescription::Header(name.clone(), "is duplicated")),
    }
}

fn missing(name: &HeaderName) -> InvalidDescription {
    InvalidDescription::Header(name.clone(), "is missing")
}

/// Parses a single IP address, with or without brackets; lists and ports are invalid.
fn address(name: &HeaderName, value: &[u8]) -> Result<IpAddr, InvalidDescription> {
    let text = value.trim_ascii();
    let bare = text
        .strip_prefix(b"[")
        .and_then(|text| text.strip_suffix(b"]"));
    let text = str::from_utf8(bare.unwrap_or(text)).ok();
    let address = text.and_then(|text| text.parse().ok());
    address.ok_or(InvalidDescription::Header(
        name.clone(),
        "contains no address",
    ))
}

/// Returns the last address in Traefik's list that does not belong to a trusted proxy.
///
/// Traefik appends its peer to the addresses sent by a trusted peer. If the search reaches an
/// invalid entry, the address to its right is returned, as on this program's own listeners.
fn last_address(list: &[u8], proxies: &TrustedProxies) -> Result<IpAddr, InvalidDescription> {
    let mut entries = list.rsplit(|byte| *byte == b',');
    let mut client = address(&X_FORWARDED_FOR, entries.next().unwrap_or_default())?;
    while proxies.contains(client)
        && let Some(entry) = entries.next()
        && let Ok(earlier) = address(&X_FORWARDED_FOR, entry)
    {
        client = earlier;
    }
    Ok(client)
}

fn method(name: &HeaderName, value: &[u8]) -> Result<Method, InvalidDescription> {
    let no_method = |_| InvalidDescription::Header(name.clone(), "contains no method");
    Method::from_bytes(value).map_err(no_method)
}

fn scheme(headers: &HeaderMap, name: &HeaderName) -> Result<Option<bool>, InvalidDescription> {
    Ok(once(headers, name)?.map(|scheme| is_https(scheme.as_bytes())))
}

fn is_https(scheme: &[u8]) -> bool {
    [&b"https"[..], b"wss"].contains(&scheme)
}

/// Removes the description from a query, so that only the visitor's own headers remain.
///
/// Headers signed by this program's site robot remain, because they identify the robot. Identity
/// headers also remain, so that a visitor who sends them is refused.
fn strip_description(headers: &mut HeaderMap, dialect: Dialect) {
    if let Some(line) = headers.get_mut(REQUEST) {
        // The header's name remains, so that the map need not be rebuilt for the next query.
        *line = HeaderValue::from_static("");
    }
    let is_ours = |name: &&HeaderName| {
        let text = name.as_str();
        text.starts_with(PREFIX) && !KEPT.contains(name)
            || matches!(dialect, Dialect::Traefik | Dialect::IngressNginx)
                && text.starts_with("x-forwarded-")
            || dialect == Dialect::IngressNginx && INGRESS_NGINX.contains(&text)
    };
    while let Some(name) = headers.keys().find(is_ours).cloned() {
        headers.remove(name);
    }
}

/// Returns the host by which the proxy routed the request if it differs from `Host`, ignoring the
/// port.
///
/// The port in `Host` is kept, because signatures cover it (RFC 9421 §2.2.3). An empty text or `-`
/// means that no host is specified.
fn other_host(
    headers: &HeaderMap,
    routed_by: &[u8],
) -> Result<Option<HeaderValue>, InvalidDescription> {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    if matches!(routed_by, b"" | b"-") || host.is_some_and(|host| is_host(host, routed_by)) {
        return Ok(None);
    }
    let host = HeaderValue::from_bytes(routed_by).map_err(|_| InvalidDescription::Request)?;
    Ok(Some(host))
}

fn is_host(host: &[u8], name: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let rest = match host.split_at_checked(name.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(name) => rest,
        _ => return false,
    };
    let port = rest.strip_prefix(b".").unwrap_or(rest);
    matches!(port.first(), None | Some(b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traefik_list_is_read_from_its_end_past_trusted_proxies() {
        let proxies = TrustedProxies::parse(["127.0.0.1", "198.51.100.0/24"]).unwrap();
        for (list, client) in [
            ("192.0.2.7", Some("192.0.2.7")),
            ("192.0.2.7, 127.0.0.1", Some("192.0.2.7")),
            ("192.0.2.7,198.51.100.1,127.0.0.1", Some("192.0.2.7")),
            // The visitor chooses the first address.
            ("203.0.113.9, 192.0.2.7, 198.51.100.1", Some("192.0.2.7")),
            ("203.0.113.9, 192.0.2.7", Some("192.0.2.7")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("unknown, 198.51.100.1", Some("198.51.100.1")),
            ("192.0.2.7, unknown", None),
            ("192.0.2.7:80", None),
            ("", None),
        ] {
            let found = last_address(list.as_bytes(), &proxies).ok();
            let client = client.map(|client| client.parse().unwrap());
            assert_eq!(found, client, "{list}");
        }
    }
}
