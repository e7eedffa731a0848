//! META tags of an HTML page.

mod foreign;
mod tags;

use std::{borrow::Cow, time::Duration};

use self::tags::each_meta_tag;
use super::{RobotsMeta, items::trim};

/// The maximum number of bytes of a page that are parsed: 16 MiB.
///
/// Search engines parse less than 16 MiB of a page.
pub const MAX_HTML_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of keywords that are stored for a page.
const MAX_KEYWORDS: usize = 1000;

/// The META tags of a page: the tags for robots, and the other tags listed in table 9-5 of TDG.
///
/// META tags are recognised anywhere in the page. They belong in the head (TDG 9.4.7), but parsers
/// also accept them in the body (WHATWG HTML §13.2.6.4.7), and obeying them there is the stricter
/// interpretation. Tags in comments, scripts, styles, text elements such as `<title>` and
/// `<textarea>`, frames and templates are ignored. Tags in `<noscript>` are recognised, because
/// robots run no scripts.
///
/// If an attribute is repeated, only its first value is used, of which at most 64 KiB are read. The
/// attributes `http-equiv` and `property` are not treated as names.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::meta::PageMeta;
///
/// let page = PageMeta::read(br#"
///     <!-- <meta name="robots" content="noindex"> -->
///     <META CONTENT='no&#102;ollow' NAME=robots>
///     <meta name="keywords" content="antiques, furniture">"#);
/// assert_eq!(page.robots.for_all_robots().directives.to_string(), "nofollow");
/// assert_eq!(page.keywords, ["antiques", "furniture"]);
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct PageMeta {
    /// The statements for robots in the page's META tags; statements from response headers can be
    /// added.
    pub robots: RobotsMeta,
    /// The description of the page, from the first description tag that is not empty.
    pub description: Option<String>,
    /// The keywords of the page, at most 1,000.
    pub keywords: Vec<String>,
    /// The requested interval between visits to the page, such as `10 days`.
    pub revisit_after: Option<Duration>,
}

impl PageMeta {
    /// Parses the META tags of a page, which may consist of any bytes, in time proportional to the
    /// number of bytes.
    ///
    /// At most [`MAX_HTML_BYTES`] bytes are parsed. The encoding must be UTF-8, another encoding
    /// compatible with ASCII, or UTF-16 with a byte order mark.
    #[must_use]
    pub fn read(html: &[u8]) -> Self {
        let html = html.get(..MAX_HTML_BYTES).unwrap_or(html);
        let html = decode(html);
        let mut page = Self::default();
        each_meta_tag(&html, |name, content| {
            let (name, content) = (
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(content),
            );
            page.add(trim(&name), &content);
        });
        page
    }

    fn add(&mut self, name: &str, content: &str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("description") {
            let text = content.split_whitespace().collect::<Vec<_>>().join(" ");
            if self.description.is_none() && !text.is_empty() {
                self.description = Some(text);
            }
        } else if is("keywords") {
            let words = content.split(',').map(str::trim);
            let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
            let room = MAX_KEYWORDS.saturating_sub(self.keywords.len());
            self.keywords.extend(words.take(room));
        } else if is("revisit-after") {
            self.revisit_after = self.revisit_after.or_else(|| revisit_after(content));
        } else {
            self.robots.add_tag(name, content);
        }
    }
}

/// Returns the name and the content of each META tag of a page, up to a thousand.
#[must_use]
pub fn tags(html: &[u8]) -> Vec<(String, String)> {
    let html = html.get(..MAX_HTML_BYTES).unwrap_or(html);
    let mut tags = Vec::new();
    each_meta_tag(&decode(html), |name, content| {
        if tags.len() < MAX_KEYWORDS {
            let text = |octets| String::from_utf8_lossy(octets).trim().to_owned();
            tags.push((text(name), text(content)));
        }
    });
    tags
}

/// Parses an interval such as `10 days` or `2 weeks`; a number without a unit is a number of days.
fn revisit_after(content: &str) -> Option<Duration> {
    let content = content.trim();
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = content.split_at_checked(digits)?;
    let unit = unit.trim().to_ascii_lowercase();
    let hours = match unit.as_str() {
        "hour" | "hours" => 1,
        "" | "day" | "days" => 24,
        "week" | "weeks" => 7 * 24,
        "month" | "months" => 30 * 24,
        "year" | "years" => 365 * 24,
        _ => return None,
    };
    // A period of 2³² years has fewer than 2⁶⁴ seconds, so the product does not overflow.
    let number: u32 = number.parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * hours * 3600))
}

/// Converts a page from UTF-16 to UTF-8, and returns other pages unchanged.
fn decode(html: &[u8]) -> Cow<'_, [u8]> {
    let (units, read): (_, fn([u8; 2]) -> u16) = match html {
        [0xFF, 0xFE, rest @ ..] => (rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => (rest, u16::from_be_bytes),
        _ => return Cow::Borrowed(html),
    };
    let (units, _) = units.as_chunks();
    let characters = char::decode_utf16(units.iter().copied().map(read));
    let text: String = characters
        .map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text.into_bytes())
}
