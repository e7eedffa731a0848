//! Parser for address lists in JSON documents of any structure.
//!
//! The document is evaluated as it is parsed, without building a tree. A text is treated as an
//! entry if the name of its member indicates addresses, such as `ipv4Prefix` or `ips`, if it is in
//! an array that contains addresses, or if it is a prefix with a length.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{
    RangesError,
    entries::{DocumentEntries, day},
    names, prefix,
};

/// The maximum nesting depth of objects and arrays.
const MAX_DEPTH: usize = 16;

/// Reads an address list from one or more consecutive JSON documents, such as one per line.
pub(super) fn read(
    text: &str,
    selection: &Selection<'_>,
    max_entries: usize,
) -> Result<DocumentEntries, RangesError> {
    let mut walk = Walker {
        selection,
        found: DocumentEntries::new(max_entries),
        refusal: None,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = loop {
        let document = Value::of(&mut walk, 0, "", Position::Member { is_address: false });
        match document.deserialize(&mut deserializer) {
            Ok(_) if deserializer.end().is_err() => {}
            read => break read.map(drop),
        }
    };
    match (walk.refusal, read) {
        (Some(refusal), _) => Err(refusal),
        (None, Err(error)) => Err(RangesError::Json {
            reason: error.to_string(),
        }),
        (None, Ok(())) => Ok(walk.found),
    }
}

struct Walker<'s> {
    selection: &'s Selection<'s>,
    found: DocumentEntries,
    /// The error that caused parsing to stop.
    refusal: Option<RangesError>,
}

/// A JSON value to parse next.
struct Value<'w, 's, 'n> {
    walk: &'w mut Walker<'s>,
    depth: usize,
    /// The name of the member that contains the value, or that contains the array with the value.
    name: &'n str,
    place: Position,
}

#[derive(Clone, Copy)]
enum Position {
    Member {
        is_address: bool,
    },
    /// The text is in an array of a member whose name does not indicate addresses.
    List,
}

/// The kind of a parsed JSON value.
enum Item {
    Address,
    /// A text in an array that is not an address.
    NoAddress(String),
    /// A text that selects its object.
    Selector,
    Other,
}

impl Walker<'_> {
    fn text(&mut self, name: &str, text: &str, place: Position) -> Result<Item, RangesError> {
        let is_selected = *self.selection == Selection::All;
        let text = text.trim();
        if let Position::Member { is_address: true } = place {
            if !text.is_empty() {
                self.found.add(text, is_selected)?;
            }
            return Ok(Item::Address);
        }
        let is_list = matches!(place, Position::List);
        // Outside of arrays, a bare address may have any meaning, such as a contact's host; an
        // address with a length is a prefix.
        let net = prefix::read(text).filter(|_| is_list || text.contains('/'));
        if net.is_some() {
            self.found.push(net, is_selected)?;
            return Ok(Item::Address);
        }
        Ok(if is_list && !text.is_empty() {
            Item::NoAddress(text.chars().take(60).collect())
        } else if !is_list && self.selection.is_text(name, text) {
            Item::Selector
        } else {
            Item::Other
        })
    }

    /// Counts texts in an array of addresses as unreadable entries.
    fn add_unreadable(&mut self, count: usize, first: &str) -> Result<(), RangesError> {
        self.found.show(first);
        let is_selected = *self.selection == Selection::All;
        (0..count).try_for_each(|_| self.found.push(None, is_selected))
    }

    /// Stores the error. The returned error only stops the parser.
    fn give_up<E: Error>(&mut self, refusal: RangesError) -> E {
        let error = E::custom(&refusal);
        self.refusal = Some(refusal);
        error
    }
}

impl<'w, 's, 'n> Value<'w, 's, 'n> {
    fn of(walk: &'w mut Walker<'s>, depth: usize, name: &'n str, place: Position) -> Self {
        Self {
            walk,
            depth,
            name,
            place,
        }
    }

