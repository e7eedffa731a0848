//! Items in a list of directives.

use super::Directive;

/// The maximum number of comma-separated list items that form one date.
// Supported dates have at most three commas: after the weekday, the day and the year.
const MAX_DATE_ITEMS: usize = 4;

/// An item in a list of directives.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Item<'t> {
    /// The text of the item as written, without surrounding white space.
    pub(super) text: &'t str,
    pub(super) kind: ItemKind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ItemKind {
    /// The directives that the item stands for, at most two; none for words that state the default.
    Directives([Option<Directive>; 2]),
    /// The name of a robot that the following items apply to.
    Token,
    Unknown,
}

/// An iterator over the items in a list; empty items are skipped.
#[derive(Clone, Debug)]
pub(super) struct Items<'t> {
    rest: &'t str,
    has_tokens: bool,
}

impl<'t> Items<'t> {
    /// Creates an iterator over the items in the content of a META tag.
    pub(super) fn from_tag(content: &'t str) -> Self {
        Self {
            rest: content,
            has_tokens: false,
        }
    }

    /// Creates an iterator over the items in an `X-Robots-Tag` value, in which `token:` may precede
    /// rules.
    pub(super) fn from_header(value: &'t str) -> Self {
        Self {
            rest: value,
            has_tokens: true,
        }
    }

    /// Parses the date of `unavailable_after`, which may consist of several comma-separated items.
    fn date(&mut self, from: &'t str, value: &'t str) -> Item<'t> {
        let commas = value.match_indices(',').map(|(at, _)| at);
        let ends = commas.chain([value.len()]).take(MAX_DATE_ITEMS);
        // Try the longest text first: `June 25` alone is not a date, and a time may follow the last
        // comma.
        let longest = ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
            let (date, rest) = value.split_at_checked(end)?;
            let directive = Directive::from_pair("unavailable_after", trim(date))?;
            Some((directive, rest))
        });
        let (kind, rest) = match longest {
            Some((directive, rest)) => (ItemKind::Directives([Some(directive), None]), rest),
            // An invalid date must not hide the directives that follow its comma.
            None => (
                ItemKind::Unknown,
                value.find(',').map_or("", |at| tail(value, at)),
            ),
        };
        self.rest = rest;
        let text = from.get(..from.len() - rest.len()).unwrap_or(from);
        Item {
            text: trim(text),
            kind,
        }
    }
}

impl<'t> Iterator for Items<'t> {
    type Item = Item<'t>;

    fn next(&mut self) -> Option<Item<'t>> {
        self.rest = self
            .rest
            .trim_start_matches([',', ' ', '\t', '\n', '\r', '\x0C']);
        if self.rest.is_empty() {
            return None;
        }
        let from = self.rest;
        // Search only up to the first relevant character, so that tokens are not scanned
        // repeatedly.
        let sign = from.find([',', ':']).unwrap_or(from.len());
        let (name, behind) = from.split_at_checked(sign).unwrap_or((from, ""));
        let name = trim(name);
        let Some(value) = behind.strip_prefix(':') else {
            self.rest = behind;
            let directives = Directive::from_word(name);
            let kind = directives.map_or(ItemKind::Unknown, ItemKind::Directives);
            return Some(Item { text: name, kind });
        };
        if name.eq_ignore_ascii_case("unavailable_after") {
            return Some(self.date(from, value));
        }
        // `name: 50` is an unknown directive, not the name of a robot.
        if self.has_tokens && is_token(name) && !starts_with_number(value) {
            self.rest = value;
            return Some(Item {
                text: name,
                kind: ItemKind::Token,
            });
        }
        let (text, rest) = from.split_once(',').unwrap_or((from, ""));
        self.rest = rest;
        let value = value.split(',').next().unwrap_or_default();
        let directive = Directive::from_pair(name, trim(value));
        let kind = match directive {
            Some(directive) => ItemKind::Directives([Some(directive), None]),
            None => ItemKind::Unknown,
        };
        Some(Item {
            text: trim(text),
            kind,
        })
    }
}

/// The white space characters of HTML and HTTP.
const BLANKS: [char; 5] = [' ', '\t', '\n', '\r', '\x0C'];

/// Removes white space, as defined by HTML and HTTP, from both ends of a text.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(BLANKS)
}

