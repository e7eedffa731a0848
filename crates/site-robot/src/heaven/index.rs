//! Index pages, the start page, and the "not found" page.

use askama::Template;

use super::{
    Catalogue, HeavenSettings,
    catalogue::{Listing, PAGE_LINKS},
    frame::{Frame, PageLink, rendered},
    json_ld::JsonLd,
    view::View,
};

/// Number of pages listed on the start page.
const NEWEST: usize = 10;

#[derive(Template)]
#[template(path = "heaven/listing.html", whitespace = "minimize")]
struct ListingPage<'c> {
    frame: Frame<'c>,
    canonical: String,
    range: String,
    heading: &'static str,
    groups: Vec<Group<'c>>,
    before: Option<String>,
    behind: Option<String>,
    numbers: Vec<Number>,
    json_ld: JsonLd,
    listing: &'c Listing<'c>,
}

struct Group<'c> {
    heading: String,
    links: Vec<PageLink<'c>>,
}

struct Number {
    value: usize,
    href: String,
    /// Relation (`rel`) to the linked page, or "here" for the current page.
    relation: &'static str,
}

#[derive(Template)]
#[template(path = "heaven/start.html", whitespace = "minimize")]
struct StartPage<'c> {
    frame: Frame<'c>,
    canonical: String,
    about: &'c str,
    summary: String,
    newest: Vec<PageLink<'c>>,
    json_ld: JsonLd,
}

#[derive(Template)]
#[template(path = "heaven/missing.html", whitespace = "minimize")]
struct MissingPage<'c> {
    frame: Frame<'c>,
}

/// Renders a page of an index; returns `None` if the page does not exist.
pub(super) fn listing(
    view: View,
    number: usize,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> Option<String> {
    let listing = catalogue.listing(view, number)?;
    let href = |number| format!("{}{}", settings.base(), view.path(number));
    let from = (number - 1) * PAGE_LINKS + 1;
    let to = from + listing.entries.len() - 1;
    let canonical = settings.whole(&view.path(number));
    let texts = settings.texts();
    let heading = view.heading(texts);
    let page = ListingPage {
        frame: Frame::new(catalogue, settings),
        json_ld: JsonLd::listing(heading, &canonical, settings),
        canonical,
        range: texts.filled("range", &[&from, &to, &listing.total]),
        heading,
        groups: groups(&listing, settings),
        before: (number > 1).then(|| href(number - 1)),
        behind: (number < listing.last).then(|| href(number + 1)),
        numbers: numbers(number, listing.last)
            .map(|other| Number {
                value: other,
                href: href(other),
                relation: match other {
                    _ if other == number => "here",
                    _ if other + 1 == number => "prev",
                    _ if other == number + 1 => "next",
                    _ => "",
                },
            })
            .collect(),
        listing: &listing,
    };
    Some(rendered(&page))
}

/// Renders the start page.
pub(super) fn start(catalogue: &Catalogue, settings: &HeavenSettings) -> String {
    let newest = catalogue.newest(NEWEST).into_iter();
    rendered(&StartPage {
        frame: Frame::new(catalogue, settings),
        canonical: settings.whole(""),
        about: settings.about(),
        summary: settings.texts().filled("count", &[&catalogue.len()]),
        newest: newest.map(|entry| PageLink::new(entry, settings)).collect(),
        json_ld: JsonLd::start(settings),
    })
}

/// Renders the "not found" page.
pub(super) fn missing(catalogue: &Catalogue, settings: &HeavenSettings) -> String {
    let frame = Frame::new(catalogue, settings);
    rendered(&MissingPage { frame })
}

fn groups<'c>(listing: &Listing<'c>, settings: &HeavenSettings) -> Vec<Group<'c>> {
    let mut groups: Vec<Group<'c>> = Vec::new();
    for entry in &listing.entries {
        let heading = listing.view.group(entry, settings.texts());
        let link = PageLink::new(entry, settings);
        match groups.last_mut() {
            Some(group) if group.heading == heading => group.links.push(link),
            _ => groups.push(Group {
                heading,
                links: vec![link],
            }),
        }
    }
    groups
}

/// Returns the page numbers to link to, at exponentially growing distances from the current page.
///
/// As a result, every index page can be reached from every other index page in a few steps.
fn numbers(here: usize, last: usize) -> impl Iterator<Item = usize> {
    let mut numbers = vec![1, here, last];
    let mut step = 1;
    while step < last {
        numbers.extend([here.saturating_sub(step), here.saturating_add(step)]);
        step *= 2;
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .filter(move |number| (1..=last).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_reachable_in_a_few_links() {
        let all: Vec<_> = numbers(1, 1).collect();
        assert_eq!(all, [1]);
        let all: Vec<_> = numbers(50, 1_000).collect();
        assert_eq!(
            all,
            [
                1, 18, 34, 42, 46, 48, 49, 50, 51, 52, 54, 58, 66, 82, 114, 178, 306, 562, 1_000
            ]
        );
        assert!(numbers(5_000, 10_000).count() < 40);
    }
}
