//! Breadcrumbs of a page.

use percent_encoding::percent_decode_str;

use super::{Catalogue, HeavenSettings, text::one_line};

/// Maximum number of URL segments shown in the breadcrumbs.
const MAX_CRUMBS: usize = 16;

/// Breadcrumb for a level above the page: the name of the level and an optional link.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Crumb {
    pub(super) text: String,
    /// Link to the page of this level, if there is one.
    pub(super) href: Option<String>,
}

/// Returns the breadcrumbs of a page: robot heaven, followed by the directories in the URL's path.
///
/// A directory is linked if it has a page.
pub(super) fn crumbs(url: &str, catalogue: &Catalogue, settings: &HeavenSettings) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb {
        text: settings.site_name().to_owned(),
        href: Some(settings.base().to_owned()),
    }];
    let Some((start, path)) = split(url) else {
        return crumbs;
    };
    if start != settings.site() {
        let host = start.split_once("://").map_or(start, |(_, host)| host);
        crumbs.push(Crumb {
            text: host.to_owned(),
            href: None,
        });
    }
    let path = path.trim_end_matches('/');
    let mut end = 0;
    while let Some(length) = path.get(end + 1..).and_then(|rest| rest.find('/')) {
        let from = end + 1;
        end = from + length;
        let text = path.get(from..end).unwrap_or_default();
        let decoded = percent_decode_str(text).decode_utf8_lossy();
        let text = one_line(&decoded);
        if text.is_empty() || crumbs.len() > MAX_CRUMBS {
            continue;
        }
        let above = format!("{start}{}", path.get(..end).unwrap_or_default());
        let pages = [format!("{above}/"), above];
        let page = pages.iter().find(|page| catalogue.contains(page));
        crumbs.push(Crumb {
            text,
            href: page.map(|page| settings.link(page)),
        });
    }
    crumbs
}

/// Splits a URL into its origin and path.
fn split(url: &str) -> Option<(&str, &str)> {
    let host = url.find("://")? + 3;
    let end = url.get(host..)?.find(['/', '?', '#'])? + host;
    let (start, rest) = url.split_at_checked(end)?;
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((start, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heaven::CatalogueBuilder;
    use robot_detection_store::description::ResourceDescription;

    fn told(url: &str, known: &[&str]) -> String {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        let mut builder = CatalogueBuilder::default();
        for url in known {
            builder.add(&ResourceDescription::new(*url));
        }
        let crumbs = crumbs(url, &builder.build(&settings), &settings);
        let told = crumbs.into_iter().map(|crumb| match crumb.href {
            Some(href) => format!("{}={href}", crumb.text),
            None => crumb.text,
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn breadcrumbs_are_the_directories_of_the_url() {
        let home = "a.example=/robot-heaven/";
        for (url, expected) in [
            ("https://a.example/", ""),
            ("https://a.example/a", ""),
            ("https://a.example/a/", ""),
            ("https://a.example/a/b/c?d/e", " a=/robot-heaven/a/ b"),
            ("https://a.example/%C3%A9%0a/b", " é"),
            ("https://a.example//b", ""),
            ("https://b.example/a/b", " b.example a"),
        ] {
            let told = told(url, &["https://a.example/a/"]);
            assert_eq!(told, format!("{home}{expected}"), "{url}");
        }
    }
}
