//! Compares and replaces the configuration file for `heaven start`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cli::output;
use crate::cli::output::write_file;

/// The old and new text of a configuration file.
#[derive(Clone, Debug)]
pub(super) struct Rewrite {
    path: PathBuf,
    old: String,
    new: String,
}

/// A removed or added line, with its line number in the old or new text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DiffLine<'t> {
    Removed(usize, &'t str),
    Added(usize, &'t str),
}

impl Rewrite {
    pub(super) fn new(path: &Path, old: String, new: String) -> Self {
        Self {
            path: path.to_owned(),
            old,
            new,
        }
    }

    /// Prints the lines that differ between the old and the new text.
    pub(super) fn print(&self) -> std::io::Result<()> {
        output::line(&output::clean(&format!("{}:", self.path.display())))?;
        for line in diff(&self.old, &self.new) {
            let (sign, number, text) = match line {
                DiffLine::Removed(number, text) => ('-', number, text),
                DiffLine::Added(number, text) => ('+', number, text),
            };
            output::line(output::clean(&format!("{number:5} {sign} {text}")).trim_end())?;
        }
        Ok(())
    }

    /// Returns the lines that differ between the old and the new text as JSON.
    pub(super) fn value(&self) -> Value {
        let lines = diff(&self.old, &self.new);
        let lines = lines.iter().map(|line| match line {
            DiffLine::Removed(number, text) => json!({"line": number, "removed": text}),
            DiffLine::Added(number, text) => json!({"line": number, "added": text}),
        });
        lines.collect()
    }

    /// Replaces the file, which must still contain the old text, with the new text.
    ///
    /// # Errors
    ///
    /// Returns an error if the file was changed in the meantime or cannot be written; the file is
    /// then left unchanged.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let shown = self.path.display();
        // Resolves symbolic links, so that the target file is written instead of the link.
        let path = fs::canonicalize(&self.path).with_context(|| format!("cannot find {shown}"))?;
        let now = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        if now != self.old {
            anyhow::bail!(
                "{shown} was changed in the meantime and has not been overwritten: run the command again"
            );
        }
        write_file(&path, &self.new).context(
            "the configuration was not changed: run the command as a user with write permission, or add \
             the lines shown by --dry-run manually",
        )
    }
}

/// Returns the differing lines between a text and a copy with added or replaced lines.
fn diff<'t>(old: &'t str, new: &'t str) -> Vec<DiffLine<'t>> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let mut lines = Vec::new();
    let (mut before, mut after) = (0, 0);
    while let (Some(line), true) = (old.get(before), after <= new.len()) {
        let rest = new.get(after..).unwrap_or_default();
        // The number of added lines is limited to the surplus of new lines over the remaining old
        // lines.
        let most = rest.len().saturating_sub(old.len() - before);
        match rest.iter().take(most + 1).position(|it| it == line) {
            Some(added) => {
                lines.extend(numbered(after, rest.iter().take(added)));
                after += added + 1;
            }
            None => lines.push(DiffLine::Removed(before + 1, line)),
        }
        before += 1;
    }
    lines.extend(numbered(after, new.iter().skip(after)));
    lines
}

fn numbered<'t, 'l>(
    first: usize,
    lines: impl Iterator<Item = &'l &'t str>,
) -> impl Iterator<Item = DiffLine<'t>>
where
    't: 'l,
{
    let numbers = first + 1..;
    numbers
        .zip(lines)
        .map(|(number, line)| DiffLine::Added(number, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use DiffLine::{Added, Removed};

    #[test]
    fn diff_reports_only_added_and_replaced_lines() {
        for (old, new, expected) in [
            ("", "a\n", vec![Added(1, "a")]),
            ("a\nb\n", "a\nx\nb\n", vec![Added(2, "x")]),
            ("a\nb\n", "a\nc\n", vec![Removed(2, "b"), Added(2, "c")]),
            (
                "a\n\nb\n",
                "a\n\nx\n\nb\n",
                vec![Added(3, "x"), Added(4, "")],
            ),
            (
                "a\nb\nb\nc",
                "a\nB\nb\nc\nd",
                vec![Added(2, "B"), Removed(3, "b"), Added(5, "d")],
            ),
            ("a\nb", "a\nb", vec![]),
        ] {
            assert_eq!(diff(old, new), expected, "{old:?} {new:?}");
        }
    }
}
