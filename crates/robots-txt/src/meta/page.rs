//! What the META tags of a page say.

mod foreign;
mod tags;

use std::{borrow::Cow, time::Duration};

use self::tags::each_meta_tag;
use super::{RobotsMeta, items::trim};

/// Bytes of a page that are read, at most: 16 MiB.
///
/// Search engines read less of a page.
pub const MAX_HTML_BYTES: usize = 16 * 1024 * 1024;

/// Keywords that are kept, at most.
const MAX_KEYWORDS: usize = 1000;

/// META tags of a page: those for robots, and others of TDG's table 9-5.
///
/// A META tag counts wherever it stands: its place is the head (TDG
/// 9.4.7), but parsers keep one in the body too (WHATWG HTML §13.2.6.4.7), and
/// the stricter reading is to obey it. It does not count in comments, scripts,
/// styles, texts such as `<title>` and `<textarea>`, frames and templates. In
/// `<noscript>` it does, since robots run no scripts.
///
/// Of an attribute that stands twice the first counts, and of it the first
/// 64 KiB. `http-equiv` and `property` are no names.
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
/// assert_eq!(page.robots.for_everybody().directives.to_string(), "nofollow");
/// assert_eq!(page.keywords, ["antiques", "furniture"]);
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct PageMeta {
    /// What is said to robots; headers of the response may be added.
    pub robots: RobotsMeta,
    /// Summary of the page; the first that is not empty.
    pub description: Option<String>,
    /// Words that describe the page, the first 1,000 of them.
    pub keywords: Vec<String>,
    /// Time after which the page asks to be visited again, such as `10 days`.
    pub revisit_after: Option<Duration>,
}

impl PageMeta {
    /// Reads a page: any bytes, in time proportional to their number.
    ///
    /// The first [`MAX_HTML_BYTES`] are read. It is UTF-8 or another encoding
    /// that has ASCII in it, or UTF-16 that begins with a byte order mark.
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

/// Reads `10 days`, `2 weeks`, or a bare number of days.
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
    // 2³² years have less than 2⁶⁴ seconds, so that no product overflows.
    let number: u32 = number.parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * hours * 3600))
}

/// Returns a page in UTF-16 as UTF-8, another one as it is.
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
