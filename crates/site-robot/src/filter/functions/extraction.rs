//! Filter functions that create attributes of the description.

use crate::document::{ContentSelection, Meta, Page, shorten_bytes};
use crate::filter::{CommandLine, Parameters, Source, Step, StepOutcome, Work, quoted};
use robot_detection_store::description::{ResourceDescription, name};

use super::{
    context::{FunctionContext, MediaType, StepResult, describe_step},
    soif,
};

/// Maximum number of META tags used per page.
const MAX_TAGS: usize = 200;

/// Maximum length of a META tag name, in bytes.
const MAX_NAME: usize = 64;

/// Attributes that a page's META tags must not set because other functions determine them.
// Otherwise, a page could make claims about its server or about another page.
const NOT_OF_PAGES: [&str; 22] = [
    "url",
    "csid",
    "depth",
    "host",
    "ip",
    "path",
    "protocol",
    "status",
    "type",
    name::CONTENT_TYPE,
    name::CONTENT_LENGTH,
    name::CONTENT_CHARSET,
    "content-encoding",
    name::ETAG,
    name::MD5,
    name::PARTIAL_TEXT,
    name::FULL_TEXT,
    name::TABLE_OF_CONTENTS,
    name::LINKS,
    name::RD_EXPIRES,
    name::RD_LAST_MODIFIED,
    name::CANONICAL,
];

/// `http-equiv` names that are instructions to browsers, not information about the page.
const ORDERS: [&str; 7] = [
    "refresh",
    "set-cookie",
    "content-security-policy",
    "x-ua-compatible",
    "default-style",
    "cache-control",
    "pragma",
];

/// Lowest heading level in HTML, `<h6>`.
const LOWEST: u64 = 6;

/// Builds a step that creates attributes from the title and META tags.
pub(super) fn meta(making: &mut FunctionContext<'_>) -> StepResult {
    let max_bytes = making.parameters.size("truncate")?.unwrap_or(usize::MAX);
    let media_type = MediaType::from_parameters(making);
    Ok(describe_step(move |resource, description| {
        if let Some(page) = resource.page().filter(|_| media_type.matches(resource)) {
            describe_meta(page, description, max_bytes);
        }
    }))
}

fn describe_meta(page: &Page, description: &mut ResourceDescription, max_bytes: usize) {
    let set = |description: &mut ResourceDescription, name: &str, value: &str| {
        set(description, name, shorten_bytes(value.trim(), max_bytes));
    };
    if let Some(title) = &page.title {
        set(description, name::TITLE, title);
    }
    let (orders, named): (Vec<_>, Vec<_>) = page.metas.iter().partition(|it| it.is_http_equiv);
    let mut seen: Vec<&str> = Vec::new();
    for meta in named.into_iter().chain(orders).take(MAX_TAGS) {
        if !is_usable(meta) {
            continue;
        }
        if !seen.contains(&meta.name.as_str()) {
            seen.push(&meta.name);
            set(description, &meta.name, &meta.content);
        // Many pages have a separate tag for each author or group of keywords.
        } else if !meta.is_http_equiv
            && [name::KEYWORDS, name::AUTHOR].contains(&meta.name.as_str())
        {
            let before = description.value(&meta.name).unwrap_or_default();
            let both = format!("{before}, {}", meta.content.trim());
            set(description, &meta.name, &both);
        }
    }
}

/// Returns `true` if a tag describes its page and its name can be represented in SOIF.
fn is_usable(meta: &Meta) -> bool {
    let is_sign = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '{' | '}');
    let name = meta.name.as_str();
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.contains(is_sign)
        && !NOT_OF_PAGES.contains(&name)
        && name != name::TITLE
        && (!meta.is_http_equiv || !ORDERS.contains(&name))
}

