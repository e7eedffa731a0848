//! Evidence texts for address lists, one sentence each.

use std::{net::IpAddr, time::Duration};

use ipnet::IpNet;

use super::{PublishedRanges, listing::Listing};
use crate::fetch::shown_url;

/// The maximum length of a URL in a sentence, in characters.
const MAX_URL_CHARS: usize = 200;

/// The reason why the absence of an address from a list proves nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Miss {
    NotPublic,
    Unreadable,
    Stale,
}

/// Returns the date and age of a copy, such as `of 2026-11-20, checked 3 h ago`.
pub(super) fn describe_copy(published: &PublishedRanges, age: Option<Duration>) -> String {
    let checked = age.map_or_else(
        || "never checked".to_owned(),
        |age| format!("checked {}", ago(age)),
    );
    match &published.created {
        Some(day) => format!("of {day}, {checked}"),
        None => checked,
    }
}

pub(super) fn hit(url: &str, address: IpAddr, prefix: IpNet, copy: &str) -> String {
    let address = address.to_canonical();
    format!(
        "{address} is within {prefix}, listed in {} ({copy})",
        shown(url)
    )
}

pub(super) fn miss(
    url: &str,
    address: IpAddr,
    published: &PublishedRanges,
    copy: &str,
    why: Option<Miss>,
) -> String {
    let address = address.to_canonical();
    let url = shown(url);
    let ranges = match published.set.len() {
        1 => "not in the only range".to_owned(),
        count => format!("in none of the {count} ranges"),
    };
    match why {
        None => format!("{address} is {ranges} listed in {url} ({copy})"),
        Some(Miss::NotPublic) => format!(
            "{address} is not a public address, so {url} proves nothing; \
             if there is a front proxy, add it to trusted_proxies"
        ),
        Some(Miss::Unreadable) => format!(
            "{address} is {ranges} listed in {url} ({copy}), but {} more could not be parsed",
            published.unreadable
        ),
        Some(Miss::Stale) => {
            format!("{address} is {ranges} listed in {url} ({copy}), but the copy is too old")
        }
    }
}

pub(super) fn no_copy_text(url: &str, listing: Option<&Listing>) -> String {
    let url = shown(url);
    match listing.and_then(|listing| listing.error.as_deref()) {
        Some(error) => format!("no usable copy of {url}: {error}"),
        None => format!("no copy of {url} yet"),
    }
}

/// Returns an age as text, expressed in its largest unit.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..2_880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1_440),
    }
}

fn shown(url: &str) -> String {
    let shown = shown_url(url);
    match shown.char_indices().nth(MAX_URL_CHARS) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_shown_in_its_largest_unit() {
        for (minutes, text) in [
            (0, "just now"),
            (1, "1 min ago"),
            (59, "59 min ago"),
            (60, "1 h ago"),
            (2_879, "47 h ago"),
            (2_880, "2 days ago"),
        ] {
            assert_eq!(ago(Duration::from_mins(minutes)), text);
        }
    }

    #[test]
    fn urls_are_truncated_and_shown_without_password() {
        assert_eq!(shown("http://u:p@h/"), "http://u:***@h/");
        let long = format!("http://h/{}", "é".repeat(300));
        assert_eq!(shown(&long).chars().count(), MAX_URL_CHARS + 1);
    }
}
