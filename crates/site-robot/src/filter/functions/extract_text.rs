//! `extract-full-text` and `extract-html-text`.

use crate::document::{PageMatter, shorten_bytes};
use crate::filter::{Parameters, Resource, Step, StepOutcome, Work};
use robot_detection_store::description::{ResourceDescription, name};

use super::{FunctionContext, attributes::first_chars, enumerate::MediaType};

/// Makes an attribute of all text.
pub(super) fn full(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let parameters = &making.parameters;
    let to = parameters.optional("dst").unwrap_or(name::FULL_TEXT);
    Ok(Box::new(Full {
        max_chars: parameters.size("truncate")?,
        part: part(parameters)?,
        to: to.to_owned(),
    }))
}

/// Makes an attribute of the first text.
pub(super) fn partial(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let parameters = &making.parameters;
    Ok(Box::new(Partial {
        max_bytes: parameters.size("truncate")?,
        skips_headings: parameters.boolean("skip-headings")?,
        wants_sentence: parameters.boolean("sentence")?,
        media_type: MediaType::of(making),
    }))
}

struct Full {
    max_chars: Option<usize>,
    part: PageMatter,
    to: String,
}

struct Partial {
    max_bytes: Option<usize>,
    skips_headings: bool,
    /// The first paragraph that is a sentence (`sentence`, ours), none of lists and tables.
    wants_sentence: bool,
    media_type: MediaType,
}

impl Step for Full {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if let Some(description) = work.description.as_deref_mut() {
            let resource = &*work.resource;
            if let Some(page) = resource.page() {
                // Of all text, as in Sun's, each cell is a line of its own.
                let between_cells = match self.part {
                    PageMatter::All => '\n',
                    PageMatter::Main => '\t',
                };
                let matter = page.matter(self.part, resource.url());
                let told = matter.told(between_cells, self.max_chars);
                set(description, &self.to, &told.text);
                if self.to == name::FULL_TEXT {
                    set(description, name::MARKS, &told.marks);
                }
            } else if let Some(text) = whole_text(resource) {
                let max = self.max_chars.unwrap_or(usize::MAX);
                set(description, &self.to, first_chars(&text, max).trim_end());
            }
        }
        StepOutcome::Continue
    }
}

/// Returns the part of a page that is extracted (`part`, ours): `all`, the default, or `main`.
pub(super) fn part(parameters: &Parameters) -> Result<PageMatter, String> {
    match parameters.optional("part") {
        None | Some("all") => Ok(PageMatter::All),
        Some("main") => Ok(PageMatter::Main),
        Some(other) => Err(format!("part={other:?} is neither all nor main")),
    }
}

impl Step for Partial {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &*work.resource;
        if let Some(description) = work.description.as_deref_mut()
            && self.media_type.fits(resource)
            && let Some(text) = self.first_text(resource)
        {
            let max = self.max_bytes.unwrap_or(usize::MAX);
            set(description, name::PARTIAL_TEXT, shorten_bytes(&text, max));
        }
        StepOutcome::Continue
    }
}

impl Partial {
    fn first_text(&self, resource: &Resource) -> Option<String> {
        let Some(page) = resource.page() else {
            return whole_text(resource);
        };
        if self.wants_sentence {
            return page.first_sentence().map(str::to_owned);
        }
        // As many characters as bytes are enough.
        let max = self.max_bytes.unwrap_or(usize::MAX - 1);
        Some(if self.skips_headings {
            page.first_text(max)
        } else {
            page.first_text_and_headings(max)
        })
    }
}

/// Returns the text of a page without its tags, or that of plain text.
fn whole_text(resource: &Resource) -> Option<String> {
    match resource.page() {
        Some(page) => Some(page.text()),
        None => resource.text().map(|text| text.trim().to_owned()),
    }
}

fn set(description: &mut ResourceDescription, name: &str, text: &str) {
    if !text.is_empty() {
        description.set(name, text);
    }
}
