//! `copy-attribute` and `rename-attribute`.

use crate::filter::{Step, StepOutcome, Work};

use super::{
    FunctionContext,
    extract_source::{Mapping, mappings},
};

/// Makes a copy of an attribute under another name.
pub(super) fn copy(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let parameters = &making.parameters;
    Ok(Box::new(Copy {
        from: parameters.required("src")?.to_owned(),
        to: parameters.required("dst")?.to_owned(),
        max_chars: parameters.size("truncate")?,
        is_clean: parameters.boolean("clean")?,
    }))
}

/// Gives an attribute another name.
pub(super) fn rename(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let mappings = mappings(making.parameters.required("src")?)?;
    if let Some(lonely) = mappings.iter().find(|it| it.to == it.from) {
        return Err(format!(
            "src={:?} names no other name; write \"old->new\"",
            lonely.from
        ));
    }
    Ok(Box::new(Rename(mappings)))
}

struct Copy {
    from: String,
    to: String,
    max_chars: Option<usize>,
    is_clean: bool,
}

struct Rename(Vec<Mapping>);

impl Step for Copy {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let Some(description) = work.description.as_deref_mut() else {
            return StepOutcome::Continue;
        };
        let Some(value) = description.value(&self.from) else {
            return StepOutcome::Continue;
        };
        let value = match self.max_chars {
            Some(max) if self.is_clean => whole_words(value, max),
            Some(max) => first_chars(value, max),
            None => value,
        };
        let value = value.to_owned();
        description.set(&self.to, value);
        StepOutcome::Continue
    }
}

impl Step for Rename {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if let Some(description) = work.description.as_deref_mut() {
            for Mapping { from, to } in &self.0 {
                if let Some(value) = description.remove(from) {
                    description.set(to, value);
                }
            }
        }
        StepOutcome::Continue
    }
}

/// Returns the words from the beginning that are whole within so many characters.
///
/// Of a first word that is longer, and of a script without spaces, the beginning is kept.
fn whole_words(text: &str, max: usize) -> &str {
    let head = first_chars(text, max);
    let rest = text.get(head.len()..).unwrap_or_default();
    let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
    match head.trim_start().rsplit_once(char::is_whitespace) {
        Some((words, _)) if !is_whole => words.trim_end(),
        _ => head.trim_end(),
    }
}

/// Returns so many characters from the beginning.
pub(super) fn first_chars(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = text.char_indices().nth(max).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}
