//! Streaming XML reader.

use std::borrow::Cow;

use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

/// Maximum amount of text stored per element, in bytes.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// Reads XML leniently, up to the first unrecoverable error.
///
/// `start` is called for each start tag and returns whether to continue. `end` is called for each
/// end tag with its local name, its depth (0 for the root) and the text since the previous tag.
/// Entities declared in the document are not expanded, so they cannot exhaust memory.
pub(crate) fn read<'a>(
    xml: &'a str,
    mut start: impl FnMut(&BytesStart<'a>, usize) -> bool,
    mut end: impl FnMut(&str, usize, &str) -> bool,
) {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    // Bare `&` and overlapping tags are common in feeds and are tolerated.
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    config.expand_empty_elements = true;
    let mut depth = 0_usize;
    let mut text = String::new();
    loop {
        let goes_on = match reader.read_event() {
            Ok(Event::Start(tag)) => {
                text.clear();
                let goes_on = start(&tag, depth);
                depth += 1;
                goes_on
            }
            Ok(Event::End(tag)) => {
                depth = depth.saturating_sub(1);
                let goes_on = end(tag.local_name().as_ref(), depth, text.trim());
                text.clear();
                goes_on
            }
            Ok(Event::Text(part)) => push(&mut text, &part.into_inner()),
            Ok(Event::CData(part)) => push(&mut text, &part.into_inner()),
            Ok(Event::GeneralRef(reference)) => match reference.resolve_char_ref() {
                Ok(Some(c)) => push(&mut text, c.encode_utf8(&mut [0; 4])),
                // HTML entities such as `&nbsp;` are undefined in XML; a space keeps the words
                // apart.
                _ => push(
                    &mut text,
                    resolve_predefined_entity(&reference).unwrap_or(" "),
                ),
            },
            // The parser cannot continue after an error; everything read before the error is kept.
            Ok(Event::Eof) | Err(_) => false,
            Ok(_) => true,
        };
        if !goes_on {
            return;
        }
    }
}

/// Returns the value of an attribute, with character references decoded.
pub(crate) fn attribute<'a>(tag: &BytesStart<'a>, name: &str) -> Option<Cow<'a, str>> {
    let mut attributes = tag.html_attributes();
    let attributes = attributes.with_checks(false).flatten();
    let mut named = attributes.filter(|it| it.key.as_ref() == name);
    let value = named.next()?.value;
    match quick_xml::escape::unescape(&value) {
        Ok(decoded) => Some(Cow::Owned(decoded.into_owned())),
        Err(_) => Some(Cow::Owned(value.into_owned())),
    }
}

fn push(text: &mut String, part: &str) -> bool {
    let room = MAX_TEXT_BYTES.saturating_sub(text.len());
    text.push_str(
        part.get(..part.floor_char_boundary(room))
            .unwrap_or_default(),
    );
    true
}
