//! Checks whether a downloaded document is a complete registry.

use super::{RefreshOptions, fingerprint::Fingerprint};
use robot_detection_layer::registry::{Format, ends_mid_line, missing_last_fields};

/// The minimum number of robots in a published registry.
const FEWEST_ROBOTS: u64 = 10;

/// The maximum proportion of control characters: one in this many bytes.
const CONTROLS_ONE_IN: usize = 100;

/// The prefix of the reason given when a document other than the accepted one is held for review.
const CHANGED: &str = "not accepted, because the document changed while held for review; now: ";
const CHANGED_AND_WHOLE: &str =
    "the document held for review is no longer available; using a newer one, which looks complete";

/// The decision about a downloaded document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Acceptance {
    /// Publish the robots in the document.
    Take,
    /// Publish the robots in the document, although a different document was accepted.
    TakeAnother(&'static str),
    /// Hold the document until an administrator accepts it.
    Hold(String),
}

/// The numbers of robots from a source, before or after a refresh.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Sizes {
    /// The total number of robots from the source.
    pub(super) robots: u64,
    /// The number of the source's robots that are used for detection.
    pub(super) active: u64,
}

/// Returns the reason why the bytes cannot be a registry in any format, or `None` if they may be a
/// registry.
pub(super) fn content_refusal(content_type: Option<&str>, bytes: &[u8]) -> Option<String> {
    let media_type = content_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    // Captive portals, login pages and many error pages are HTML with status 200.
    if matches!(media_type.as_str(), "text/html" | "application/xhtml+xml") {
        return Some(format!(
            "the document is a web page ({media_type}), not a registry; check the URL"
        ));
    }
    let text = bytes
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(bytes)
        .trim_ascii_start();
    if text.is_empty() {
        return Some("the document is empty".to_owned());
    }
    if let Some(kind) = binary_kind(bytes) {
        return Some(format!("the document is {kind}, not text; check the URL"));
    }
    // No registry format starts this way.
    text.starts_with(b"<")
        .then(|| "the document is a web page or XML, not a registry; check the URL".to_owned())
}

/// Returns the reason why a document looks truncated, or `None` if it looks complete.
///
/// `before` is the fingerprint of the current robots, if any. If the source's last document ended
/// the same way, the ending is normal for the source. The first document of a source may lack a
/// final line feed, as many hand-made files do.
pub(super) fn truncation_doubt(
    format: Format,
    bytes: &[u8],
    before: Option<&Fingerprint>,
) -> Option<String> {
    let before = before.map(Fingerprint::ending);
    let was_whole = before.is_some_and(|ending| !ending.is_open);
    // Only a change is suspicious, since some sources never end their last line with a line feed.
    if was_whole && ends_mid_line(format, bytes) {
        return Some("the document is truncated: its last line has no line feed".to_owned());
    }
    if before.is_some_and(|ending| ending.is_short) {
        return None;
    }
    let missing = missing_last_fields(format, bytes);
    let first = missing.first()?;
    let more = match missing.len() {
        1 => String::new(),
        count => format!(" and {} more fields", count - 1),
    };
    Some(format!(
        "the document is truncated: its last record has no {first}{more}, unlike the other records"
    ))
}

/// Returns the reason why a document has too few robots, or `None` if it has enough.
///
/// A registry has at least 10 robots, at least one of them active, and at most a tenth fewer than
/// before. Otherwise, the document is probably truncated or a different file. Handwritten plain
/// lists may be short: for such lists, only the loss matters, and only if there were at least 10
/// robots.
pub(super) fn size_doubt(format: Format, now: Sizes, before: Sizes) -> Option<String> {
    let reason = if format != Format::List && now.robots < FEWEST_ROBOTS {
        format!(
            "the document has {} robots, fewer than {FEWEST_ROBOTS}",
            now.robots
        )
    } else if now.active == 0 {
        format!(
            "the document has {} robots, but none of them is usable",
            now.robots
        )
    } else if is_lossy(format, now.robots, before.robots) {
        format!(
            "the document has {} robots, down from {}: more than a tenth would be removed at once",
            now.robots, before.robots
        )
    } else if is_lossy(format, now.active, before.active) {
        format!(
            "the document has {} usable robots, down from {}: more than a tenth would be removed at once",
            now.active, before.active
        )
    } else {
        return None;
    };
    Some(reason)
}

/// Decides whether to publish a document, given the reasons for doubt and the administrator's
/// options.
pub(super) fn decide(doubts: &[String], options: &RefreshOptions, sha256: &str) -> Acceptance {
    let accepted = options.accept.as_deref();
    let is_accepted = options.force || accepted == Some(sha256);
    let is_another = !is_accepted && accepted.is_some();
    match (doubts, is_another) {
        ([], true) => Acceptance::TakeAnother(CHANGED_AND_WHOLE),
        ([], false) => Acceptance::Take,
        _ if is_accepted => Acceptance::Take,
        (doubts, true) => Acceptance::Hold(format!("{CHANGED}{}", doubts.join("; "))),
        (doubts, false) => Acceptance::Hold(doubts.join("; ")),
    }
}

