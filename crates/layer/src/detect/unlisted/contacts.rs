//! Detection of URLs, sites and e-mail addresses in a User-Agent that identify the owner of a
//! robot.

use crate::detect::agent::{is_domain, starts_with};

use super::{
    Agent,
    marks::{ends_with, is_device, is_mozilla},
    words_found::{Words, has_any, words},
};

// Hosts in the User-Agents of browsers and apps of human visitors.
const HOSTS: [&[u8]; 5] = [
    b"bsalsa.com",
    b"qtweb.net",
    b"whatsapp.com",
    b"instapaper.com",
    b"teesoft.info",
];
static EXPLORERS: Words = Words::new(|| words(["trident/", "msie "]));
static SERVERS: Words = Words::new(|| words(["x11"]));
static PROFILES: Words = Words::new(|| words(["wap-profile", "uaprof", "docomo"]));

/// Returns `true` if the mark is followed by a URL whose host indicates a robot.
pub(super) fn is_contact_url(agent: &Agent<'_>, before: &[u8], after: &[u8]) -> bool {
    let Agent { text, words } = *agent;
    let has_host = after.first().is_some_and(u8::is_ascii_alphanumeric);
    // No browser or app begins with a URL.
    if before.is_empty() && has_host {
        return true;
    }
    if !has_host || is_device(words, agent.words_before(before)) || is_browser_s_host(before, after)
    {
        return false;
    }
    if is_mozilla(text) {
        return !is_browser_url(text, before, after);
    }
    !is_people_s(words)
}

/// Returns `true` if the mark is followed by a URL that browsers or device profiles contain.
fn is_browser_url(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let site = after.strip_prefix(b"www.").unwrap_or(after);
    let before = without_scheme(before);
    HOSTS.iter().any(|host| starts_with(site, host))
        || ends_with(before, b"from: ")
        || ends_with(before, b"initiator: ")
        || is_company_url(text, before, after)
        || has_any(&PROFILES, text)
}

/// Returns `true` if a part of Internet Explorer's comment consists only of a URL, as added by
/// companies.
fn is_company_url(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let is_part = ends_with(before, b"; ") && !ends_with(before, b"compatible; ");
    let is_first = before.ends_with(b"(") && starts_with(text, b"Mozilla/5.0 (http");
    let end = after.iter().find(|byte| b"; )".contains(byte));
    (is_part || is_first) && end == Some(&b';') && has_any(&EXPLORERS, text)
}

/// Returns the text before a URL whose scheme may be part of the text.
fn without_scheme(before: &[u8]) -> &[u8] {
    let schemes: [&[u8]; 2] = [b"http://", b"https://"];
    let without = schemes
        .iter()
        .find_map(|scheme| before.strip_suffix(*scheme));
    without.unwrap_or(before)
}

/// Returns `true` if a label in a URL's host ends like the name of a browser.
fn is_browser_s_host(before: &[u8], after: &[u8]) -> bool {
    let end = after
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && !b".-".contains(byte));
    let host = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
    let mut labels = host.split(|byte| *byte == b'.');
    !before.ends_with(b"+") && labels.any(|label| ends_with(label, b"browser"))
}

/// Returns `true` if the mark is followed by a site's name in a browser's User-Agent.
pub(super) fn is_site(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let label = before
        .rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')
        .next()
        .unwrap_or_default();
    let host = before.get(..before.len() - label.len()).unwrap_or_default();
    label.len() >= 2
        && label.first().is_some_and(u8::is_ascii_alphabetic)
        && matches!(host.last(), Some(b' ' | b'(' | b';' | b','))
        && !after.first().copied().is_some_and(is_name_byte)
        && !is_browser_s(text, after)
        && !is_browser_part(before, after)
        && before.contains(&b')')
        && is_mozilla(text)
}

/// Returns `true` for a browser that is named after a site, such as `Battle.net/1.3`.
///
/// Browsers that mention X11 are excluded because they mostly run on servers.
fn is_browser_s(text: &[u8], after: &[u8]) -> bool {
    matches!(after, [b'/', b'0'..=b'9', ..]) && !has_any(&SERVERS, text)
}

/// Returns `true` for a site's name that a browser's toolbar or framework adds.
fn is_browser_part(before: &[u8], after: &[u8]) -> bool {
    let is_toolbar = ends_with(before, b" ant") || ends_with(before, b"(ant");
    ends_with(before, b" wails") || is_toolbar && starts_with(after, b" toolbar")
}

/// Returns `true` if the text around an `@` is an e-mail address.
pub(super) fn is_address(agent: &Agent<'_>, before: &[u8], after: &[u8]) -> bool {
    let Agent { text, words } = *agent;
    before.last().copied().is_some_and(is_name_byte)
        && is_domain(after)
        && !is_device(words, agent.words_before(before))
        && (is_mozilla(text) || !is_people_s(words))
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._+-".contains(&byte)
}

/// Returns `true` if a User-Agent without `Mozilla/` belongs to an app that human visitors use.
fn is_people_s(text: &[u8]) -> bool {
    static WORDS: Words = Words::new(|| {
        words([
            "android", "ios", "iphone", "ipad", "bullhorn", "torrent", "watch", "mac os", "macos",
            "darwin", "windows", "symbian", "ucweb", "xbmc", "kodi",
        ])
    });
    // A program may be named after a site about a system: `AndroidPoliceReader`.
    WORDS.find_all(text).any(|(range, ())| {
        let after = text.get(range.end..).unwrap_or_default();
        let is_longer = after.first().is_some_and(u8::is_ascii_alphabetic);
        !is_longer || starts_with(after, b"os") || starts_with(after, b"tv")
    })
}
