//! User-Agents that start like a browser's User-Agent but contain the name of a robot.

use super::{
    browser::{is_browser_part, is_contact},
    kind,
    name::name_of,
    version, words,
};
use crate::registry::{Pattern, text::starts_with_ignore_case};

/// A segment of a User-Agent that may be a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Segment<'a> {
    text: &'a str,
    place: Place,
}

/// The position of a segment in a User-Agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// The segment directly follows `compatible;`.
    Introduced,
    /// The segment is in the same parentheses, after the first segment that follows `compatible;`.
    Behind,
    /// The segment is anywhere else in the User-Agent.
    Elsewhere,
}

/// Returns `true` if a cleaned User-Agent starts like a browser's User-Agent.
pub(super) fn is_wrapper(useragent: &str) -> bool {
    ["mozilla", "opera"].iter().any(|word| {
        starts_with_ignore_case(useragent, word)
            && useragent
                .as_bytes()
                .get(word.len())
                .is_none_or(|&next| !next.is_ascii_alphanumeric())
    })
}

/// Returns the pattern for the name within a User-Agent that starts like a browser's User-Agent.
pub(super) fn pattern_in_wrapper(useragent: &str) -> Option<Pattern> {
    let segments = segments(useragent);
    in_order_of_preference(&segments).find_map(|segment| {
        let introduced = segment.place != Place::Elsewhere;
        kind::pattern_inside(&name_of(segment.text)?, useragent, introduced)
    })
}

/// Returns the pattern for a name after `compatible;` in a User-Agent unlike a browser's.
///
/// Some robots use the User-Agent of a phone, which does not start with `Mozilla`.
pub(super) fn pattern_behind_compatible(useragent: &str) -> Option<Pattern> {
    let segments = segments(useragent);
    let introduced = segments
        .iter()
        .find(|segment| segment.place == Place::Introduced && words::names_robot(segment.text))?;
    kind::pattern_inside(&name_of(introduced.text)?, useragent, true)
}

fn in_order_of_preference<'a>(
    segments: &'a [Segment<'a>],
) -> impl Iterator<Item = &'a Segment<'a>> {
    let robots = |places: &'static [Place]| {
        segments.iter().filter(move |segment| {
            places.contains(&segment.place) && words::names_robot(segment.text)
        })
    };
    let others = |places: &'static [Place]| {
        segments
            .iter()
            .filter(move |segment| places.contains(&segment.place))
    };
    robots(&[Place::Introduced, Place::Behind])
        .chain(others(&[Place::Introduced]))
        .chain(robots(&[Place::Elsewhere]))
        .chain(others(&[Place::Behind]))
        .chain(others(&[Place::Elsewhere]))
}

/// Returns the segments that browsers do not send, in order.
fn segments(useragent: &str) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    let mut depth = 0_usize;
    let mut compatible = None;
    for piece in useragent.split_inclusive(['(', ')', '[', ']', '{', '}', ';', ',']) {
        let text = piece
            .trim_end_matches(['(', ')', '[', ']', '{', '}', ';', ','])
            .trim();
        if depth == 0 {
            push_phrases(text, &mut segments);
        } else {
            push_inside(text, &mut compatible, &mut segments);
        }
        match piece.chars().last() {
            Some('(' | '[' | '{') => depth += 1,
            Some(')' | ']' | '}') => {
                // A parenthesis may be closed without being opened, because people write these
                // texts by hand.
                depth = depth.saturating_sub(1);
                compatible = None;
            }
            _ => {}
        }
    }
    segments
}

/// Adds a segment inside parentheses, which may start with `compatible`.
fn push_inside<'a>(text: &'a str, compatible: &mut Option<Place>, segments: &mut Vec<Segment<'a>>) {
    let mut text = text;
    if starts_with_ignore_case(text, "compatible") {
        let rest = text.get("compatible".len()..).unwrap_or_default();
        if rest.starts_with(|c: char| c.is_alphanumeric()) {
            return;
        }
        *compatible = Some(Place::Introduced);
        text = rest.trim_start_matches([' ', ':', '-']);
        if text.is_empty() {
            return;
        }
    }
    let place = compatible.unwrap_or(Place::Elsewhere);
    if compatible.is_some() {
        // The word introduces the part directly after it; later parts are less likely to be names.
        *compatible = Some(Place::Behind);
    }
    if !is_browser_part(text) {
        segments.push(Segment { text, place });
    }
}

/// Adds the words outside parentheses, as phrases that each end with a version.
fn push_phrases<'a>(text: &'a str, segments: &mut Vec<Segment<'a>>) {
    let mut start = None;
    let mut end = 0;
    let mut offset = 0;
    for word in text.split_inclusive(' ') {
        let bare = word.trim();
        let versioned = bare
            .split_once('/')
            .is_some_and(|(_, v)| version::follows_slash(v));
        let goes_on = !bare.is_empty() && !is_browser_part(bare) && !is_contact(bare);
        if goes_on {
            start = start.or(Some(offset));
            end = offset + bare.len();
        }
        if !goes_on || versioned {
            push_phrase(text, start.take(), end, segments);
        }
        offset += word.len();
    }
    push_phrase(text, start, end, segments);
}

fn push_phrase<'a>(
    text: &'a str,
    start: Option<usize>,
    end: usize,
    segments: &mut Vec<Segment<'a>>,
) {
    if let Some(text) = start.and_then(|start| text.get(start..end)) {
        segments.push(Segment {
            text,
            place: Place::Elsewhere,
        });
    }
}
