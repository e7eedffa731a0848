//! Elements and text of XML, read one after the other.

use std::borrow::Cow;

use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

/// Bytes of an element's text that are kept.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// Reads XML, leniently, as far as it can be read.
///
/// `end` hears of each element without elements in it as it ends, and of each
/// other one: local name, depth (the root's is 0) and text that stood in it.
/// `start` hears of each that begins, and says whether to go on. Entities that
/// a document declares itself are not known, so that none grows.
pub(super) fn read<'a>(
    xml: &'a str,
    mut start: impl FnMut(&BytesStart<'a>, usize) -> bool,
    mut end: impl FnMut(&str, usize, &str) -> bool,
) {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    // A bare `&` and tags that cross are common in feeds; what is around them is read all the same.
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
                // HTML's entities, such as `&nbsp;`, are none of XML: the words around one must not
                // join.
                _ => push(
                    &mut text,
                    resolve_predefined_entity(&reference).unwrap_or(" "),
                ),
            },
            // The parser cannot go on behind a fault: what it read before counts.
            Ok(Event::Eof) | Err(_) => false,
            Ok(_) => true,
        };
        if !goes_on {
            return;
        }
    }
}

/// Returns the value of an attribute, references decoded.
pub(super) fn attribute<'a>(tag: &BytesStart<'a>, name: &str) -> Option<Cow<'a, str>> {
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
