//! Conditions of rules on the parameters of a query.

use std::fmt::Write as _;

use super::{decision::quoted, path::hex_digit, text_pattern::TextPattern};

/// The maximum number of items of a condition.
const MAX_ITEMS: usize = 32;

/// The maximum number of parameters that an explanation names.
const SHOWN: usize = 8;

/// The way in which the site's server reads queries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueryReading {
    /// Whether dots and blanks in names become underscores, as in PHP.
    pub php_names: bool,
    /// Whether `;` separates parameters, as `&` does.
    pub semicolons: bool,
}

/// Conditions on a query, all of which must hold.
///
/// Neither the order, the repetition, the case nor the percent-encoding of parameters matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct QueryConditions {
    items: Vec<Item>,
    /// The number of parameters that the query must exceed.
    over: Option<u32>,
    reading: QueryReading,
    /// Whether a query also matches if `;` is read in the other way.
    is_strict: bool,
}

/// A condition on one parameter.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    /// The decoded name in lower case.
    name: Box<[u8]>,
    check: Check,
}

#[derive(Clone, Debug, PartialEq)]
enum Check {
    Present,
    Absent,
    /// Any value of the parameter matches.
    Value(TextPattern),
}

impl Item {
    fn parse(text: &str) -> Result<Self, String> {
        let (text, is_absent) = match text.strip_prefix('!') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text, None),
        };
        if name.is_empty() || name.contains(['?', '&', ';', '#', '%', '*']) {
            return Err(
                "not a condition on a parameter; write its decoded name, as in page, \
                        sort=price* or !page"
                    .to_owned(),
            );
        }
        let check = match value {
            Some(_) if is_absent => {
                return Err(
                    "a parameter that must be absent has no value; write only !name".to_owned(),
                );
            }
            Some(value) => Check::Value(TextPattern::parse(value)?),
            None if is_absent => Check::Absent,
            None => Check::Present,
        };
        Ok(Self {
            name: name.to_ascii_lowercase().into_bytes().into(),
            check,
        })
    }
}

impl QueryConditions {
    pub(super) fn parse(
        items: Option<&[String]>,
        over: Option<u32>,
    ) -> Result<Option<Self>, String> {
        if items.is_none() && over.is_none() {
            return Ok(None);
        }
        if items.is_some_and(|items| items.len() > MAX_ITEMS) {
            return Err(format!("there are more than {MAX_ITEMS} items"));
        }
        if items.is_some_and(<[_]>::is_empty) {
            return Err("the list is empty; add items or remove the key".to_owned());
        }
        let parse = |item: &String| {
            Item::parse(item.trim()).map_err(|reason| format!("{item:?}: {reason}"))
        };
        let items = items.map(|items| items.iter().map(parse).collect::<Result<_, _>>());
        Ok(Some(Self {
            items: items.transpose()?.unwrap_or_default(),
            over,
            ..Self::default()
        }))
    }

    /// Sets the reading of queries. The conditions of a rule that does not pass requests also hold
    /// if they hold in the other reading of `;`: no spelling may avoid the rule.
    pub(super) fn read_as(&mut self, reading: QueryReading, is_strict: bool) {
        (self.reading, self.is_strict) = (reading, is_strict);
        for byte in self.items.iter_mut().flat_map(|item| &mut item.name) {
            *byte = reading.folded(*byte);
        }
    }

    /// Returns `true` if the conditions hold for a query as received. Does not allocate.
    pub(super) fn match_query(&self, query: &str) -> bool {
        let semicolons = self.reading.semicolons;
        self.hold(query, semicolons)
            || (self.is_strict && query.contains(';') && self.hold(query, !semicolons))
    }

    fn hold(&self, query: &str, semicolons: bool) -> bool {
        let items = &self.items;
        // A bit for each item that a parameter must still satisfy.
        let mut missing: u32 = 0;
        for (bit, item) in (0..).zip(items) {
            missing |= u32::from(item.check != Check::Absent) << bit;
        }
        let mut count: u32 = 0;
        for (name, value) in parameters(query, semicolons) {
            count = count.saturating_add(1);
            for (bit, item) in (0..).zip(items) {
                let is_open = item.check == Check::Absent || missing & (1 << bit) != 0;
                if !is_open || !self.reading.is_name(&item.name, name) {
                    continue;
                }
                match &item.check {
                    Check::Absent => return false,
                    Check::Value(pattern) if !pattern.match_bytes(Decoded(value)) => {}
                    Check::Present | Check::Value(_) => missing &= !(1 << bit),
                }
            }
        }
        missing == 0 && self.over.is_none_or(|over| count > over)
    }
}

