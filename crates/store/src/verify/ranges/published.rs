//! Address list documents that have been parsed and checked.

use ipnet::IpNet;

use super::{
    RangeSet, RangesError,
    entries::{DocumentEntries, Entry},
    json,
    json::Selection,
    kind::ListKind,
    lines,
};

/// The number of valid entries required for each invalid entry.
const GOOD_FOR_ONE_BAD: usize = 19;

/// Address ranges listed in a document.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PublishedRanges {
    /// The address ranges that were parsed.
    pub set: RangeSet,
    /// The date of the list as stated by the operator, such as `2026-11-20`.
    pub created: Option<String>,
    /// The number of entries that could not be parsed; these may contain any address that is not in
    /// the ranges.
    pub unreadable: usize,
}

impl PublishedRanges {
    /// Parses a published address list document of any structure.
    ///
    /// Documents may be JSON, with prefixes or addresses in suitably named members or in arrays of
    /// texts, or plain text or CSV with one prefix per line. The URL's fragment selects a part of a
    /// JSON document: `#hooks` selects the value of the member `hooks`, and `#service=CHECKS`
    /// selects the objects whose member `service` is `CHECKS`.
    ///
    /// A single address is treated as a range, host bits are masked, and IPv4 addresses embedded in
    /// IPv6 are converted to IPv4. Up to one entry in twenty may be unreadable or not public.
    ///
    /// # Errors
    ///
    /// Returns an error if the document is a web page, damaged or empty, exceeds 4 MiB, 100,000
    /// entries or 16 levels, or lists ranges that are too wide: IPv4 prefixes shorter than /8, IPv6
    /// prefixes shorter than /16, or more than an eighth of all addresses in total.
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
        Self::read(ListKind::Operator, url, bytes)
    }

    /// Parses a list chosen by an administrator, which may contain private networks.
    ///
    /// The format is the same as for [`Self::parse`], but may contain comments after `#` and `;`,
    /// or several JSON documents, one per line.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Self::parse`], but with limits of 16 MiB, 500,000
    /// entries and half of all addresses.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_store::verify::PublishedRanges;
    ///
    /// let lines = b"; closed\n192.0.2.0/24 ; SBL1\n10.1.0.0/16 # ours\n";
    /// let list = PublishedRanges::parse_chosen("closed.txt", lines)?;
    /// assert_eq!(list.set.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_chosen(url: &str, bytes: &[u8]) -> Result<Self, RangesError> {
        Self::read(ListKind::Chosen, url, bytes)
    }

    pub(super) fn read(kind: ListKind, url: &str, bytes: &[u8]) -> Result<Self, RangesError> {
        let max_bytes = kind.max_bytes();
        if bytes.len() > max_bytes {
            return Err(RangesError::TooLarge {
                bytes: bytes.len(),
                max_bytes,
            });
        }
        let text = str::from_utf8(bytes).map_err(|_| RangesError::NotText)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let selection = Selection::from_url(url);
        let found = match text.as_bytes().first() {
            None => return Err(RangesError::Empty),
            Some(b'<') => return Err(RangesError::Page),
            Some(b'{' | b'[') => json::read(text, &selection, kind.max_entries())?,
            Some(_) => lines::read(text, &selection, kind.max_entries())?,
        };
        judge(found, &selection, kind)
    }

    /// Creates a list from known ranges without checking them.
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
    kind: ListKind,
) -> Result<PublishedRanges, RangesError> {
    let is_selected = |entry: &&Entry| entry.is_selected;
    let entries = found.entries.iter().filter(is_selected);
    let all = entries.clone().count();
    let nets: Vec<IpNet> = entries.filter_map(|entry| entry.net).collect();
    // A single wide range would verify any client, however good the other entries are.
    if let Some(wide) = nets.iter().find(|net| kind.is_too_wide(**net)) {
        return Err(RangesError::TooWide {
            prefix: wide.to_string(),
        });
    }
    let unreadable = all - nets.len();
    let (good, private): (Vec<_>, Vec<_>) =
        nets.into_iter().partition(|net| kind.is_listable(*net));
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
    kind.check_size(&set)?;
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

#[cfg(test)]
mod tests;