fn is_lossy(format: Format, now: u64, before: u64) -> bool {
    let counts = format != Format::List || before >= FEWEST_ROBOTS;
    // Multiplication instead of division, so that a tenth of a small number is not rounded to zero.
    counts && now.saturating_mul(10) < before.saturating_mul(9)
}

fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    // Magic number of gzip (RFC 1952 §2.3.1); one layer was already decompressed.
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return Some("gzip data");
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Some("UTF-16");
    }
    let controls = bytes.iter().filter(|byte| is_odd_control(**byte)).count();
    // Two more for short files, for which a hundredth is less than one.
    let is_binary = bytes.contains(&0) || controls > bytes.len() / CONTROLS_ONE_IN + 2;
    is_binary.then_some("binary data")
}

/// Returns `true` for control characters that do not belong in text; real files may contain a few.
fn is_odd_control(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::OriginKind;
    use super::*;

    #[test]
    fn web_pages_binary_and_empty_data_are_rejected() {
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
    fn text_in_every_format_is_accepted() {
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
    fn too_few_robots_are_held_for_review() {
        use Format::{List, WebRobotsDb};
        for (format, now, before, said) in [
            (WebRobotsDb, sizes(10, 1), sizes(0, 0), ""),
            (WebRobotsDb, sizes(9, 9), sizes(0, 0), "fewer than 10"),
            (
                WebRobotsDb,
                sizes(300, 0),
                sizes(0, 0),
                "300 robots, but none",
            ),
            (WebRobotsDb, sizes(270, 270), sizes(300, 300), ""),
            (
                WebRobotsDb,
                sizes(269, 269),
                sizes(300, 290),
                "down from 300",
            ),
            (
                WebRobotsDb,
                sizes(300, 260),
                sizes(300, 290),
                "down from 290",
            ),
            (List, sizes(1, 1), sizes(0, 0), ""),
            (List, sizes(1, 1), sizes(9, 9), ""),
            (List, sizes(9, 9), sizes(10, 10), ""),
            (List, sizes(8, 8), sizes(10, 10), "down from 10"),
            (List, sizes(2, 0), sizes(0, 0), "2 robots, but none"),
        ] {
            let doubt = size_doubt(format, now, before);
            assert_eq!(
                doubt.is_none(),
                said.is_empty(),
                "{now:?} {before:?}: {doubt:?}"
            );
            assert!(doubt.unwrap_or_default().contains(said));
        }
    }

    #[test]
    fn acceptance_applies_to_one_document() {
        let doubts = ["a".to_owned(), "b".to_owned()];
        let options = |force, accept: &str| RefreshOptions {
            force,
            accept: (!accept.is_empty()).then(|| accept.to_owned()),
        };
        let judge = |doubts, options| decide(doubts, &options, "f00");
        assert_eq!(judge(&[], options(false, "")), Acceptance::Take);
        assert_eq!(
            judge(&doubts, options(false, "")),
            Acceptance::Hold("a; b".to_owned())
        );
        assert_eq!(judge(&doubts, options(false, "f00")), Acceptance::Take);
        assert_eq!(judge(&doubts, options(true, "")), Acceptance::Take);
        let Acceptance::Hold(reason) = judge(&doubts, options(false, "ba4")) else {
            panic!("accepted another document");
        };
        assert!(
            reason.starts_with("not accepted, because the document changed")
                && reason.ends_with("now: a; b")
        );
        let whole = judge(&[], options(false, "ba4"));
        assert!(matches!(whole, Acceptance::TakeAnother(_)));
    }

    #[test]
    fn missing_final_line_feed_means_truncation_unless_it_was_missing_before() {
        let made = |format, bytes: &[u8]| Fingerprint::new(OriginKind::Configured, format, bytes);
        for (format, before, now, is_doubtful) in [
            (Format::WebRobotsDb, None, "robot-id: a", false),
            (Format::WebRobotsDb, None, "robot-id: a\n", false),
            (
                Format::WebRobotsDb,
                Some("robot-id: a\n"),
                "robot-id: ab",
                true,
            ),
            (
                Format::WebRobotsDb,
                Some("robot-id: a"),
                "robot-id: ab",
                false,
            ),
            (Format::List, None, "Foo", false),
            (Format::List, Some("Foo\n"), "Fo", true),
            (Format::List, Some("Foo"), "Foo\nBar", false),
            (Format::AiRobotsTxt, Some("{}\n"), "{}", false),
        ] {
            let before = before.map(|text| made(format, text.as_bytes()));
            let bytes = now.as_bytes();
            let doubt = truncation_doubt(format, bytes, before.as_ref());
            assert_eq!(doubt.is_some(), is_doubtful, "{before:?} {now:?}");
        }
    }
}