/// Builds a step that copies sources to attributes.
pub(super) fn source(making: &mut FunctionContext<'_>) -> StepResult {
    let mappings = mappings(making.parameters.required("src")?)?;
    let sources = mappings.into_iter();
    let sources: Vec<_> = sources
        .map(|(from, to)| (Source::from_name(&from), to))
        .collect();
    Ok(describe_step(move |resource, description| {
        for (source, name) in &sources {
            if let Some(value) = resource.source(source) {
                description.set(name, value);
            }
        }
    }))
}

/// Parses a list of comma-separated names; `a->b` renames `a` to `b`, and a plain name maps to
/// itself.
fn mappings(list: &str) -> Result<Vec<(String, String)>, String> {
    let names = list.split(',').map(str::trim);
    let mapping = |name: &str| {
        let (from, to) = name.split_once("->").unwrap_or((name, name));
        let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
        if from.is_empty() || to.is_empty() || to.contains("->") {
            return Err(format!(
                "{} in src= is neither a name nor \"old->new\"",
                quoted(name)
            ));
        }
        Ok((from, to))
    };
    let mappings = names.filter(|name| !name.is_empty()).map(mapping);
    let mappings = mappings.collect::<Result<Vec<_>, _>>()?;
    if mappings.is_empty() {
        return Err("src= contains no source".to_owned());
    }
    Ok(mappings)
}

/// Builds a step that copies an attribute to an attribute with another name.
pub(super) fn copy(making: &mut FunctionContext<'_>) -> StepResult {
    let parameters = &making.parameters;
    let from = parameters.required("src")?.to_owned();
    let to = parameters.required("dst")?.to_owned();
    let max_chars = parameters.size("truncate")?;
    let is_clean = parameters.boolean("clean")?;
    Ok(describe_step(move |_, description| {
        let value = description.value(&from).map(|value| match max_chars {
            Some(max) if is_clean => whole_words(value, max).to_owned(),
            Some(max) => first_chars(value, max).to_owned(),
            None => value.to_owned(),
        });
        if let Some(value) = value {
            description.set(&to, value);
        }
    }))
}

/// Builds a step that renames an attribute.
pub(super) fn rename(making: &mut FunctionContext<'_>) -> StepResult {
    let mappings = mappings(making.parameters.required("src")?)?;
    if let Some((name, _)) = mappings.iter().find(|(from, to)| from == to) {
        return Err(format!(
            "src={name:?} contains no new name; write \"old->new\""
        ));
    }
    Ok(describe_step(move |_, description| {
        for (from, to) in &mappings {
            if let Some(value) = description.remove(from) {
                description.set(to, value);
            }
        }
    }))
}

/// Returns as many leading whole words as fit into a number of characters.
///
/// If the first word is too long or the text has no spaces, the text is cut in the middle.
fn whole_words(text: &str, max: usize) -> &str {
    let head = first_chars(text, max);
    let rest = text.get(head.len()..).unwrap_or_default();
    let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
    match head.trim_start().rsplit_once(char::is_whitespace) {
        Some((words, _)) if !is_whole => words.trim_end(),
        _ => head.trim_end(),
    }
}

