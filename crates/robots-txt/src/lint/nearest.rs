//! A search for the known name that is most similar to a misspelt name.

/// The maximum length of a misspelt name that is compared with known names. All known names are
/// shorter, and the time grows with the product of both lengths.
const MAX_NAME: usize = 24;

/// Returns the most similar of the known names, if it is similar enough.
///
/// Only letters are compared, and case is ignored. A missing, additional, changed or transposed
/// letter is an error; at most two errors are accepted, and at most one error for every three
/// letters.
#[must_use]
pub fn nearest<'k>(name: &[u8], known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let name = letters(name);
    let slips = |known: &&str| slips(&name, &letters(known.as_bytes()));
    let (known, slips) = known
        .map(|known| (known, slips(&known)))
        .min_by_key(|(_, slips)| *slips)?;
    (slips <= 2 && slips * 3 <= name.len()).then_some(known)
}

fn letters(name: &[u8]) -> Vec<u8> {
    let letters = name.iter().filter(|octet| octet.is_ascii_alphabetic());
    letters.map(u8::to_ascii_lowercase).collect()
}

/// Counts errors row by row: the Damerau–Levenshtein distance without moving a letter twice.
fn slips(one: &[u8], other: &[u8]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut left_one = None;
    for (row, letter) in one.iter().enumerate() {
        let mut this = vec![row + 1];
        let mut left_other = None;
        for (column, wanted) in other.iter().enumerate() {
            let at =
                // For an index out of range, return a value that is never the minimum and cannot
                // overflow.
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&last, column) + usize::from(letter != wanted))
                .min(at(&last, column + 1) + 1)
                .min(at(&this, column) + 1);
            // `left_other` is set from the second column on, so `column - 1` is valid.
            if left_one == Some(wanted) && left_other == Some(letter) {
                cost = cost.min(at(&before_last, column - 1) + 1);
            }
            this.push(cost);
            left_other = Some(wanted);
        }
        before_last = std::mem::replace(&mut last, this);
        left_one = Some(letter);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_name_finds_the_intended_one() {
        let known = [
            "User-agent",
            "Allow",
            "Disallow",
            "Crawl-delay",
            "Sitemap",
            "Host",
        ];
        for (name, expected) in [
            ("dissallow", Some("Disallow")),
            ("Dissalow", Some("Disallow")),
            ("diasllow", Some("Disallow")),
            ("disalow", Some("Disallow")),
            ("allows", Some("Allow")),
            ("user agent", Some("User-agent")),
            ("USERAGENT", Some("User-agent")),
            ("crawl_delay", Some("Crawl-delay")),
            ("site-map", Some("Sitemap")),
            ("sitemaps", Some("Sitemap")),
            ("hots", Some("Host")),
            ("http", None),
            ("x", None),
            ("", None),
            ("a name that is far too long to be compared", None),
        ] {
            assert_eq!(
                nearest(name.as_bytes(), known.into_iter()),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn errors_are_counted() {
        for (one, other, count) in [
            ("", "", 0),
            ("ab", "", 2),
            ("", "ab", 2),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(
                slips(one.as_bytes(), other.as_bytes()),
                count,
                "{one} {other}"
            );
        }
    }
}
