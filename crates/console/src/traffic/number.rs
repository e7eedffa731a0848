//! Formats numbers for pages.

/// A narrow no-break space, which separates thousands.
const THIN: char = '\u{202f}';

/// A number with its rounded text, its exact text and a link.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FigureView {
    pub(crate) value: u64,
    /// Rounded number as text, such as "12.3 k".
    pub(crate) short: String,
    /// Exact number as text, such as "12 345".
    pub(crate) exact: String,
    /// Link relative to the console's root; empty if there is no link.
    pub(crate) link: String,
}

impl FigureView {
    /// Creates the view of a number of requests.
    pub(super) fn requests(value: u64, link: String) -> Self {
        Self {
            value,
            short: abbreviate(value),
            exact: group_digits(value),
            link,
        }
    }

    /// Creates the view of a number of bytes.
    pub(super) fn bytes(value: u64) -> Self {
        Self {
            value,
            short: bytes(value),
            exact: format!("{}{THIN}bytes", group_digits(value)),
            link: String::new(),
        }
    }
}

/// Returns a number as text, with thousands separators.
pub(crate) fn group_digits(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// Returns a number as text, with at most four digits and a unit.
pub(super) fn abbreviate(value: u64) -> String {
    if value < 10_000 {
        return group_digits(value);
    }
    scaled(value, 1_000, &["", "k", "M", "G", "T", "P", "E"])
}

/// Returns a number of bytes as text, with a unit.
pub(super) fn bytes(value: u64) -> String {
    scaled(
        value,
        1_024,
        &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"],
    )
}

fn scaled(value: u64, base: u64, units: &[&str]) -> String {
    let (mut whole, mut rest, mut unit) = (value, 0, 0);
    while whole >= base && unit + 1 < units.len() {
        (whole, rest, unit) = (whole / base, whole % base, unit + 1);
    }
    let unit_word = units.get(unit).copied().unwrap_or_default();
    let tenth = rest * 10 / base;
    if unit > 0 && whole < 100 {
        format!("{whole}.{tenth}{THIN}{unit_word}")
    } else {
        format!("{whole}{THIN}{unit_word}").trim_end().to_owned()
    }
}

/// Returns a share in percent as text; a share greater than zero is never shown as zero.
pub(super) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        return format!("0{THIN}%");
    }
    let tenths = u128::from(part) * 1_000 / u128::from(all);
    match tenths {
        0 if part > 0 => format!("<{THIN}0.1{THIN}%"),
        tenths => format!("{}.{}{THIN}%", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(THIN, " ")
    }

    #[test]
    fn numbers_are_short_and_never_misleading() {
        for (value, expected) in [
            (0, "0"),
            (999, "999"),
            (9_999, "9 999"),
            (10_000, "10.0 k"),
            (123_456, "123 k"),
            (1_250_000, "1.2 M"),
            (u64::MAX, "18.4 E"),
        ] {
            assert_eq!(plain(&abbreviate(value)), expected);
        }
        assert_eq!(plain(&group_digits(1_234_567)), "1 234 567");
        assert_eq!(plain(&bytes(512)), "512 B");
        assert_eq!(plain(&bytes(1_536)), "1.5 KiB");
        assert_eq!(plain(&percent(1, 10_000)), "< 0.1 %");
        assert_eq!(plain(&percent(1, 3)), "33.3 %");
        assert_eq!(plain(&percent(0, 0)), "0 %");
    }
}
