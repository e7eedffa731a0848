//! Values of the components that a signature covers (RFC 9421 §2.1 and §2.2).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName};
use sfv::{BareItem, Dictionary, FieldType as _, Item, List, Parser};
use url::form_urlencoded;

use super::{
    SignedRequest,
    base::{self, MAX_FIELD_BYTES},
    refusal::{Refusal, shown},
};

/// Header fields that are dictionaries, for the parameter `;sf`.
const DICTIONARIES: &[&str] = &[
    "accept-signature",
    "content-digest",
    "priority",
    "repr-digest",
    "signature",
    "signature-input",
    "want-content-digest",
    "want-repr-digest",
];

/// Header fields that are lists, for the parameter `;sf`.
const LISTS: &[&str] = &["sec-ch-ua", "sec-ch-ua-full-version-list"];

/// The form of a component, as specified by its parameter.
enum ComponentForm<'i> {
    Plain,
    Strict,
    Bytes,
    Member(&'i str),
    Named(&'i str),
}

/// Returns the value of a component for the signature base.
///
/// `scheme` is the actual or assumed scheme of the request. A component has at most one parameter:
/// `sf`, `bs` or `key` for a field, `name` for `@query-param`. Parameters for trailers or related
/// messages (`tr`, `req`) are rejected.
pub(super) fn value(
    request: &SignedRequest<'_>,
    scheme: &str,
    item: &Item,
) -> Result<Vec<u8>, Refusal> {
    let unknown = || ComponentError::Unknown.into_refusal(item);
    let name = item.bare_item.as_string().ok_or_else(unknown)?.as_str();
    if !name.starts_with('@') {
        return field_value(request.headers, item);
    }
    let way = way(item).ok_or_else(unknown)?;
    let text = match (name, way) {
        ("@method", ComponentForm::Plain) => request.method.as_str().to_owned(),
        ("@scheme", ComponentForm::Plain) => scheme.to_ascii_lowercase(),
        ("@authority", ComponentForm::Plain) => request.normal_authority(scheme),
        ("@target-uri", ComponentForm::Plain) => target_uri(request, scheme),
        ("@request-target", ComponentForm::Plain) => request.target.to_owned(),
        ("@path", ComponentForm::Plain) => request.path().to_owned(),
        ("@query", ComponentForm::Plain) => format!("?{}", request.query().unwrap_or_default()),
        ("@query-param", ComponentForm::Named(name)) => {
            query_param(request, name).ok_or_else(|| ComponentError::Missing.into_refusal(item))?
        }
        _ => return Err(unknown()),
    };
    Ok(text.into_bytes())
}

/// Returns the value of a header field of a request or response.
pub(super) fn field_value(headers: &HeaderMap, item: &Item) -> Result<Vec<u8>, Refusal> {
    let value = || {
        let name = item.bare_item.as_string().ok_or(ComponentError::Unknown)?;
        let way = way(item).ok_or(ComponentError::Unknown)?;
        field(headers, name.as_str(), &way)
    };
    value().map_err(|wrong| wrong.into_refusal(item))
}

#[derive(Clone, Copy)]
enum ComponentError {
    Unknown,
    Missing,
}

impl ComponentError {
    fn into_refusal(self, item: &Item) -> Refusal {
        let name = shown(&base::spell_item(item));
        match self {
            Self::Unknown => Refusal::UnknownComponent(name),
            Self::Missing => Refusal::MissingComponent(name),
        }
    }
}

fn way(item: &Item) -> Option<ComponentForm<'_>> {
    let mut params = item.params.iter();
    let Some((key, value)) = params.next() else {
        return Some(ComponentForm::Plain);
    };
    if params.next().is_some() {
        return None;
    }
    match (key.as_str(), value) {
        ("sf", BareItem::Boolean(true)) => Some(ComponentForm::Strict),
        ("bs", BareItem::Boolean(true)) => Some(ComponentForm::Bytes),
        ("key", BareItem::String(key)) => Some(ComponentForm::Member(key.as_str())),
        ("name", BareItem::String(name)) => Some(ComponentForm::Named(name.as_str())),
        _ => None,
    }
}

fn target_uri(request: &SignedRequest<'_>, scheme: &str) -> String {
    let target = match request.target {
        // The target URI of the asterisk form has no path (RFC 9110 §7.1).
        "*" => "",
        target => target,
    };
    let authority = request.normal_authority(scheme);
    format!("{}://{authority}{target}", scheme.to_ascii_lowercase())
}

/// Returns a query parameter, or `None` unless it occurs exactly once (RFC 9421 §2.2.8).
fn query_param(request: &SignedRequest<'_>, name: &str) -> Option<String> {
    let query = request.query()?.as_bytes();
    let mut found = form_urlencoded::parse(query).filter(|(key, _)| encoded(key) == name);
    let (_, value) = found.next()?;
    found.next().is_none().then(|| encoded(&value))
}

fn encoded(text: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    // RFC 9421 §2.2.8 requires spaces as `%20`, but the form serializer writes `+`.
    encoded.replace('+', "%20")
}

fn field(
    headers: &HeaderMap,
    name: &str,
    way: &ComponentForm<'_>,
) -> Result<Vec<u8>, ComponentError> {
    // RFC 9421 §2.1: the name of a field component is in lower case.
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(ComponentError::Unknown);
    }
    let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ComponentError::Unknown)?;
    let lines = headers.get_all(&header);
    let lines: Vec<_> = lines.iter().map(|it| it.as_bytes().trim_ascii()).collect();
    if lines.is_empty() {
        return Err(ComponentError::Missing);
    }
    // RFC 9421 §2.1: each line is trimmed, and lines are joined by a comma and a space.
    let whole = lines.join(&b", "[..]);
    match way {
        ComponentForm::Plain => Ok(whole),
        ComponentForm::Bytes => {
            let lines = lines
                .iter()
                .map(|line| format!(":{}:", STANDARD.encode(line)));
            Ok(lines.collect::<Vec<_>>().join(", ").into_bytes())
        }
        ComponentForm::Strict => strict(name, &whole).map(String::into_bytes),
        ComponentForm::Member(key) => member(&whole, key).map(String::into_bytes),
        ComponentForm::Named(_) => Err(ComponentError::Unknown),
    }
}

fn strict(name: &str, value: &[u8]) -> Result<String, ComponentError> {
    let is_dictionary = DICTIONARIES.contains(&name)
        // The older form is an item.
        || (name == "signature-agent" && !value.starts_with(b"\""));
    let spelled = if value.len() > MAX_FIELD_BYTES {
        return Err(ComponentError::Missing);
    } else if is_dictionary {
        Parser::new(value)
            .parse::<Dictionary>()
            .ok()
            .and_then(|it| it.serialize())
    } else if LISTS.contains(&name) {
        Parser::new(value)
            .parse::<List>()
            .ok()
            .and_then(|it| it.serialize())
    } else if name == "signature-agent" {
        Parser::new(value)
            .parse::<Item>()
            .ok()
            .map(|it| it.serialize())
    } else {
        return Err(ComponentError::Unknown);
    };
    spelled.ok_or(ComponentError::Missing)
}

/// Returns the serialized form of a dictionary member (RFC 9421 §2.1.2).
fn member(value: &[u8], key: &str) -> Result<String, ComponentError> {
    if value.len() > MAX_FIELD_BYTES {
        return Err(ComponentError::Missing);
    }
    let mut members: Dictionary = Parser::new(value)
        .parse()
        .map_err(|_| ComponentError::Missing)?;
    let member = members.swap_remove(key).ok_or(ComponentError::Missing)?;
    Ok(base::spell(member))
}
