//! `extract-html-meta`.

use crate::document::{Meta, Page, shorten_bytes};
use crate::filter::{Step, StepOutcome, Work};
use robot_detection_store::description::{ResourceDescription, name};

use super::{FunctionContext, enumerate::MediaType};

/// META tags of one page at most.
const MAX_TAGS: usize = 200;

/// Bytes of a tag's name at most.
const MAX_NAME: usize = 64;

/// What no page says about itself: other functions find it out.
// A page that could set these would speak for its server, or for another page.
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

/// `http-equiv` that are orders to a browser, and say nothing about the page.
const ORDERS: [&str; 7] = [
    "refresh",
    "set-cookie",
    "content-security-policy",
    "x-ua-compatible",
    "default-style",
    "cache-control",
    "pragma",
];

/// Makes attributes of title and META tags.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    Ok(Box::new(ExtractMeta {
        max_bytes: making.parameters.size("truncate")?,
        media_type: MediaType::of(making),
    }))
}

struct ExtractMeta {
    max_bytes: Option<usize>,
    media_type: MediaType,
}

impl Step for ExtractMeta {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &*work.resource;
        let page = resource.page().filter(|_| self.media_type.fits(resource));
        if let Some((description, page)) = work.description.as_deref_mut().zip(page) {
            self.extract(page, description);
        }
        StepOutcome::Continue
    }
}

impl ExtractMeta {
    fn extract(&self, page: &Page, description: &mut ResourceDescription) {
        if let Some(title) = &page.title {
            self.set(description, name::TITLE, title);
        }
        let (orders, named): (Vec<_>, Vec<_>) = page.metas.iter().partition(|it| it.is_http_equiv);
        let mut seen: Vec<&str> = Vec::new();
        for meta in named.into_iter().chain(orders).take(MAX_TAGS) {
            if !is_usable(meta) {
                continue;
            }
            if !seen.contains(&meta.name.as_str()) {
                seen.push(&meta.name);
                self.set(description, &meta.name, &meta.content);
            // Many pages have a tag for each author and each group of keywords.
            } else if !meta.is_http_equiv
                && [name::KEYWORDS, name::AUTHOR].contains(&meta.name.as_str())
            {
                let before = description.value(&meta.name).unwrap_or_default();
                let both = format!("{before}, {}", meta.content.trim());
                self.set(description, &meta.name, &both);
            }
        }
    }

    fn set(&self, description: &mut ResourceDescription, name: &str, value: &str) {
        let value = shorten_bytes(value.trim(), self.max_bytes.unwrap_or(usize::MAX));
        if !value.is_empty() {
            description.set(name, value);
        }
    }
}

/// Returns `true` if a tag says something about its page, under a name that SOIF can write.
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