impl QueryReading {
    fn folded(self, byte: u8) -> u8 {
        match byte {
            b'.' | b' ' if self.php_names => b'_',
            byte => byte.to_ascii_lowercase(),
        }
    }

    /// Returns `true` if a parameter has this name, or is an entry of the list with this name:
    /// `name[]`, `name[x]`.
    fn is_name(self, name: &[u8], received: &[u8]) -> bool {
        let mut received = Decoded(received).map(|byte| self.folded(byte));
        name.iter().all(|byte| received.next() == Some(*byte))
            && matches!(received.next(), None | Some(b'['))
    }
}

/// Returns the names and values of the parameters of a query, as received.
fn parameters(query: &str, semicolons: bool) -> impl Iterator<Item = (&[u8], &[u8])> {
    let parts = query
        .as_bytes()
        .split(move |byte| *byte == b'&' || semicolons && *byte == b';');
    parts.filter(|part| !part.is_empty()).map(|part| {
        match memchr::memchr(b'=', part).and_then(|at| part.split_at_checked(at)) {
            Some((name, value)) => (name, value.get(1..).unwrap_or_default()),
            None => (part, &b""[..]),
        }
    })
}

/// The bytes of a text in a query: `%XX` is decoded, and `+` is a blank. Invalid escapes are kept.
#[derive(Clone)]
struct Decoded<'q>(&'q [u8]);

impl Iterator for Decoded<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = match self.0 {
            [b'%', high, low, rest @ ..] => match (hex_digit(*high), hex_digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, rest),
                _ => (b'%', self.0.get(1..)?),
            },
            [b'+', rest @ ..] => (b' ', rest),
            [byte, rest @ ..] => (*byte, rest),
            [] => return None,
        };
        self.0 = rest;
        Some(byte)
    }
}