    /// Returns the nesting depth of the values inside the current one.
    fn deeper<E: Error>(&mut self) -> Result<usize, E> {
        // Each level is a function call, so the document must not determine the depth of the stack.
        if self.depth >= MAX_DEPTH {
            return Err(self.walk.give_up(RangesError::TooDeep { max: MAX_DEPTH }));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, '_> {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, '_> {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        if self.depth == 1 && self.walk.found.created.is_none() && names::is_day(self.name) {
            // The date of the list is at the top level; dates at deeper levels belong to individual
            // entries.
            self.walk.found.created = day(text);
        }
        let item = self.walk.text(self.name, text, self.place);
        item.map_err(|refusal| self.walk.give_up(refusal))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Item, A::Error> {
        let depth = self.deeper()?;
        let first = self.walk.found.entries.len();
        let mut is_selected = false;
        while let Some(name) = map.next_key::<String>()? {
            let before = self.walk.found.entries.len();
            let place = Position::Member {
                is_address: names::is_address(&name),
            };
            let value = Value::of(self.walk, depth, &name, place);
            is_selected |= matches!(map.next_value_seed(value)?, Item::Selector);
            if self.walk.selection.is_member(&name) {
                self.walk.found.select_from(before);
            }
        }
        if is_selected {
            self.walk.found.select_from(first);
        }
        Ok(Item::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Item, A::Error> {
        let depth = self.deeper()?;
        let place = match self.place {
            Position::Member { is_address: true } => self.place,
            _ => Position::List,
        };
        let (mut has_addresses, mut strangers, mut first) = (false, 0, None);
        loop {
            let value = Value::of(self.walk, depth, self.name, place);
            match list.next_element_seed(value)? {
                None => break,
                Some(Item::Address) => has_addresses = true,
                Some(Item::NoAddress(text)) => {
                    strangers += 1;
                    first.get_or_insert(text);
                }
                Some(Item::Selector | Item::Other) => {}
            }
        }
        // Texts in an array count as unreadable addresses only if other elements are addresses.
        if let Some(first) = first.filter(|_| has_addresses) {
            let added = self.walk.add_unreadable(strangers, &first);
            added.map_err(|refusal| self.walk.give_up::<A::Error>(refusal))?;
        }
        Ok(Item::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Item, E> {
        Ok(Item::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Item, E> {
        Ok(Item::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Item, E> {
        Ok(Item::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Item, E> {
        Ok(Item::Other)
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Other)
    }
}

/// The part of a document that is selected by the fragment of the list's URL.
///
/// Some documents list more than a robot's addresses. The fragment `#hooks` selects the value of
/// the member `hooks`, and `#service=CHECKS` selects objects whose member `service` is `CHECKS`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Selection<'a> {
    /// The whole document, as the URL has no fragment.
    All,
    /// The value of the member with this name.
    Member(&'a str),
    /// The objects in which a member has a certain text.
    Text {
        /// The name of the member by which objects are selected.
        member: &'a str,
        /// The text that the member must have.
        text: &'a str,
    },
}

impl<'a> Selection<'a> {
    /// Returns the selection specified by the fragment of a URL.
    pub(super) fn from_url(url: &'a str) -> Self {
        let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
        match fragment.split_once('=') {
            _ if fragment.is_empty() => Self::All,
            Some((member, text)) => Self::Text { member, text },
            None => Self::Member(fragment),
        }
    }

    /// Returns `true` if the value of a member is selected.
    pub(super) fn is_member(&self, name: &str) -> bool {
        matches!(self, Self::Member(member) if *member == name)
    }

    /// Returns `true` if a member with this name and text selects its object.
    pub(super) fn is_text(&self, name: &str, value: &str) -> bool {
        matches!(self, Self::Text { member, text } if *member == name && *text == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_fragment_selects_a_part() {
        for (url, selection) in [
            ("https://lists.example/ips.json", Selection::All),
            ("https://lists.example/ips.json#", Selection::All),
            (
                "https://lists.example/meta#hooks",
                Selection::Member("hooks"),
            ),
            (
                "https://lists.example/ips.json#service=A#B=C",
                Selection::Text {
                    member: "service",
                    text: "A#B=C",
                },
            ),
        ] {
            assert_eq!(Selection::from_url(url), selection, "{url}");
        }
    }
}
