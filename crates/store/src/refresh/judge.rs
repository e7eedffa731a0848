//! Is this a registry, and is it all of it?

use super::{RefreshOptions, fingerprint::Fingerprint};
use robot_detection_layer::registry::{Format, is_open_ended, missing_at_the_end};

/// Fewest robots of a published registry.
const FEWEST_ROBOTS: u64 = 10;

/// Part of the bytes that may be control characters: one in this many.
const CONTROLS_ONE_IN: usize = 100;

/// Note on a document that is not the one that a person accepted.
const CHANGED: &str = "it has changed since it was held back, so that it was not accepted; now ";
const CHANGED_AND_WHOLE: &str =
    "what was held back is there no more: this is another document, and it looks whole";

/// Decision about a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Acceptance {
    /// Its robots come into force.
    Take,
    /// Its robots come into force, though it is not the document that was accepted.
    TakeAnother(&'static str),
    /// It is held back until a person accepts it.
    Hold(String),
}

/// Robots of a source, before or after a refresh.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Sizes {
    /// All of them.
    pub(super) robots: u64,
    /// Robots that take part in detection.
    pub(super) active: u64,
}

/// Returns why bytes are no registry, whatever its format; `None` if they may be.
pub(super) fn content_refusal(content_type: Option<&str>, bytes: &[u8]) -> Option<String> {
    let media_type = content_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    // Captive portals, logins and many error pages are web pages that come with 200.
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

/// Returns why bytes look like a part of a registry; `None` if they look whole.
///
/// `before` is what the robots in force were made of, if there are any. Where that ends
/// in the same way, it is the way of the source. The last line of the first document may
/// end as it likes: many a file that was made by hand is whole without a line feed.
pub(super) fn cut_doubt(
    format: Format,
    bytes: &[u8],
    before: Option<&Fingerprint>,
) -> Option<String> {
    let before = before.map(Fingerprint::ending);
    let was_whole = before.is_some_and(|ending| !ending.is_open);
    // Only a change counts: some sources never end their last line.
    if was_whole && is_open_ended(format, bytes) {
        return Some("it is cut off: its last line does not end, as it did before".to_owned());
    }
    if before.is_some_and(|ending| ending.is_short) {
        return None;
    }
    let missing = missing_at_the_end(format, bytes);
    let first = missing.first()?;
    let more = match missing.len() {
        1 => String::new(),
        count => format!(" and {} more fields", count - 1),
    };
    Some(format!(
        "it is cut off: its last record has no {first}{more}, as the others have"
    ))
}

/// Returns why robots are too few; `None` if they are enough.
///
/// A registry has at least 10 robots, one of them active, and not more than a tenth
/// less than before: less is most likely a file cut off, or another file. Plain lists
/// are made by hand and may be short: for them only the loss counts, and only from 10
/// robots on.
pub(super) fn size_doubt(format: Format, now: Sizes, before: Sizes) -> Option<String> {
    let reason = if format != Format::List && now.robots < FEWEST_ROBOTS {
        format!("it has {} robots, fewer than {FEWEST_ROBOTS}", now.robots)
    } else if now.active == 0 {
        format!("none of its {} robots can be used", now.robots)
    } else if is_lossy(format, now.robots, before.robots) {
        format!(
            "it has {} robots, before it had {}: more than a tenth would go at once",
            now.robots, before.robots
        )
    } else if is_lossy(format, now.active, before.active) {
        format!(
            "it has {} robots that can be used, before it had {}: more than a tenth would go at once",
            now.active, before.active
        )
    } else {
        return None;
    };
    Some(reason)
}

/// Returns the decision about a document, given its doubts and what a person accepted.
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
    // Multiplied rather than divided, so that a tenth of a small number is not rounded to
    // nothing.
    counts && now.saturating_mul(10) < before.saturating_mul(9)
}

fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    // The magic number of gzip (RFC 1952 §2.3.1); a single layer was unpacked before.
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return Some("gzip data");
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Some("UTF-16");
    }
    let controls = bytes.iter().filter(|byte| is_odd_control(**byte)).count();
    // The two more are for short files, of which a hundredth would be none.
    let is_binary = bytes.contains(&0) || controls > bytes.len() / CONTROLS_ONE_IN + 2;
    is_binary.then_some("binary data")
}

/// Control characters that no text has; a few get into real files.
fn is_odd_control(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::OriginKind;
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
    fn too_few_robots_are_held_back() {
        use Format::{List, WebRobotsDb};
        for (format, now, before, said) in [
            (WebRobotsDb, sizes(10, 1), sizes(0, 0), ""),
            (WebRobotsDb, sizes(9, 9), sizes(0, 0), "fewer than 10"),
            (WebRobotsDb, sizes(300, 0), sizes(0, 0), "none of its 300"),
            (WebRobotsDb, sizes(270, 270), sizes(300, 300), ""),
            (
                WebRobotsDb,
                sizes(269, 269),
                sizes(300, 290),
                "before it had 300",
            ),
            (
                WebRobotsDb,
                sizes(300, 260),
                sizes(300, 290),
                "before it had 290",
            ),
            (List, sizes(1, 1), sizes(0, 0), ""),
            (List, sizes(1, 1), sizes(9, 9), ""),
            (List, sizes(9, 9), sizes(10, 10), ""),
            (List, sizes(8, 8), sizes(10, 10), "before it had 10"),
            (List, sizes(2, 0), sizes(0, 0), "none of its 2"),
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
    fn what_is_accepted_is_one_document() {
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
            panic!("it is another document");
        };
        assert!(reason.starts_with("it has changed since") && reason.ends_with("now a; b"));
        let whole = judge(&[], options(false, "ba4"));
        assert!(matches!(whole, Acceptance::TakeAnother(_)));
    }

    #[test]
    fn a_last_line_without_an_end_is_a_cut_unless_it_ended_so_before() {
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
            let doubt = cut_doubt(format, bytes, before.as_ref());
            assert_eq!(doubt.is_some(), is_doubtful, "{before:?} {now:?}");
        }
    }
}
