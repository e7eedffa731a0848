//! Parser for address lists in plain text or CSV.

use super::{
    RangesError,
    entries::{DocumentEntries, day},
    json::Selection,
    prefix,
};

/// Characters that separate the first column from the rest.
const SEPARATORS: &[char] = &[',', ';', '\t', ' '];

/// Reads plain text and CSV: the first column of each line, and further columns that are prefixes.
///
/// The first line may be a header.
pub(super) fn read(
    text: &str,
    selection: &Selection<'_>,
    max_entries: usize,
) -> Result<DocumentEntries, RangesError> {
    let is_selected = *selection == Selection::All;
    let mut found = DocumentEntries::new(max_entries);
    let mut is_first = true;
    for line in text.lines() {
        let (content, comment) = split_comment(line);
        if let Some(comment) = comment.filter(|_| found.created.is_none()) {
            found.created = comment.split_whitespace().find_map(day);
        }
        let mut columns = columns(content);
        let Some(column) = columns.next() else {
            continue;
        };
        if !(is_first && is_heading(column)) {
            found.add(column, is_selected)?;
            for net in columns.filter_map(prefix::read) {
                found.push(Some(net), is_selected)?;
            }
        }
        is_first = false;
    }
    Ok(found)
}

fn split_comment(line: &str) -> (&str, Option<&str>) {
    let line = line.trim();
    match line.split_once('#') {
        Some((content, comment)) => (content.trim_end(), Some(comment)),
        None if line.starts_with("//") || line.starts_with(';') => ("", Some(line)),
        None => (line, None),
    }
}

fn columns(content: &str) -> impl Iterator<Item = &str> {
    // A range from one address to another must not be parsed as two single addresses.
    let is_range = content.contains(" - ");
    let columns = content.split(move |c| !is_range && SEPARATORS.contains(&c));
    let columns = columns.map(|column| column.trim_matches(['"', '\'', ' ']));
    columns.filter(|column| !column.is_empty())
}

fn is_heading(column: &str) -> bool {
    column.starts_with(|c: char| c.is_ascii_alphabetic()) && !column.contains(['.', ':', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(text: &str) -> Vec<String> {
        let found = read(text, &Selection::All, 10).unwrap();
        let net = |entry: &super::super::entries::Entry| match entry.net {
            Some(net) => net.to_string(),
            None => "?".to_owned(),
        };
        found.entries.iter().map(net).collect()
    }

    #[test]
    fn line_is_a_prefix_with_or_without_a_comment() {
        let text = "# made 2026-11-20\r\n\n192.0.2.0/24 # first\n  198.51.100.7\n; 203.0.113.1\n// 203.0.113.2\n2001:db8::/32";
        assert_eq!(
            nets(text),
            ["192.0.2.0/24", "198.51.100.7/32", "2001:db8::/32"]
        );
        let found = read(text, &Selection::All, 10).unwrap();
        assert_eq!(found.created.as_deref(), Some("2026-11-20"));
    }

    #[test]
    fn first_column_of_a_table_counts() {
        let text = "prefix,country\n\"192.0.2.0/24\",XX\n2001:db8::/48;YY\n198.51.100.0/24\tZZ\n";
        assert_eq!(
            nets(text),
            ["192.0.2.0/24", "2001:db8::/48", "198.51.100.0/24"]
        );
    }

    #[test]
    fn every_prefix_of_a_line_counts() {
        let text = "192.0.2.0/24 198.51.100.0/24\n203.0.113.1, 2001:db8::/32 # both\n\"192.0.2.7\";XX;203.0.113.9\n";
        let expected = [
            "192.0.2.0/24",
            "198.51.100.0/24",
            "203.0.113.1/32",
            "2001:db8::/32",
            "192.0.2.7/32",
            "203.0.113.9/32",
        ];
        assert_eq!(nets(text), expected);
    }

    #[test]
    fn only_the_first_line_may_be_a_header() {
        assert_eq!(nets("addresses\n192.0.2.1\n"), ["192.0.2.1/32"]);
        assert_eq!(nets("192.0.2.1\naddresses\n"), ["192.0.2.1/32", "?"]);
        assert_eq!(nets("example.org\n"), ["?"]);
    }

    #[test]
    fn address_range_is_not_read_as_its_first_address() {
        assert_eq!(
            nets("192.0.2.1 - 192.0.2.9\n192.0.2.1-192.0.2.9"),
            ["?", "?"]
        );
    }
}
