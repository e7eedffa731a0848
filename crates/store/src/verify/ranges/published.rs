//! Documents that operators publish, parsed and checked.

use ipnet::IpNet;

use super::{
    RangeSet, RangesError,
    entries::{DocumentEntries, Entry},
    json, lines, prefix,
    selection::Selection,
};

/// Largest document.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Of so many entries one may be bad.
const GOOD_FOR_ONE_BAD: usize = 19;

/// Most addresses of a list: an eighth of IPv4.
const MOST_V4: u128 = 1 << 29;
/// Most networks of 64 bits of a list: a /12.
const MOST_V6: u128 = 1 << 52;

/// Address ranges that a document lists.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PublishedRanges {
    /// The ranges.
    pub set: RangeSet,
    /// Day on which the operator made the list, as `2026-11-20`.
    pub created: Option<String>,
    /// Entries that could not be read; who is in none of the others may be in these.
    pub unreadable: usize,
}

impl PublishedRanges {
    /// Reads a published document, whatever its shape.
    ///
    /// It may be JSON with its prefixes or addresses in members named for them
    /// or in lists of texts, or plain text or CSV with one a line. The URL's
    /// fragment selects a part of JSON: `#hooks` what stands under that member,
    /// `#service=CHECKS` the objects that have it so.
    ///
    /// A single address is a range of one, host bits are masked, and IPv4 in
    /// IPv6 is IPv4. One entry in twenty may be unreadable or not public.
    ///
    /// # Errors
    ///
    /// Fails when it is a page, damaged, empty, over 4 MiB, 100,000 entries or
    /// 16 levels, or lists ranges in which anybody may be: IPv4 prefixes under
    /// /8, IPv6 ones under /16, or an eighth of all addresses together.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_store::verify::PublishedRanges;
    ///
    /// let json = br#"{"creationTime": "2026-11-20T09:00:00", "prefixes": [
    ///     {"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/48"}]}"#;
    /// let published = PublishedRanges::parse("https://robots.example/ips.json", json)?;
    /// assert!(published.set.contains("192.0.2.7".parse()?));
    /// assert_eq!(published.created.as_deref(), Some("2026-11-20"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(url: &str, bytes: &[u8]) -> Result<Self, RangesError> {
        if bytes.len() > MAX_BYTES {
            return Err(RangesError::TooLarge {
                bytes: bytes.len(),
                max_bytes: MAX_BYTES,
            });
        }
        let text = str::from_utf8(bytes).map_err(|_| RangesError::NotText)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let selection = Selection::of_url(url);
        let found = match text.as_bytes().first() {
            None => return Err(RangesError::Empty),
            Some(b'<') => return Err(RangesError::Page),
            Some(b'{' | b'[') => json::read(text, &selection)?,
            Some(_) => lines::read(text, &selection)?,
        };
        judge(found, &selection)
    }

    /// Creates a list of ranges that are known otherwise; nothing is judged.
    #[must_use]
    pub fn new(prefixes: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            set: prefixes.into_iter().collect(),
            created: None,
            unreadable: 0,
        }
    }
}

fn judge(
    found: DocumentEntries,
    selection: &Selection<'_>,
) -> Result<PublishedRanges, RangesError> {
    let is_selected = |entry: &&Entry| entry.is_selected;
    let entries = found.entries.iter().filter(is_selected);
    let all = entries.clone().count();
    let nets: Vec<IpNet> = entries.filter_map(|entry| entry.net).collect();
    // One such range would verify anybody in it, however good the other entries are.
    if let Some(wide) = nets.iter().find(|net| prefix::is_too_wide(**net)) {
        return Err(RangesError::TooWide {
            prefix: wide.to_string(),
        });
    }
    let unreadable = all - nets.len();
    let (good, private): (Vec<_>, Vec<_>) =
        nets.into_iter().partition(|net| prefix::is_listable(*net));
    let bad = unreadable + private.len();
    if bad > 0 && good.len() < bad.saturating_mul(GOOD_FOR_ONE_BAD) {
        let example = private.first().map(ToString::to_string);
        return Err(RangesError::Damaged {
            bad,
            entries: all,
            example: found.first_unreadable.or(example).unwrap_or_default(),
        });
    }
    let set: RangeSet = good.into_iter().collect();
    if set.is_empty() {
        return Err(nothing(selection));
    }
    check_size(&set)?;
    Ok(PublishedRanges {
        set,
        created: found.created,
        unreadable,
    })
}

fn nothing(selection: &Selection<'_>) -> RangesError {
    let part = match selection {
        Selection::All => return RangesError::Empty,
        Selection::Member(member) => (*member).to_owned(),
        Selection::Text { member, text } => format!("{member}={text}"),
    };
    RangesError::EmptyPart {
        part: part.chars().take(60).collect(),
    }
}

fn check_size(set: &RangeSet) -> Result<(), RangesError> {
    // Each range may be narrow, and all of them together be everybody's.
    let (mut v4, mut v6) = (0_u128, 0_u128);
    for net in set.iter() {
        match net {
            IpNet::V4(net) => v4 += 1 << (32 - net.prefix_len().min(32)),
            IpNet::V6(net) => v6 += 1 << (64 - net.prefix_len().min(64)),
        }
    }
    if v4 > MOST_V4 || v6 > MOST_V6 {
        return Err(RangesError::TooMuch);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
