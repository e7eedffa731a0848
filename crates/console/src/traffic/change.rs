//! Changes in numbers compared with the previous period.

use super::number::group_digits;

/// The change in a number compared with the previous period.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ChangeView {
    /// Text such as "+12 %", "new" or "gone"; empty if there is nothing to compare with.
    pub(crate) text: String,
    /// Direction of the change: "up", "down" or "same".
    pub(crate) kind: &'static str,
    /// Exact number in the previous period.
    pub(crate) before: String,
    /// Change in per mille, by which rows are sorted.
    pub(super) weight: i128,
}

impl ChangeView {
    /// Compares two numbers; `before` is `None` if no data was stored for the previous period.
    pub(super) fn new(now: u64, before: Option<u64>) -> Self {
        let Some(before) = before else {
            return Self::default();
        };
        let (wide, then) = (i128::from(now), i128::from(before));
        let (text, kind, weight) = match (now, before) {
            (0, 0) => ("\u{2013}".to_owned(), "same", 0),
            (_, 0) => ("new".to_owned(), "up", i128::MAX),
            (0, _) => ("gone".to_owned(), "down", -1_000),
            _ => {
                let mille = (wide - then) * 1_000 / then;
                (told(mille), kind(mille), mille)
            }
        };
        Self {
            text,
            kind,
            before: group_digits(before),
            weight,
        }
    }
}

fn told(mille: i128) -> String {
    match mille {
        // A factor is easier to read than "+3140 %".
        mille if mille >= 10_000 => format!("\u{d7}\u{202f}{}", mille / 1_000 + 1),
        mille if mille.abs() < 10 => "\u{b1}0\u{202f}%".to_owned(),
        mille if mille > 0 => format!("+{}\u{202f}%", mille / 10),
        mille => format!("\u{2212}{}\u{202f}%", -mille / 10),
    }
}

fn kind(mille: i128) -> &'static str {
    match mille {
        10.. => "up",
        ..=-10 => "down",
        _ => "same",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_formatted_for_readers() {
        for (now, before, text, kind) in [
            (0, 0, "\u{2013}", "same"),
            (5, 0, "new", "up"),
            (0, 5, "gone", "down"),
            (100, 100, "\u{b1}0\u{202f}%", "same"),
            (240, 100, "+140\u{202f}%", "up"),
            (88, 100, "\u{2212}12\u{202f}%", "down"),
            (1_200, 100, "\u{d7}\u{202f}12", "up"),
            (u64::MAX, 1, "\u{d7}\u{202f}18446744073709551615", "up"),
        ] {
            let change = ChangeView::new(now, Some(before));
            assert_eq!((&*change.text, change.kind), (text, kind), "{now} {before}");
        }
        assert_eq!(ChangeView::new(5, None), ChangeView::default());
    }
}
