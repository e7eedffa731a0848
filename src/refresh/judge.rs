//! Is this a registry, and is it all of it?

use crate::registry::Format;

/// Fewest robots of a published registry.
const FEWEST_ROBOTS: u64 = 10;

/// Part of the bytes that may be control characters: one in this many.
const CONTROLS_ONE_IN: usize = 100;

/// Robots of a source, before or after a refresh.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Sizes {
    /// All of them.
    pub(super) robots: u64,
    /// Those that take part in detection.
    pub(super) active: u64,
}

/// Returns why bytes are no registry, whatever its format; `None` if they may be.
pub(super) fn content_refusal(content_type: Option<&str>, bytes: &[u8]) -> Option<String> {
    let media_type = content_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if matches!(media_type.as_str(), "text/html" | "application/xhtml+xml") {
        return Some(format!(
            "it is a web page ({media_type}), not a registry: check the address"
        ));
    }
    let text = bytes
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(bytes)
        .trim_ascii_start();
    if text.is_empty() {
        return Some("it is empty".to_owned());
    }
    if let Some(kind) = binary_kind(bytes) {
        return Some(format!("it is {kind}, not text: check the address"));
    }
    // No format of a registry begins so.
    text.starts_with(b"<")
        .then(|| "it is a web page or XML, not a registry: check the address".to_owned())
}

/// Returns why robots are too few; `None` if they are enough.
///
/// A registry has at least 10 robots, one of them active, and half of those
/// before: less is most likely a file cut off, or another file. Plain lists
/// are made by hand and may be short: for them only halving counts, and only
/// from 10 robots on. `force` allows all but none at all.
pub(super) fn size_refusal(
    format: Format,
    now: Sizes,
    before: Sizes,
    force: bool,
) -> Option<String> {
    if now.robots == 0 {
        return Some("it has no robots: check the address and the format".to_owned());
    }
    if force {
        return None;
    }
    let reason = if format != Format::List && now.robots < FEWEST_ROBOTS {
        format!("it has {} robots, fewer than {FEWEST_ROBOTS}", now.robots)
    } else if now.active == 0 {
        format!("none of its {} robots can be used", now.robots)
    } else if is_halved(format, now.robots, before.robots) {
        format!(
            "it has {} robots, before it had {}",
            now.robots, before.robots
        )
    } else if is_halved(format, now.active, before.active) {
        format!(
            "it has {} robots that can be used, before it had {}",
            now.active, before.active
        )
    } else {
        return None;
    };
    Some(format!("{reason}: force the refresh if that is right"))
}

fn is_halved(format: Format, now: u64, before: u64) -> bool {
    let counts = format != Format::List || before >= FEWEST_ROBOTS;
    counts && now.saturating_mul(2) < before
}

fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return Some("gzip data");
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Some("UTF-16");
    }
    let controls = bytes.iter().filter(|byte| is_odd_control(**byte)).count();
    let is_binary = bytes.contains(&0) || controls > bytes.len() / CONTROLS_ONE_IN + 2;
    is_binary.then_some("binary data")
}

/// Control characters that no text has; a few get into real files.
fn is_odd_control(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_binary_and_empty_data_are_no_registry() {
        for (content_type, bytes, said) in [
            (
                Some("text/html; charset=utf-8"),
                &b"robot-id: a"[..],
                "(text/html)",
            ),
            (Some("Application/XHTML+xml"), b"robot-id: a", "web page"),
            (None, b"\n <!DOCTYPE html><title>404</title>", "web page"),
            (None, b"\xEF\xBB\xBF<html>", "web page"),
            (Some("text/plain"), b"<?xml version='1.0'?>", "XML"),
            (None, b"", "empty"),
            (None, b" \r\n\t ", "empty"),
            (None, b"\xEF\xBB\xBF", "empty"),
            (None, b"\x1F\x8B\x08\x00", "gzip"),
            (None, b"\xFF\xFEr\x00", "UTF-16"),
            (None, b"robot\x00id", "binary"),
            (
                None,
                b"\x89PNG\r\n\x1A\n\x01\x02\x03\x04\x05\x06\x07",
                "binary",
            ),
        ] {
            let refusal = content_refusal(content_type, bytes).unwrap_or_default();
            assert!(refusal.contains(said), "{bytes:?}: {refusal:?}");
        }
    }

    #[test]
    fn text_of_every_format_passes() {
        for (content_type, bytes) in [
            (None, &b"robot-id: a\r\nrobot-name: <b>A</b>\r\n"[..]),
            (
                Some("text/plain; charset=iso-8859-1"),
                b"robot-id: caf\xE9 \x01 \x02\n",
            ),
            (Some("application/octet-stream"), b"- regex: 'a'\n"),
            (Some("application/json"), b"[{}]"),
            (Some("html"), b"# tokens\nExample\n"),
        ] {
            assert_eq!(content_refusal(content_type, bytes), None);
        }
    }

    fn sizes(robots: u64, active: u64) -> Sizes {
        Sizes { robots, active }
    }

    #[test]
    fn too_few_robots_are_refused_unless_forced() {
        use Format::{List, WebRobotsDb};
        for (format, now, before, said) in [
            (WebRobotsDb, sizes(10, 1), sizes(0, 0), ""),
            (WebRobotsDb, sizes(9, 9), sizes(0, 0), "fewer than 10"),
            (WebRobotsDb, sizes(300, 0), sizes(0, 0), "none of its 300"),
            (WebRobotsDb, sizes(150, 150), sizes(300, 300), ""),
            (
                WebRobotsDb,
                sizes(149, 149),
                sizes(300, 290),
                "before it had 300",
            ),
            (
                WebRobotsDb,
                sizes(300, 100),
                sizes(300, 290),
                "before it had 290",
            ),
            (List, sizes(1, 1), sizes(0, 0), ""),
            (List, sizes(1, 1), sizes(9, 9), ""),
            (List, sizes(4, 4), sizes(10, 10), "before it had 10"),
            (List, sizes(2, 0), sizes(0, 0), "none of its 2"),
        ] {
            let refusal = size_refusal(format, now, before, false);
            assert_eq!(
                refusal.is_none(),
                said.is_empty(),
                "{now:?} {before:?}: {refusal:?}"
            );
            assert!(refusal.unwrap_or_default().contains(said));
            assert_eq!(size_refusal(format, now, before, true), None);
        }
    }

    #[test]
    fn none_at_all_is_refused_even_if_forced() {
        assert!(size_refusal(Format::List, sizes(0, 0), sizes(5, 5), true).is_some());
    }
}
