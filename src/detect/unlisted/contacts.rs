//! URLs, sites and e-mail addresses that say whose robot it is.

use super::{
    marks::{ends_with, is_device, is_mozilla},
    words::{Words, has_any, words},
};

static HOSTS: Words =
    Words::new(|| words(["bsalsa.com", "qtweb.net", "whatsapp.com", "instapaper.com"]));
static PROFILES: Words = Words::new(|| words(["wap-profile", "uaprof", "docomo"]));

/// Tells whether what follows is the host of a URL that tells of a robot.
pub(super) fn is_contact_url(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let has_host = after.first().is_some_and(u8::is_ascii_alphanumeric);
    if !has_host || is_device(text, before) {
        return false;
    }
    if is_mozilla(text) {
        return !is_browser_s_url(text, before, after);
    }
    !is_people_s(text)
}

/// Tells whether a browser's own URL or that of its device's profile follows.
fn is_browser_s_url(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let site = after.strip_prefix(b"www.").unwrap_or(after);
    HOSTS.has_start(site) || ends_with(before, b"from: ") || has_any(&PROFILES, text)
}

/// Tells whether a browser's User-Agent goes on with the name of a site.
pub(super) fn is_site(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    let label = before
        .rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')
        .next()
        .unwrap_or_default();
    let host = before.get(..before.len() - label.len()).unwrap_or_default();
    label.len() >= 2
        && label.first().is_some_and(u8::is_ascii_alphabetic)
        && matches!(host.last(), Some(b' ' | b'(' | b';' | b','))
        && !after.first().copied().is_some_and(is_name)
        && before.contains(&b')')
        && is_mozilla(text)
}

/// Tells whether an e-mail address has its sign here.
pub(super) fn is_address(text: &[u8], before: &[u8], after: &[u8]) -> bool {
    before.last().copied().is_some_and(is_name)
        && is_domain(after)
        && !is_device(text, before)
        && (is_mozilla(text) || !is_people_s(text))
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._+-".contains(&byte)
}

/// Tells whether a text starts with a domain: labels, and a last one of letters.
pub(super) fn is_domain(text: &[u8]) -> bool {
    let len = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte))
        .count();
    let host = text.get(..len).unwrap_or_default();
    let Some(dot) = host.iter().rposition(|&byte| byte == b'.') else {
        return false;
    };
    let (labels, top) = host.split_at(dot);
    top.len() > 2
        && labels.last().is_some_and(|&byte| byte != b'.')
        && top.iter().skip(1).all(u8::is_ascii_alphabetic)
}

/// Tells whether a User-Agent without `Mozilla/` comes from an app that people use.
fn is_people_s(text: &[u8]) -> bool {
    static WORDS: Words = Words::new(|| {
        words([
            "android", "ios", "iphone", "ipad", "podcast", "bullhorn", "torrent", "watch",
            "mac os", "macos", "darwin", "windows", "symbian", "ucweb", "xbmc", "kodi",
        ])
    });
    has_any(&WORDS, text)
}