/// Returns `true` if the text is the name of a robot and not the name of a directive.
///
/// A name starts with a letter and contains only token characters (RFC 9110 §5.6.2), or is `*`.
fn is_token(name: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-./^_`|~".contains(&byte);
    name == "*"
        || (name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(is_token_byte)
            && !Directive::is_name(name))
}

/// Returns `true` if a list of items starts with a number, which may be the value of an unknown
/// directive.
pub(super) fn starts_with_number(list: &str) -> bool {
    let list = list.trim_start_matches(BLANKS);
    let list = list.strip_prefix(['-', '+']).unwrap_or(list);
    let rest = list.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = rest.trim_start_matches(BLANKS);
    rest.len() < list.len() && (behind.is_empty() || behind.starts_with(','))
}

fn tail(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats items: `directive`, `[token]`, `(unknown)`, `+` for words that state the default.
    fn read(items: Items<'_>) -> String {
        let shown = items.map(|item| match item.kind {
            ItemKind::Token => format!("[{}]", item.text),
            ItemKind::Unknown => format!("({})", item.text),
            ItemKind::Directives([None, _]) => "+".to_owned(),
            ItemKind::Directives([Some(one), None]) => one.to_string(),
            ItemKind::Directives([Some(one), Some(two)]) => format!("{one}&{two}"),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn header(value: &str) -> String {
        read(Items::from_header(value))
    }

    #[test]
    fn items_are_separated_by_commas_and_trimmed() {
        let content = " , NoIndex\t,\r\n NOFOLLOW ,,none,all,\x0Cindex , no index,no\u{a0}index ,";
        assert_eq!(
            read(Items::from_tag(content)),
            "noindex nofollow noindex&nofollow + + (no index) (no\u{a0}index)"
        );
        assert_eq!(read(Items::from_tag("")), "");
        assert_eq!(read(Items::from_tag(" ,, ")), "");
    }

    #[test]
    fn values_follow_colons() {
        let content = "max-snippet:50, MAX-Snippet : -1 ,max-snippet:many,max-snippet,max-snippet:,\
            max-image-preview: LARGE,max-image-preview:huge,max-video-preview:0,max_snippet:2";
        assert_eq!(
            read(Items::from_tag(content)),
            "max-snippet:50 max-snippet:-1 (max-snippet:many) (max-snippet) (max-snippet:) \
             max-image-preview:large (max-image-preview:huge) max-video-preview:0 (max_snippet:2)"
        );
    }

    #[test]
    fn dates_may_contain_commas() {
        for date in [
            "25 Jun 2010 15:00:00 PST",
            "Fri, 25 Jun 2010 15:00:00 PST",
            "Friday, 25-Jun-10 15:00:00 PST",
            "2010-06-25T15:00:00+01:00",
            "2010-06-25",
            "Friday, June 25, 2010, 15:00 UTC",
        ] {
            let known = format!("unavailable_after: {date}");
            assert_eq!(header(&known), known);
            let list = format!("nofollow,unavailable_after:{date} , noindex");
            assert_eq!(header(&list), format!("nofollow {known} noindex"));
            let list = format!("Unavailable_After  :  {date},otherbot: noindex");
            assert_eq!(header(&list), format!("{known} [otherbot] noindex"));
            assert_eq!(read(Items::from_tag(&known)), known);
        }
    }

    #[test]
    fn invalid_date_does_not_hide_later_items() {
        let list = "unavailable_after: soon, noindex";
        assert_eq!(header(list), "(unavailable_after: soon) noindex");
        let list = "unavailable_after: 25. Juni 2010, 15:00 Uhr, noindex";
        assert_eq!(
            header(list),
            "(unavailable_after: 25. Juni 2010) (15:00 Uhr) noindex"
        );
        assert_eq!(header("unavailable_after:"), "(unavailable_after:)");
        assert_eq!(header("unavailable_after"), "(unavailable_after)");
    }

    #[test]
    fn tokens_are_recognised_only_in_headers() {
        assert_eq!(
            header("googlebot: noindex, nofollow, other/2.1:none,*:all"),
            "[googlebot] noindex nofollow [other/2.1] noindex&nofollow [*] +"
        );
        assert_eq!(
            header("a:b: unavailable_after: 2010-06-25, noindex"),
            "[a] [b] unavailable_after: 2010-06-25 noindex"
        );
        assert_eq!(header("googlebot: , noindex"), "[googlebot] noindex");
        assert_eq!(
            header("a robot: noindex, nofollow"),
            "(a robot: noindex) nofollow"
        );
        assert_eq!(header("noindex: googlebot"), "(noindex: googlebot)");
        assert_eq!(header("max-ads:3, noindex"), "(max-ads:3) noindex");
        assert_eq!(header("max-ads: -1 "), "(max-ads: -1)");
        assert_eq!(header("a: 3b"), "[a] (3b)");
        assert_eq!(header("émile: noindex"), "(émile: noindex)");
        assert_eq!(header(": noindex"), "(: noindex)");
        assert_eq!(
            read(Items::from_tag("googlebot: noindex, nofollow")),
            "(googlebot: noindex) nofollow"
        );
    }
}