/// Returns the first `max` characters of a text.
fn first_chars(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = text.char_indices().nth(max).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Builds a step that creates an attribute from the full text.
pub(super) fn full_text(making: &mut FunctionContext<'_>) -> StepResult {
    let parameters = &making.parameters;
    let to = parameters.optional("dst").unwrap_or(name::FULL_TEXT);
    let to = to.to_owned();
    let max_chars = parameters.size("truncate")?;
    let part = part(parameters)?;
    // If all content is selected, each cell is a separate line, as in Sun's implementation.
    let between_cells = match part {
        ContentSelection::All => '\n',
        ContentSelection::Main => '\t',
    };
    Ok(describe_step(move |resource, description| {
        if let Some(page) = resource.page() {
            let matter = page.content_tree(part, resource.url());
            let told = matter.marked(between_cells, max_chars);
            set(description, &to, &told.text);
            if to == name::FULL_TEXT {
                set(description, name::MARKS, &told.marks);
            }
        } else if let Some(text) = resource.text().map(str::trim) {
            let max = max_chars.unwrap_or(usize::MAX);
            set(description, &to, first_chars(text, max).trim_end());
        }
    }))
}

/// Builds a step that creates an attribute from the beginning of the page's text.
///
/// If the extension `sentence` is set, the first sentence-like paragraph is used, and lists and
/// tables are skipped.
pub(super) fn first_text(making: &mut FunctionContext<'_>) -> StepResult {
    let parameters = &making.parameters;
    let max_bytes = parameters.size("truncate")?;
    let skips_headings = parameters.boolean("skip-headings")?;
    let wants_sentence = parameters.boolean("sentence")?;
    let media_type = MediaType::from_parameters(making);
    // Each character has at least one byte, so this number of characters is enough.
    let max_chars = max_bytes.unwrap_or(usize::MAX - 1);
    Ok(describe_step(move |resource, description| {
        if !media_type.matches(resource) {
            return;
        }
        let text = match resource.page() {
            Some(page) if wants_sentence => page.first_sentence().map(str::to_owned),
            Some(page) if skips_headings => Some(page.first_text(max_chars)),
            Some(page) => Some(page.first_text_and_headings(max_chars)),
            None => resource.text().map(|text| text.trim().to_owned()),
        };
        if let Some(text) = text {
            let max = max_bytes.unwrap_or(usize::MAX);
            set(description, name::PARTIAL_TEXT, shorten_bytes(&text, max));
        }
    }))
}

/// Parses the extension `part`: `all` (the default) or `main`.
fn part(parameters: &Parameters) -> Result<ContentSelection, String> {
    match parameters.optional("part") {
        None | Some("all") => Ok(ContentSelection::All),
        Some("main") => Ok(ContentSelection::Main),
        Some(other) => Err(format!("part={other:?} is neither all nor main")),
    }
}

/// Builds a step that creates an attribute from the headings.
pub(super) fn headings(making: &mut FunctionContext<'_>) -> StepResult {
    let level = making.parameters.number("level")?.unwrap_or(LOWEST);
    if !(1..=LOWEST).contains(&level) {
        return Err(format!("level={level} is not between 1 and 6"));
    }
    let max_level = u8::try_from(level).unwrap_or(6);
    let max_bytes = making.parameters.size("truncate")?.unwrap_or(usize::MAX);
    let part = part(&making.parameters)?;
    Ok(describe_step(move |resource, description| {
        if let Some(page) = resource.page() {
            let contents = match part {
                ContentSelection::All => contents(page.headings(max_level), max_bytes),
                ContentSelection::Main => contents(page.main_headings(max_level), max_bytes),
            };
            set(description, name::TABLE_OF_CONTENTS, &contents);
        }
    }))
}

/// Returns one heading per line, indented by two spaces per level; headings that do not fit
/// completely are omitted.
fn contents<'p>(headings: impl Iterator<Item = (u8, &'p str)>, max: usize) -> String {
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

fn set(description: &mut ResourceDescription, name: &str, text: &str) {
    if !text.is_empty() {
        description.set(name, text);
    }
}

/// Builds a step that runs a summarizer and adds its output to the description.
pub(super) fn harvest(making: &mut FunctionContext<'_>) -> StepResult {
    let program = making.parameters.required("summarizer")?;
    if program.chars().any(char::is_control) {
        return Err(format!("summarizer={program:?} is not a program name"));
    }
    Ok(Box::new(SummarizerStep(CommandLine::new(program))))
}

struct SummarizerStep(CommandLine);

impl Step for SummarizerStep {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let Some(description) = work.description.as_deref_mut() else {
            return StepOutcome::Continue;
        };
        match work.commands.run(&self.0, work.resource.body()) {
            Ok(output) => {
                for (name, value) in soif::attributes(&output) {
                    description.set(&name, value);
                }
            }
            Err(error) => {
                let program = &self.0.program;
                let trouble = format!("summarizer {program:?} failed: {error}");
                work.resource.add_problem(trouble);
            }
        }
        StepOutcome::Continue
    }

    fn waits(&self) -> bool {
        true
    }
}
