//! Filter functions that set sources (values, types, dates and checksums) or convert content to
//! HTML.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use time::{Date, OffsetDateTime};

use crate::filter::{
    CommandLine, MimeTypes, Resource, Source, Step, Work,
    content::Content,
    pattern::Pattern,
    sniff::{is_unspecified, sniff},
};

use super::context::{FunctionContext, StepResult, change_step, no_op_step};

/// Validates the regex cache size, which has no effect because patterns are compiled once, together
/// with the filter.
pub(super) fn regex_cache(making: &mut FunctionContext<'_>) -> StepResult {
    making.parameters.number("cache-size")?;
    Ok(no_op_step())
}

/// Builds a step that reads the MIME types file.
pub(super) fn setup_types(making: &mut FunctionContext<'_>) -> StepResult {
    let path = making.parameters.required("file")?.to_owned();
    if let Some(text) = making.read(&path)? {
        let types = MimeTypes::parse(&text);
        if let Some(note) = types.notes().first() {
            making.warn(format!("{path:?}, {note}"));
        }
        making.state.types = Some(Arc::new(types));
    }
    Ok(no_op_step())
}

/// Builds a step that assigns a fixed value or the value of another source.
pub(super) fn source(making: &mut FunctionContext<'_>) -> StepResult {
    let parameters = &making.parameters;
    let to = parameters.source("dst")?;
    match (parameters.optional("value"), parameters.optional("src")) {
        (Some(value), None) => {
            let value = value.to_owned();
            Ok(change_step(move |work| {
                work.resource.assign(&to, value.as_str());
            }))
        }
        (None, Some(source)) => {
            let from = Source::from_name(source);
            Ok(change_step(move |work| {
                match work.resource.source(&from).map(Cow::into_owned) {
                    Some(value) => work.resource.assign(&to, value),
                    // A previous value must not be mistaken for the value of an empty source.
                    None => work.resource.clear(&to),
                }
            }))
        }
        (None, None) => Err("value= or src= is missing; add one of them".to_owned()),
        (Some(_), Some(_)) => Err("value= and src= cannot be combined; remove one".to_owned()),
    }
}

/// Builds a step that removes the value of a source.
pub(super) fn clear(making: &mut FunctionContext<'_>) -> StepResult {
    let source = making.parameters.source("src")?;
    Ok(change_step(move |work| work.resource.clear(&source)))
}

/// Builds a step that derives the type from the file name extension.
pub(super) fn type_by_extension(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let from = Source::from_name(making.parameters.optional("src").unwrap_or("path"));
    let Some(types) = making.state.types.clone() else {
        making.warn(
            "no media types are loaded: the filter needs a Setup fn=setup-type-by-extension with a \
             readable file",
        );
        return no_op_step();
    };
    let to = Source::from_name("type");
    change_step(move |work| {
        let name = work.resource.source(&from);
        if let Some(media_type) = name.and_then(|name| types.for_name(&name)) {
            work.resource.assign(&to, media_type);
        }
    })
}

/// Builds a step that sets a value if a source equals a given string.
pub(super) fn by_exact(making: &mut FunctionContext<'_>) -> StepResult {
    generate_by(making, |text| Ok(Pattern::exact(text)))
}

/// Builds a step that sets a value if a source starts with a given string.
pub(super) fn by_prefix(making: &mut FunctionContext<'_>) -> StepResult {
    generate_by(making, |text| Ok(Pattern::prefix(text)))
}

/// Builds a step that sets a value if a source matches a regular expression.
pub(super) fn by_regex(making: &mut FunctionContext<'_>) -> StepResult {
    generate_by(making, Pattern::regex)
}

fn generate_by(
    making: &mut FunctionContext<'_>,
    pattern: impl Fn(&str) -> Result<Pattern, String>,
) -> StepResult {
    let parameters = &making.parameters;
    let source = parameters.source("src")?;
    let pattern = pattern(parameters.required("match")?)?;
    let to = parameters.source("dst")?;
    let value = parameters.required("value")?.to_owned();
    Ok(change_step(move |work| {
        if pattern.matches(work.resource, &source) {
            work.resource.assign(&to, value.as_str());
            // At the `Generate` stage, a destination is also an attribute of the description
            // (chapter 44).
            if let Some(description) = work.description.as_deref_mut() {
                description.set(to.name(), value.as_str());
            }
        }
    }))
}

