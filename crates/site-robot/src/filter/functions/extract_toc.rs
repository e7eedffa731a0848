//! `extract-html-toc`.

use crate::document::{PageMatter, shorten_bytes};
use crate::filter::{Step, StepOutcome, Work};
use robot_detection_store::description::name;

use super::{FunctionContext, extract_text::part};

/// Lowest level of headings.
const LOWEST: u64 = 6;

/// Makes an attribute of the headings.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let level = making.parameters.number("level")?.unwrap_or(LOWEST);
    if !(1..=LOWEST).contains(&level) {
        return Err(format!("level={level} is not from 1 to 6"));
    }
    Ok(Box::new(Toc {
        max_level: u8::try_from(level).unwrap_or(6),
        max_bytes: making.parameters.size("truncate")?,
        part: part(&making.parameters)?,
    }))
}

struct Toc {
    max_level: u8,
    max_bytes: Option<usize>,
    part: PageMatter,
}

impl Step for Toc {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let contents = work.resource.page().map(|page| match self.part {
            PageMatter::All => self.contents(page.headings(self.max_level)),
            PageMatter::Main => self.contents(page.main_headings(self.max_level)),
        });
        let contents = contents.filter(|it| !it.is_empty());
        if let Some((description, contents)) = work.description.as_deref_mut().zip(contents) {
            description.set(name::TABLE_OF_CONTENTS, contents);
        }
        StepOutcome::Continue
    }
}

impl Toc {
    /// Returns a heading a line, two spaces for each level below the first; whole headings only.
    fn contents<'p>(&self, headings: impl Iterator<Item = (u8, &'p str)>) -> String {
        let max = self.max_bytes.unwrap_or(usize::MAX);
        let mut contents = String::new();
        for (level, text) in headings {
            let indent = usize::from(level.saturating_sub(1)) * 2;
            let line = format!("{:indent$}{text}", "");
            let separator = if contents.is_empty() { "" } else { "\n" };
            if contents.len() + separator.len() + line.len() > max {
                if contents.is_empty() {
                    shorten_bytes(&line, max).clone_into(&mut contents);
                }
                break;
            }
            contents.push_str(separator);
            contents.push_str(&line);
        }
        contents
    }
}
