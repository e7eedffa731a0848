//! Notations in which the format of a log is written down.

use super::pattern::Pattern;
use super::slot::Slot::{
    self, Bytes, Captured, Client, ClientPort, Date, Forwarded, Host, Method, Micros, Millis,
    Prefix, Query, Referrer, Request, Seconds, Skip, Status, Tail, Target, Time, UserAgent,
};

/// Error for a log format that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("invalid log format: {0}")]
pub struct InvalidNotation(pub(super) String);

/// Returns the field of a variable of nginx's `log_format`, or of our own `$client`, `$millis`,
/// `$captured`, `$prefix` and `$tail`.
fn nginx(name: &str) -> Slot {
    match name {
        "remote_addr" | "realip_remote_addr" => Client,
        "client" => ClientPort,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => Forwarded,
        "time_local" | "time_iso8601" | "msec" => Time,
        "request" => Request,
        "request_method" => Method,
        "request_uri" | "uri" => Target,
        "args" | "query_string" => Query,
        "host" | "http_host" | "server_name" => Host,
        "status" => Status,
        "body_bytes_sent" | "bytes_sent" => Bytes,
        "request_time" => Seconds,
        "millis" => Millis,
        "http_referer" => Referrer,
        "http_user_agent" => UserAgent,
        "captured" => Captured,
        "prefix" => Prefix,
        "tail" => Tail,
        _ => Skip,
    }
}

/// Returns the field of a directive of Apache's `LogFormat`; the case of header names does not
/// matter.
fn apache(name: &str) -> Slot {
    match name {
        "a" | "h" => Client,
        "r" => Request,
        "m" => Method,
        "U" => Target,
        "q" => Query,
        "v" | "V" => Host,
        "s" => Status,
        "b" | "B" | "O" => Bytes,
        "D" | "{us}T" => Micros,
        "T" => Seconds,
        "{ms}T" => Millis,
        _ => match &*name.to_ascii_lowercase() {
            "{x-forwarded-for}i" => Forwarded,
            "{host}i" => Host,
            "{referer}i" => Referrer,
            "{user-agent}i" => UserAgent,
            _ => Skip,
        },
    }
}

/// Returns the field of a specifier of GoAccess' `log-format`.
fn goaccess(name: &str) -> Slot {
    match name {
        "d" => Date,
        "t" | "x" => Time,
        "R" => Referrer,
        "u" => UserAgent,
        "L" => Millis,
        "h" | "r" | "m" | "U" | "q" | "v" | "s" | "b" | "D" | "T" => apache(name),
        _ => Skip,
    }
}

/// Returns the field with a name in the W3C extended log format, as IIS and CloudFront write it.
fn w3c_field(name: &str) -> Slot {
    match &*name.to_ascii_lowercase() {
        "date" => Date,
        "time" => Time,
        "c-ip" => Client,
        "x-forwarded-for" | "cs(x-forwarded-for)" => Forwarded,
        "cs-method" => Method,
        "cs-uri-stem" | "cs-uri" => Target,
        "cs-uri-query" => Query,
        "cs-host" | "cs(host)" | "x-host-header" => Host,
        "sc-status" => Status,
        "sc-bytes" => Bytes,
        "cs(referer)" => Referrer,
        "cs(user-agent)" => UserAgent,
        _ => Skip,
    }
}

/// Parses a format in the notation of nginx, Apache or GoAccess.
pub(super) fn parse(notation: &str) -> Result<Pattern, InvalidNotation> {
    let pattern = if notation.contains('$') {
        variables(notation)
    } else {
        // `%d`, `%^` and `%R` do not exist in Apache's notation.
        let is_goaccess = ["%d", "%^", "%R", "%x"];
        let is_goaccess = is_goaccess.iter().any(|known| notation.contains(known));
        directives(notation, is_goaccess)
    };
    let missing = if !pattern.has(Time) && !pattern.has(Prefix) {
        "a time, such as $time_local or %t"
    } else if !pattern.has(Request) && !pattern.has(Target) {
        "a request, such as $request or %r"
    } else {
        return Ok(pattern);
    };
    Err(InvalidNotation(format!(
        "{notation:?} does not contain {missing}"
    )))
}

/// Returns the format of a `#Fields:` line in the W3C extended log format.
pub(super) fn w3c(line: &[u8]) -> Option<Pattern> {
    let names = str::from_utf8(line.strip_prefix(b"#Fields:")?).ok()?;
    // CloudFront separates the names by spaces, and the values by tabs.
    let is_tabbed = names.contains("x-edge-location");
    let mut pattern = Pattern::default();
    for (number, name) in names.split_ascii_whitespace().enumerate() {
        if number > 0 {
            pattern.literal(if is_tabbed { b"\t" } else { b" " });
        }
        let slot = match name {
            "time-taken" if is_tabbed => Seconds,
            "time-taken" => Millis,
            _ => w3c_field(name),
        };
        pattern.field(slot);
    }
    Some(pattern)
}

fn variables(notation: &str) -> Pattern {
    let mut pattern = Pattern::default();
    let mut parts = notation.split('$');
    pattern.literal(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let (part, brace) = match part.strip_prefix('{') {
            Some(part) => (part, "}"),
            None => (part, ""),
        };
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let (name, behind) = part.split_at(part.find(is_end).unwrap_or(part.len()));
        pattern.field(nginx(name));
        pattern.literal(behind.strip_prefix(brace).unwrap_or(behind).as_bytes());
    }
    pattern
}

fn directives(notation: &str, is_goaccess: bool) -> Pattern {
    let mut pattern = Pattern::default();
    let notation = notation.replace("\\\"", "\"");
    let mut parts = notation.split('%');
    pattern.literal(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        // Modifiers of Apache, as in `%>s` and `%!200r`.
        let part = part.trim_start_matches(|letter: char| {
            matches!(letter, '>' | '<' | '!' | ',') || letter.is_ascii_digit()
        });
        let header = part.find('}').filter(|_| part.starts_with('{'));
        let end = header.map_or(0, |at| at + 1);
        let end = end
            + part
                .get(end..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
        let (name, behind) = part.split_at(end);
        if name == "t" && !is_goaccess {
            pattern.literal(b"[");
            pattern.field(Time);
            pattern.literal(b"]");
        } else {
            let find = if is_goaccess { goaccess } else { apache };
            pattern.field(find(name));
        }
        pattern.literal(behind.as_bytes());
    }
    pattern
}
