//! Session ids in URLs, which give the same page a new URL on each visit.

use url::Url;

/// Names of session id parameters, in lower case.
///
/// These names are used by servlet containers, PHP, ASP and ASP.NET, `ColdFusion`, and common shops
/// and forums.
const NAMES: [&str; 18] = [
    "jsessionid",
    "phpsessid",
    "phpsessionid",
    "aspsessionid",
    "asp.net_sessionid",
    "cfid",
    "cftoken",
    "jservsessionid",
    "jwsessionid",
    "oscsid",
    "s_sid",
    "sessid",
    "session_id",
    "sessionid",
    "sid",
    "viewsessionid",
    "weblogicsession",
    "zenid",
];

/// Returns `true` if a URL contains a session id.
///
/// This function checks the query (`?PHPSESSID=…`), the path (`/a;jsessionid=…`) and the form used
/// by ASP.NET (`/(S(…))/a`). `sid` is recognized only if its value looks like a session id, that
/// is, if it consists of at least 16 letters and digits.
pub fn has_session(url: &Url) -> bool {
    without_session(url) != *url
}

/// Returns a URL without its session id.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::without_session;
///
/// let url = "http://h.example/a;jsessionid=0F3A?b=1&PHPSESSID=77".parse().unwrap();
/// assert_eq!(without_session(&url).as_str(), "http://h.example/a?b=1");
/// ```
pub fn without_session(url: &Url) -> Url {
    let mut clean = url.clone();
    if url.path().contains([';', '(']) {
        let segments = url.path().split('/').filter(|it| !is_asp_net(it));
        let segments: Vec<String> = segments.map(without_parameter).collect();
        let path = segments.join("/");
        if path != url.path() {
            clean.set_path(&path);
        }
    }
    if let Some(query) = url.query() {
        // HTML 4.01 §B.2.2 recommends `;` instead of `&`.
        let separator = if query.contains('&') { '&' } else { ';' };
        let kept: Vec<&str> = query
            .split(separator)
            .filter(|it| !is_session(it))
            .collect();
        let kept = kept.join(if separator == '&' { "&" } else { ";" });
        if kept != query {
            clean.set_query((!kept.is_empty()).then_some(&kept));
        }
    }
    clean
}

/// Returns a path segment without its `;jsessionid=…` parameter.
fn without_parameter(segment: &str) -> String {
    let mut parts = segment.split(';');
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts.filter(|part| !is_session(part)) {
        clean.push(';');
        clean.push_str(part);
    }
    clean
}

/// Returns `true` if a `name=value` pair is a session id.
fn is_session(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    // `ASPSESSIONID` is followed by eight random letters.
    let known = NAMES.contains(&name.as_str()) || name.starts_with("aspsessionid");
    let is_number = || {
        value.len() >= 16
            && value
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    known && (name != "sid" || is_number())
}

/// Returns `true` if a path segment is a session id in the form used by ASP.NET: `(S(…))`.
fn is_asp_net(segment: &str) -> bool {
    let inner = segment
        .strip_prefix('(')
        .and_then(|it| it.strip_suffix(')'));
    let lower = inner.map(str::to_ascii_lowercase);
    lower.is_some_and(|it| it.starts_with("s(") && it.ends_with(')'))
}
