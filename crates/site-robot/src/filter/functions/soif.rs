//! Parser for the output of summarizers: attributes in SOIF (RFC 2655).

/// Maximum number of attributes in one summary.
const MAX_ATTRIBUTES: usize = 200;

/// Maximum length of an attribute name, in bytes.
const MAX_NAME: usize = 64;

/// Returns the name and value of each attribute `name{bytes}:<TAB>value`, and ignores everything
/// else.
///
/// The enclosing `@FILE { url` and `}` may be missing, as in the output of Harvest summarizers.
pub(super) fn attributes(output: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = output;
    while !rest.is_empty() && found.len() < MAX_ATTRIBUTES {
        match attribute(rest) {
            Some((name, value, after)) => {
                let value = String::from_utf8_lossy(value).into_owned();
                found.push((name, value));
                rest = after;
            }
            None => rest = next_line(rest),
        }
    }
    found
}

/// Parses one attribute, and returns its name, its value and the remaining text.
fn attribute(text: &[u8]) -> Option<(String, &[u8], &[u8])> {
    // The search is limited to a few bytes, because it is attempted on each line of output that is
    // not SOIF and must not scan to the end.
    let open = text
        .iter()
        .take(MAX_NAME)
        .position(|octet| *octet == b'{')?;
    let (name, after) = text.split_at_checked(open)?;
    let is_name = |octet: &u8| octet.is_ascii_alphanumeric() || b"-_.:".contains(octet);
    if name.is_empty() || !name.iter().all(is_name) {
        return None;
    }
    let close = after
        .iter()
        .take(MAX_NAME)
        .position(|octet| *octet == b'}')?;
    let count = std::str::from_utf8(after.get(1..close)?).ok()?;
    let count: usize = count.trim().parse().ok()?;
    let value = after.get(close + 1..)?.strip_prefix(b":")?;
    let value = value
        .strip_prefix(b"\t")
        .or_else(|| value.strip_prefix(b" "))?;
    // The size determines where the value ends, because the value may contain line feeds and
    // braces.
    let (value, after) = value.split_at_checked(count)?;
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    Some((name, value, after))
}

fn next_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|octet| *octet == b'\n');
    end.and_then(|end| text.get(end + 1..)).unwrap_or_default()
}
