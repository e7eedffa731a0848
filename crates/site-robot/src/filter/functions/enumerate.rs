//! The functions `enumerate-urls` and `enumerate-urls-from-text`.

use std::{collections::HashSet, sync::Arc};

use crate::document::{Page, urls_in_text};
use crate::filter::{FoundLink, MimeTypes};

use super::context::{FunctionContext, MediaType, StepResult, change_step};

/// Default maximum number of links per resource.
const DEFAULT_MAX: usize = 1024;

/// Default MIME types of links, used if the filter loads no MIME types file.
const TYPES: &str = "text/html html htm shtml xhtml
application/pdf pdf
application/msword doc docx odt rtf
application/vnd.ms-excel xls xlsx ods csv
application/vnd.ms-powerpoint ppt pptx odp
application/zip zip gz tgz bz2 xz 7z tar rar jar iso
application/octet-stream exe msi deb rpm dmg apk bin
application/xml xml rss atom rdf
application/json json
text/plain txt text log
text/css css
text/javascript js mjs
image/png png
image/jpeg jpg jpeg
image/gif gif
image/svg+xml svg
image/webp webp avif ico bmp tif tiff
audio/mpeg mp3 ogg wav flac m4a
video/mp4 mp4 webm avi mov mkv";

/// Builds a step that collects the links of a page.
pub(super) fn urls(making: &mut FunctionContext<'_>) -> StepResult {
    let (max, media_type) = limits(making)?;
    let types = making.state.types.clone();
    let types = types.unwrap_or_else(|| Arc::new(MimeTypes::parse(TYPES)));
    Ok(change_step(move |work| {
        let resource = &*work.resource;
        let page = resource.page().filter(|_| media_type.matches(resource));
        if let Some((links, page)) = work.links.as_deref_mut().zip(page) {
            let wanted = page.links.iter();
            let wanted = wanted.filter(|link| media_type.may_be_of(&link.url, &types));
            let found = wanted.map(|link| FoundLink {
                url: link.url.clone(),
                kind: Some(link.kind),
                is_nofollow: link.is_nofollow,
            });
            add(links, found, max);
        }
    }))
}

/// Builds a step that collects the URLs that follow `URL:` in text.
pub(super) fn urls_from_text(making: &mut FunctionContext<'_>) -> StepResult {
    // Sun's reference does not list a `type` parameter but uses one in an example (chapter 45).
    let (max, media_type) = limits(making)?;
    Ok(change_step(move |work| {
        let resource = &*work.resource;
        let links = work.links.as_deref_mut();
        let Some(links) = links.filter(|_| media_type.matches(resource)) else {
            return;
        };
        match resource.page().map(Page::text) {
            Some(text) => add(links, in_text(&text), max),
            None => add(links, in_text(resource.text().unwrap_or_default()), max),
        }
    }))
}

fn limits(making: &FunctionContext<'_>) -> Result<(usize, MediaType), String> {
    let max = making.parameters.size("max")?.unwrap_or(DEFAULT_MAX);
    Ok((max, MediaType::from_parameters(making)))
}

/// Adds distinct links, at most `max` per directive.
///
/// Links that differ only in the fragment are considered equal. A `nofollow` link does not hide a
/// followed link to the same page.
fn add(links: &mut Vec<FoundLink>, found: impl Iterator<Item = FoundLink>, max: usize) {
    let known = links.iter().filter_map(spawned);
    let mut known: HashSet<(String, bool)> = known.collect();
    let new = found.filter(|link| spawned(link).is_some_and(|it| known.insert(it)));
    links.extend(new.take(max));
}

/// Returns the URL without its fragment, and the `nofollow` flag; `None` for links within the page.
fn spawned(link: &FoundLink) -> Option<(String, bool)> {
    let url = link.url.split('#').next()?;
    (!url.is_empty()).then(|| (url.to_owned(), link.is_nofollow))
}

/// Returns the URLs in a text, skipping words that are not URLs, as in "URL: see below".
fn in_text(text: &str) -> impl Iterator<Item = FoundLink> {
    let is_url = |url: &&str| url.starts_with('/') || url.contains(':');
    urls_in_text(text).filter(is_url).map(|url| FoundLink {
        url: url.to_owned(),
        kind: None,
        is_nofollow: false,
    })
}
