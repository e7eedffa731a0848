//! What the environment says of the terminal.

use std::ffi::OsStr;

/// Returns `true` unless the environment forbids colours: `NO_COLOR` (<https://no-color.org>),
/// or a terminal that knows none.
#[must_use]
pub fn wants_colours() -> bool {
    let variable = |name: &str| std::env::var_os(name);
    are_wanted(variable("NO_COLOR").as_deref(), variable("TERM").as_deref())
}

fn are_wanted(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_in_no_color_forbids_them() {
        for (no_color, term, are_allowed) in [
            (None, None, true),
            (None, Some("xterm"), true),
            (Some(""), Some("xterm"), true),
            (Some("0"), Some("xterm"), false),
            (Some("1"), None, false),
            (None, Some("dumb"), false),
        ] {
            let found = are_wanted(no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(found, are_allowed, "{no_color:?} {term:?}");
        }
    }
}
