//! Renders the page of a description as HTML.

use std::borrow::Cow;

use askama::Template;

use robot_detection_texts::Language;

use super::{
    Catalogue, HeavenSettings,
    content::Content,
    crumbs::{Crumb, crumbs},
    date::Date,
    frame::{Frame, PageLink, rendered},
    html::Html,
    json_ld::JsonLd,
};
use robot_detection_store::description::ResourceDescription;

#[derive(Template)]
#[template(path = "heaven/page.html", whitespace = "minimize")]
struct Page<'d> {
    frame: Frame<'d>,
    canonical: Cow<'d, str>,
    summary: String,
    locale: Option<String>,
    published: Option<PageDate>,
    date: Option<PageDate>,
    class: String,
    markdown: Option<String>,
    before: Option<PageLink<'d>>,
    behind: Option<PageLink<'d>>,
    crumbs: Vec<Crumb>,
    has_contents: bool,
    json_ld: JsonLd,
    text: Option<Html>,
    content: &'d Content<'d>,
}

struct PageDate {
    iso: String,
    day: String,
}

/// Renders the page of a description as HTML, with the words of the original page.
pub fn page(
    description: &ResourceDescription,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    content_page(&Content::new(description), catalogue, settings)
}

pub(super) fn content_page(
    content: &Content<'_>,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    let mut frame = Frame::new(catalogue, settings);
    if let Some(language) = content.language {
        frame.language = language;
        frame.texts = Language::from_tag(language).unwrap_or_default();
    }
    let (before, behind) = catalogue.neighbours(content.url);
    let crumbs = crumbs(content.url, catalogue, settings);
    let markdown = settings.has_markdown().then(|| {
        let path = settings.page(content.url).markdown();
        format!("{}{path}", settings.base())
    });
    let page = Page {
        canonical: settings.canonical(content.url),
        summary: content.summary(),
        locale: content.language.and_then(locale),
        published: content.published.map(PageDate::from),
        date: content.modified.map(PageDate::from),
        class: content.classes.join(" › "),
        markdown,
        before: before.map(|entry| PageLink::new(entry, settings)),
        behind: behind.map(|entry| PageLink::new(entry, settings)),
        has_contents: content.headings.len() > 1 || !content.other_headings.is_empty(),
        json_ld: JsonLd::page(content, &crumbs, settings),
        crumbs,
        text: (!content.matter.pieces.is_empty())
            .then(|| Html::new(&content.matter.pieces, catalogue, settings)),
        frame,
        content,
    };
    rendered(&page)
}

/// Returns the language and country in `OpenGraph` format, such as `de_CH`.
fn locale(language: &str) -> Option<String> {
    let (language, country) = language.split_once('-')?;
    let is_country = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_country.then(|| {
        let (language, country) = (language.to_ascii_lowercase(), country.to_ascii_uppercase());
        format!("{language}_{country}")
    })
}

impl From<Date> for PageDate {
    fn from(date: Date) -> Self {
        Self {
            iso: date.to_text(),
            day: date.day(),
        }
    }
}