/// Names the parameters of a query for an explanation, without their values.
pub(super) fn described(query: Option<&str>, reading: QueryReading) -> String {
    let mut parameters = parameters(query.unwrap_or_default(), reading.semicolons).peekable();
    if parameters.peek().is_none() {
        return "The request has no query.".to_owned();
    }
    let mut text = "The query has the parameters ".to_owned();
    for (number, (name, _)) in parameters.by_ref().take(SHOWN).enumerate() {
        let name: Vec<u8> = Decoded(name).collect();
        let comma = if number == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{}", quoted(&name));
    }
    match parameters.count() {
        0 => text.push('.'),
        more => {
            let _ = write!(text, " and {more} more.");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn conditions(
        items: &str,
        over: Option<u32>,
        reading: QueryReading,
        strict: bool,
    ) -> QueryConditions {
        let items: Vec<_> = items
            .split(' ')
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect();
        let items = (!items.is_empty()).then_some(&*items);
        let parsed = QueryConditions::parse(items, over);
        let mut parsed = parsed.unwrap().unwrap();
        parsed.read_as(reading, strict);
        parsed
    }

    fn holds(items: &str, query: &str) -> bool {
        conditions(items, None, QueryReading::default(), false).match_query(query)
    }

    #[test]
    fn parameters_match_in_any_order_and_spelling() {
        for (items, query, expected) in [
            ("a", "a=1", true),
            ("a", "a", true),
            ("a", "a=", true),
            ("a", "b=1&a=1", true),
            ("a", "ab=1", false),
            ("a", "b=a", false),
            ("a", "b=1&&a", true),
            ("a", "", false),
            ("a", "=a", false),
            ("a", "A=1", true),
            ("a", "%61=1", true),
            ("a", "%41=1", true),
            ("a", "a%3D=1", false),
            ("a", "%6=1&a", true),
            ("a", "a[]=1", true),
            ("a", "a[x]=1", true),
            ("a", "a%5B%5D=1", true),
            ("a", "a%5bx%5d=1", true),
            ("a", "xa[]=1", false),
            ("a[x]", "a[x]=1", true),
            ("a[x]", "a[y]=1", false),
            ("add-to-cart", "a=1&add-to-cart=1", true),
            ("sort=price*", "sort=price-asc", true),
            ("sort=price*", "sort=name", false),
            ("sort=price*", "sort=name&sort=price", true),
            ("sort=price*", "sort=PRICE", true),
            ("sort=*,*", "sort=a%2Cb", true),
            ("sort=*,*", "sort=a,b", true),
            ("sort=a?b", "sort=a+b", true),
            ("sort=", "sort=", true),
            ("sort=", "sort", true),
            ("sort=", "sort=a", false),
            ("sort=?", "sort=%C3%A9", false),
            ("sort=??", "sort=%C3%A9", true),
            ("q=*%*", "q=%", true),
            ("q=*%*", "q=100%zz", true),
            ("!page", "", true),
            ("!page", "a=1", true),
            ("!page", "page=2", false),
            ("!page", "p%61ge[]=2", false),
            ("a !page", "a=1", true),
            ("a !page", "a=1&page=1", false),
            ("a b", "b&a", true),
            ("a b", "a=1&a=2", false),
            ("a=1 a=2", "a=2&a=1", true),
            ("a=1 a=2", "a=1", false),
            ("é", "%C3%A9=1", true),
            ("a b", "%FF%FE&a&b", true),
        ] {
            assert_eq!(holds(items, query), expected, "{items} {query}");
        }
        let long = format!("{}&add-to-cart=1", "x=1&".repeat(300));
        assert!(holds("add-to-cart", &long));
        assert!(holds("z", &format!("a={}&z", "b".repeat(60_000))));
    }

    #[test]
    fn semicolons_names_and_numbers_follow_the_settings() {
        let php = QueryReading {
            php_names: true,
            ..QueryReading::default()
        };
        let semicolons = QueryReading {
            semicolons: true,
            ..QueryReading::default()
        };
        for (items, over, reading, strict, query, expected) in [
            ("a_b", None, php, false, "a.b=1", true),
            ("a.b", None, php, false, "a+b=1", true),
            ("a_b", None, QueryReading::default(), false, "a.b=1", false),
            ("a", None, semicolons, false, "b;a", true),
            ("a", None, QueryReading::default(), false, "b;a", false),
            ("a", None, QueryReading::default(), true, "b;a", true),
            ("!a", None, semicolons, true, "b;a", true),
            ("", Some(2), QueryReading::default(), false, "a&b", false),
            ("", Some(2), QueryReading::default(), false, "a&b&a", true),
            ("", Some(2), QueryReading::default(), false, "a&&&b", false),
            ("", Some(2), semicolons, false, "a;b;c", true),
        ] {
            let conditions = conditions(items, over, reading, strict);
            assert_eq!(conditions.match_query(query), expected, "{items} {query}");
        }
    }

    #[test]
    fn wrong_items_are_errors() {
        for item in [
            "", "!", "=1", "?a", "a&b", "a;b", "!a=1", "%61", "a*", "a=\\",
        ] {
            assert!(Item::parse(item).is_err(), "{item}");
        }
        let many = vec!["a".to_owned(); MAX_ITEMS + 1];
        assert!(QueryConditions::parse(Some(&many), None).is_err());
    }

    #[test]
    fn an_explanation_names_parameters_without_values() {
        let text = described(Some("a=secret&b%20c&d[]=1"), QueryReading::default());
        assert_eq!(text, r#"The query has the parameters "a", "b c", "d[]"."#);
        let many = described(Some(&"a&".repeat(10)), QueryReading::default());
        assert!(many.ends_with(" and 2 more."), "{many}");
    }

    proptest! {
        #[test]
        fn order_repetition_and_spelling_do_not_matter(
            parameters in prop::collection::vec(("[ab]", "[xy]{0,2}"), 0..6),
            seed in any::<u64>(),
        ) {
            let write = |all: &[(String, String)]| {
                let all: Vec<_> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
                all.join("&")
            };
            let plain = write(&parameters);
            let mut other: Vec<_> = parameters.iter().rev().cloned().collect();
            other.extend(parameters.first().cloned());
            let spelled: String = write(&other)
                .bytes()
                .enumerate()
                .map(|(at, byte)| match byte {
                    b'=' | b'&' => char::from(byte).to_string(),
                    _ if seed >> (at % 64) & 1 == 1 => format!("%{byte:02X}"),
                    _ => char::from(byte).to_string(),
                })
                .collect();
            for items in ["a", "!a", "a=x*", "a b=y", "a !b"] {
                prop_assert_eq!(holds(items, &plain), holds(items, &spelled), "{} {} {}", items, plain, spelled);
            }
        }
    }
}
