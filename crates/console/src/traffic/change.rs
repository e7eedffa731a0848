//! Figures beside those of the time before.

use super::number::grouped;

/// Change against the time before.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ChangeView {
    /// "+12 %", "new", "gone"; empty where nothing is compared.
    pub(crate) text: String,
    /// "up", "down" or "same".
    pub(crate) kind: &'static str,
    /// The figure before, in full.
    pub(crate) before: String,
    /// By which rows are sorted, in per mille.
    pub(super) weight: i128,
}

impl ChangeView {
    /// Compares; `before` is `None` where nothing was kept then.
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
            before: grouped(before),
            weight,
        }
    }
}

fn told(mille: i128) -> String {
    match mille {
        // "+3140 %" is harder to read than what it means.
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
    fn changes_are_told_as_people_do() {
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
