//! From a proxy's question to the request that its visitor made.

use std::net::IpAddr;

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header, uri::PathAndQuery,
};

use crate::layer::OwnRobot;
use crate::listen::{ClientAddr, RequestContext};

use super::{CLIENT, Dialect, HOST, METHOD, PAGE, PREFIX, SCHEME, TARGET};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const X_FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Why a question describes no request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Misdescribed {
    /// The proxy's file is at fault, or not the one that this program prints.
    #[error("the header {0} {1}; print the proxy's file again: robot-detection proxy-config")]
    Header(HeaderName, &'static str),
    /// The visitor's request has a target that none of this program's listeners would take.
    #[error("the request's target is none of HTTP's")]
    Target,
}

/// Headers that one dialect describes a request by.
struct Names {
    client: HeaderName,
    scheme: HeaderName,
    /// `None`: that of the question itself.
    method: Option<HeaderName>,
    target: Option<HeaderName>,
    host: Option<HeaderName>,
}

/// Makes of a question the request that the visitor made.
///
/// `rest` is what stands behind the endpoint's own path.
///
/// # Errors
///
/// Fails where a header is missing, comes twice, or holds nothing of the kind.
pub(crate) fn describe(
    dialect: Dialect,
    rest: &str,
    question: &mut Request<RequestContext>,
) -> Result<(), Misdescribed> {
    let names = Names::of(dialect);
    let headers = question.headers();
    let client = once(headers, &names.client)?.ok_or(missing(&names.client))?;
    let client = address(client).ok_or(Misdescribed::Header(names.client, "holds no address"))?;
    let https = once(headers, &names.scheme)?
        .map(|scheme| [&b"https"[..], b"wss"].contains(&scheme.as_bytes()));
    let method = match &names.method {
        Some(name) => {
            let method = once(headers, name)?.ok_or(missing(name))?;
            let method = Method::from_bytes(method.as_bytes());
            Some(method.map_err(|_| Misdescribed::Header(name.clone(), "holds no method"))?)
        }
        None => None,
    };
    let uri = match &names.target {
        Some(name) => Uri::try_from(once(headers, name)?.ok_or(missing(name))?.as_bytes()),
        None if rest.starts_with('/') => Uri::try_from(rest),
        None => Uri::try_from(format!("/{rest}")),
    };
    let uri = uri.map_err(|_| Misdescribed::Target)?;
    let host = match &names.host {
        Some(name) => once(headers, name)?.cloned(),
        None => None,
    };
    if let Some(method) = method {
        *question.method_mut() = method;
    }
    *question.uri_mut() = uri;
    let told = ClientAddr::told(client, https);
    question.body_mut().set_client(told);
    let headers = question.headers_mut();
    take_description(headers, dialect);
    if let Some(host) = host.filter(|host| !is_host(headers, host)) {
        headers.insert(header::HOST, host);
    }
    Ok(())
}

/// Returns the page that a proxy was told to serve in place of the one that was asked for.
///
/// # Errors
///
/// Fails where the header is missing, comes twice, or names no page.
pub(crate) fn take_page(headers: &HeaderMap) -> Result<Page, Misdescribed> {
    let page = once(headers, &PAGE)?.ok_or(missing(&PAGE))?;
    Page::of_header(page).ok_or(Misdescribed::Header(PAGE, "names no page"))
}

/// Page that is to be served in place of another.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) path: PathAndQuery,
    /// Whether whoever is to get it is a suspect, who gets a copy of the page that he asked for.
    pub(crate) is_for_suspect: bool,
}

impl Page {
    /// Query of the page that heaven has for a suspect: it has none of its own.
    const OF_SUSPECT: &str = "?suspect";

    /// Returns the header by which a proxy asks for it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mark = if self.is_for_suspect {
            Self::OF_SUSPECT
        } else {
            ""
        };
        HeaderValue::try_from(format!("{}{mark}", self.path)).ok()
    }

    fn of_header(header: &HeaderValue) -> Option<Self> {
        let bytes = header.as_bytes();
        let path = bytes.strip_suffix(Self::OF_SUSPECT.as_bytes());
        Some(Self {
            is_for_suspect: path.is_some(),
            path: PathAndQuery::try_from(path.unwrap_or(bytes)).ok()?,
        })
    }
}

impl Names {
    fn of(dialect: Dialect) -> Self {
        let own = Self {
            client: CLIENT,
            scheme: SCHEME,
            method: Some(METHOD),
            target: Some(TARGET),
            host: Some(HOST),
        };
        match dialect {
            Dialect::Nginx | Dialect::Caddy | Dialect::Haproxy => own,
            Dialect::Traefik => Self {
                client: X_FORWARDED_FOR,
                scheme: X_FORWARDED_PROTO,
                method: Some(X_FORWARDED_METHOD),
                target: Some(X_FORWARDED_URI),
                host: Some(X_FORWARDED_HOST),
            },
            // It asks with the visitor's method and Host, and the visitor's path behind its own.
            Dialect::Envoy => Self {
                method: None,
                target: None,
                host: None,
                ..own
            },
        }
    }
}

/// Returns the value of a header that may not come twice: one of them would be the visitor's.
fn once<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, Misdescribed> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(Misdescribed::Header(name.clone(), "comes twice")),
    }
}

fn missing(name: &HeaderName) -> Misdescribed {
    Misdescribed::Header(name.clone(), "is missing")
}

/// Reads an address, as it is or in brackets; nothing of a list, and no port.
fn address(value: &HeaderValue) -> Option<IpAddr> {
    let text = value.to_str().ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    bare.unwrap_or(text).parse().ok()
}

/// Takes off what describes the request, so that the rest is what the visitor sent.
///
/// By what it signs, and by nothing else, our own site robot is known: that stays.
fn take_description(headers: &mut HeaderMap, dialect: Dialect) {
    let is_ours = |name: &&HeaderName| {
        let name = name.as_str();
        name.starts_with(PREFIX) && name != OwnRobot::HEADER.as_str()
            || dialect == Dialect::Traefik && name.starts_with("x-forwarded-")
    };
    while let Some(name) = headers.keys().find(is_ours).cloned() {
        headers.remove(name);
    }
}

/// Returns `true` if `Host` names the host that the proxy has routed by, whatever its port.
///
/// The port stays then, as signatures cover it (RFC 9421 §2.2.3).
fn is_host(headers: &HeaderMap, routed_by: &HeaderValue) -> bool {
    let (Some(host), Ok(name)) = (headers.get(header::HOST), routed_by.to_str()) else {
        return false;
    };
    let (Ok(host), name) = (host.to_str(), name.trim_end_matches('.')) else {
        return false;
    };
    let rest = match host.split_at_checked(name.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(name) => rest,
        _ => return false,
    };
    let port = rest.strip_prefix('.').unwrap_or(rest);
    port.is_empty() || port.starts_with(':')
}