/// Builds a step that sets the source `md5` to the checksum of the received body.
pub(super) fn md5(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    making.state.has_md5 = true;
    let to = Source::from_name("md5");
    change_step(move |work| {
        if let Some(content) = work.resource.content().map(Arc::clone) {
            work.resource.assign(&to, content.md5());
        }
    })
}

/// Builds a step that sets the expiration date of the description.
pub(super) fn expires(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let from = Source::from_name("expires");
    let to = making.parameters.optional("dst").unwrap_or("rd-expires");
    let to = Source::from_name(to);
    change_step(move |work| {
        let now = instant(work.now_ms);
        let said = work.resource.source(&from);
        let said = said.and_then(|value| httpdate::parse_http_date(value.trim()).ok());
        // Dynamic pages often set an expiration date in the past to prevent caching; such dates are
        // ignored.
        let expires = said.filter(|date| *date > now);
        let expires = expires.unwrap_or_else(|| three_months_after(now));
        let expires = httpdate::fmt_http_date(expires);
        work.resource.assign(&to, expires);
    })
}

/// Builds a step that sets the creation date of the description.
pub(super) fn last_modified(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let to = making.parameters.optional("dst");
    let to = Source::from_name(to.unwrap_or("rd-last-modified"));
    change_step(move |work| {
        let now = httpdate::fmt_http_date(instant(work.now_ms));
        work.resource.assign(&to, now);
    })
}

/// Converts a time to an instant between 1970 and 9998, so that an HTTP date can represent the time
/// three months later.
fn instant(now_ms: i64) -> SystemTime {
    const LAST_MS: u64 = 253_000_000_000_000;
    let now_ms = u64::try_from(now_ms).unwrap_or(0).min(LAST_MS);
    UNIX_EPOCH + Duration::from_millis(now_ms)
}

/// Returns the same day three months later, or the last day of the month if that month is shorter.
fn three_months_after(now: SystemTime) -> SystemTime {
    let now = OffsetDateTime::from(now);
    let is_next_year = u8::from(now.month()) > 9;
    let year = now.year() + i32::from(is_next_year);
    let month = now.month().nth_next(3);
    let day = now.day().min(month.length(year));
    match Date::from_calendar_date(year, month, day) {
        Ok(date) => now.replace_date(date).into(),
        Err(_) => (now + Duration::from_hours(90 * 24)).into(),
    }
}

/// Builds a step that converts a media type to HTML; `unknown` matches resources without a type.
pub(super) fn convert(making: &mut FunctionContext<'_>) -> StepResult {
    let wanted = making.parameters.required("type")?;
    let wanted = wanted.trim().to_ascii_lowercase();
    Ok(change_step(move |work| {
        if let Some(media_type) = type_to_convert(&wanted, work.resource) {
            convert_from(&media_type, work);
        }
    }))
}

/// Returns the media type to convert from, which is detected from the content if unknown.
fn type_to_convert(wanted: &str, resource: &Resource) -> Option<String> {
    let media_type = resource.media_type();
    if wanted != "unknown" {
        return media_type.filter(|it| it == wanted);
    }
    if !is_unspecified(media_type.as_deref()) {
        return None;
    }
    sniff(resource.body()).map(str::to_owned)
}

fn convert_from(media_type: &str, work: &mut Work<'_>) {
    let to = Source::from_name("type");
    let Some(content) = work.resource.content().map(Arc::clone) else {
        return;
    };
    // Text needs no conversion; only its type is missing.
    if media_type.starts_with("text/") {
        work.resource.assign(&to, media_type);
        return;
    }
    let Some(command) = work.commands.converter(media_type) else {
        let trouble = format!(
            "no converter for {media_type}: install pdftotext (poppler-utils), or configure a \
             program in site_robot.converters"
        );
        if media_type == "application/pdf" {
            work.resource.add_problem(trouble);
        }
        return;
    };
    let mut trouble = None;
    let converted = content.converted(|| {
        let html = run(&command, media_type, content.body(), work);
        html.map_err(|error| trouble = Some(error)).ok()
    });
    if let Some(converted) = converted {
        work.resource.set_content(converted);
        work.resource.assign(&to, "text/html");
    } else if let Some(trouble) = trouble {
        work.resource.add_problem(trouble);
    }
}

fn run(
    command: &CommandLine,
    media_type: &str,
    body: &[u8],
    work: &Work<'_>,
) -> Result<Content, String> {
    let html = work.commands.run(command, body);
    let html = html.map_err(|error| format!("cannot convert {media_type} to HTML: {error}"))?;
    // The output of a converter declares its own encoding or is UTF-8.
    Ok(Content::new(Some("text/html".to_owned()), html.into()))
}
