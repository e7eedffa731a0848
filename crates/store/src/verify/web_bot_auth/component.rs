//! Values of what a signature covers (RFC 9421 §2.1 and §2.2).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName};
use sfv::{BareItem, Dictionary, FieldType as _, Item, List, Parser};
use url::form_urlencoded;

use super::{
    SignedRequest,
    fields::{self, MAX_FIELD_BYTES},
    refusal::{Refusal, shown},
};

/// Fields that are dictionaries, for `;sf`.
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

/// Fields that are lists, for `;sf`.
const LISTS: &[&str] = &["sec-ch-ua", "sec-ch-ua-full-version-list"];

/// How a component is asked for, beside its name.
enum Way<'i> {
    Plain,
    Strict,
    Bytes,
    Member(&'i str),
    Named(&'i str),
}

/// Returns the value that stands behind a component's name in the signature base.
///
/// The scheme is that which the request came by, or is supposed to have come by.
/// A component has one parameter at most: `sf`, `bs` and `key` of a field,
/// `name` of `@query-param`. What speaks of trailers or of another message
/// (`tr`, `req`) is refused.
pub(super) fn value(
    request: &SignedRequest<'_>,
    scheme: &str,
    item: &Item,
) -> Result<Vec<u8>, Refusal> {
    let unknown = || Wrong::Unknown.into_refusal(item);
    let name = item.bare_item.as_string().ok_or_else(unknown)?.as_str();
    if !name.starts_with('@') {
        return field_value(request.headers, item);
    }
    let way = way(item).ok_or_else(unknown)?;
    let text = match (name, way) {
        ("@method", Way::Plain) => request.method.as_str().to_owned(),
        ("@scheme", Way::Plain) => scheme.to_ascii_lowercase(),
        ("@authority", Way::Plain) => request.normal_authority(scheme),
        ("@target-uri", Way::Plain) => target_uri(request, scheme),
        ("@request-target", Way::Plain) => request.target.to_owned(),
        ("@path", Way::Plain) => request.path().to_owned(),
        ("@query", Way::Plain) => format!("?{}", request.query().unwrap_or_default()),
        ("@query-param", Way::Named(name)) => {
            query_param(request, name).ok_or_else(|| Wrong::Missing.into_refusal(item))?
        }
        _ => return Err(unknown()),
    };
    Ok(text.into_bytes())
}

/// Returns the value of a field, of a request or an answer.
pub(super) fn field_value(headers: &HeaderMap, item: &Item) -> Result<Vec<u8>, Refusal> {
    let value = || {
        let name = item.bare_item.as_string().ok_or(Wrong::Unknown)?;
        let way = way(item).ok_or(Wrong::Unknown)?;
        field(headers, name.as_str(), &way)
    };
    value().map_err(|wrong| wrong.into_refusal(item))
}

#[derive(Clone, Copy)]
enum Wrong {
    Unknown,
    Missing,
}

impl Wrong {
    fn into_refusal(self, item: &Item) -> Refusal {
        let name = shown(&fields::spell_item(item));
        match self {
            Self::Unknown => Refusal::UnknownComponent(name),
            Self::Missing => Refusal::MissingComponent(name),
        }
    }
}

fn way(item: &Item) -> Option<Way<'_>> {
    let mut params = item.params.iter();
    let Some((key, value)) = params.next() else {
        return Some(Way::Plain);
    };
    if params.next().is_some() {
        return None;
    }
    match (key.as_str(), value) {
        ("sf", BareItem::Boolean(true)) => Some(Way::Strict),
        ("bs", BareItem::Boolean(true)) => Some(Way::Bytes),
        ("key", BareItem::String(key)) => Some(Way::Member(key.as_str())),
        ("name", BareItem::String(name)) => Some(Way::Named(name.as_str())),
        _ => None,
    }
}

fn target_uri(request: &SignedRequest<'_>, scheme: &str) -> String {
    let target = match request.target {
        "*" => "",
        target => target,
    };
    let authority = request.normal_authority(scheme);
    format!("{}://{authority}{target}", scheme.to_ascii_lowercase())
}

/// Returns a parameter of the query; `None` unless it is there once (RFC 9421 §2.2.8).
fn query_param(request: &SignedRequest<'_>, name: &str) -> Option<String> {
    let query = request.query()?.as_bytes();
    let mut found = form_urlencoded::parse(query).filter(|(key, _)| encoded(key) == name);
    let (_, value) = found.next()?;
    found.next().is_none().then(|| encoded(&value))
}

fn encoded(text: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}

fn field(headers: &HeaderMap, name: &str, way: &Way<'_>) -> Result<Vec<u8>, Wrong> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(Wrong::Unknown);
    }
    let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Wrong::Unknown)?;
    let lines = headers.get_all(&header);
    let lines: Vec<_> = lines.iter().map(|it| it.as_bytes().trim_ascii()).collect();
    if lines.is_empty() {
        return Err(Wrong::Missing);
    }
    let whole = lines.join(&b", "[..]);
    match way {
        Way::Plain => Ok(whole),
        Way::Bytes => {
            let lines = lines
                .iter()
                .map(|line| format!(":{}:", STANDARD.encode(line)));
            Ok(lines.collect::<Vec<_>>().join(", ").into_bytes())
        }
        Way::Strict => strict(name, &whole).map(String::into_bytes),
        Way::Member(key) => member(&whole, key).map(String::into_bytes),
        Way::Named(_) => Err(Wrong::Unknown),
    }
}

fn strict(name: &str, value: &[u8]) -> Result<String, Wrong> {
    let is_dictionary = DICTIONARIES.contains(&name)
        // The older form is an item.
        || (name == "signature-agent" && !value.starts_with(b"\""));
    let spelled = if value.len() > MAX_FIELD_BYTES {
        return Err(Wrong::Missing);
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
        return Err(Wrong::Unknown);
    };
    spelled.ok_or(Wrong::Missing)
}

/// Returns a member of a dictionary (RFC 9421 §2.1.2).
fn member(value: &[u8], key: &str) -> Result<String, Wrong> {
    if value.len() > MAX_FIELD_BYTES {
        return Err(Wrong::Missing);
    }
    let mut members: Dictionary = Parser::new(value).parse().map_err(|_| Wrong::Missing)?;
    let member = members.swap_remove(key).ok_or(Wrong::Missing)?;
    Ok(fields::spell(member))
}
