//! The list of a site's resource descriptions, and the page for a single description.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    description_search::{DescriptionPage, DescriptionSearch},
    robot_site::RobotSite,
};
use crate::{
    Moment,
    fields::Params,
    page::{Page, encode, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_operations::{Paging, cursor};
use robot_detection_site_robot::heaven::HeavenSettings;
use robot_detection_store::store::StoredDescription;

/// Maximum number of characters of a value that the page shows; JSON contains the full value.
const MAX_VALUE_CHARS: usize = 20_000;

#[derive(Template)]
#[template(path = "admin/descriptions.html")]
struct ListPage {
    page: Page,
    of: RobotSite,
    target: &'static str,
    begins: String,
    descriptions: Vec<EntryView>,
    /// Link to the first page of results; `None` on the first page.
    first: Option<String>,
    /// Link to the next page; `None` on the last page.
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "admin/description.html")]
struct OnePage {
    page: Page,
    query: String,
    description: DescriptionView,
}

/// The query parameters with which descriptions are searched.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SearchParams {
    #[serde(default)]
    q: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UrlParam {
    #[serde(default)]
    pub(super) url: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DescriptionEntry")]
struct EntryView {
    url: String,
    title: String,
    #[serde(skip)]
    link: String,
    first_seen: Moment,
    modified: Moment,
}

/// A description with all of its attributes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Description")]
struct DescriptionView {
    url: String,
    title: String,
    /// URL of the original page if a link to it is safe; an imported description may have a
    /// `javascript:` URL.
    #[serde(skip)]
    original: Option<String>,
    /// URL of the heaven page, if this process serves robot heaven for the site.
    heaven: Option<String>,
    first_seen: Moment,
    modified: Moment,
    attributes: Vec<AttributeView>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DescriptionAttribute")]
struct AttributeView {
    name: String,
    value: String,
    /// Number of characters that are not shown on the page.
    #[serde(skip)]
    left_out: usize,
}

/// Lists the descriptions whose URL, path or title starts with the search text.
pub(crate) async fn list(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<SearchParams>,
    Params(paging): Params<Paging>,
    page: Page,
) -> Result<Response, Problem> {
    let search = params.search(&paging)?;
    let found = search.find(&state, &of.name).await?;
    let top = address(&of.name, &search.begins);
    let next = next(&found).map(|next| format!("{top}&cursor={next}"));
    let first = search.after.is_some().then_some(top);
    let now_ms = state.now_ms();
    Ok(html(&ListPage {
        page,
        descriptions: EntryView::all(found, &of.name, now_ms),
        of,
        target: "site-robot/descriptions",
        begins: search.begins,
        first,
        next,
    }))
}

/// One page of the site robot's descriptions.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DescriptionList {
    site: String,
    descriptions: Vec<EntryView>,
    /// Cursor of the next page; absent on the last page.
    next: Option<String>,
}

/// A response that contains the description of one page.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OneDescription {
    site: String,
    description: DescriptionView,
}

/// Returns a page of the site's descriptions as JSON.
pub(crate) async fn list_json(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<SearchParams>,
    Params(paging): Params<Paging>,
) -> Result<Json<DescriptionList>, Problem> {
    let found = params.search(&paging)?.find(&state, &of.name).await?;
    let next = next(&found);
    Ok(Json(DescriptionList {
        descriptions: EntryView::all(found, &of.name, state.now_ms()),
        site: of.name,
        next,
    }))
}

/// Shows the description of a single page.
pub(crate) async fn show_description(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<UrlParam>,
    page: Page,
) -> Result<Response, Problem> {
    let mut description = DescriptionView::load(&state, &of.name, &params.url).await?;
    description
        .attributes
        .iter_mut()
        .for_each(AttributeView::shorten);
    Ok(html(&OnePage {
        page,
        query: of.query(),
        description,
    }))
}

/// Returns a single description as JSON.
pub(crate) async fn show_description_json(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<UrlParam>,
) -> Result<Json<OneDescription>, Problem> {
    let description = DescriptionView::load(&state, &of.name, &params.url).await?;
    let site = of.name;
    Ok(Json(OneDescription { site, description }))
}

impl SearchParams {
    fn search(self, paging: &Paging) -> Result<DescriptionSearch, Problem> {
        Ok(DescriptionSearch {
            begins: self.q,
            after: paging.after()?,
            limit: paging.limit()?,
        })
    }
}

/// Returns the cursor of the next page, if there is one.
fn next(found: &DescriptionPage) -> Option<String> {
    let last = found.entries.last().filter(|_| found.has_more)?;
    Some(cursor(&(&last.key, &last.url)))
}

fn address(site: &str, begins: &str) -> String {
    let (site, begins) = (encode(site), encode(begins));
    format!("site-robot/descriptions?site={site}&q={begins}")
}

impl EntryView {
    fn all(found: DescriptionPage, site: &str, now_ms: i64) -> Vec<Self> {
        let site = encode(site);
        let view = |entry: robot_detection_store::store::DescriptionEntry| Self {
            link: format!(
                "site-robot/description?site={site}&url={}",
                encode(&entry.url)
            ),
            url: entry.url,
            title: entry.title,
            first_seen: Moment::new(entry.first_seen_ms, now_ms),
            modified: Moment::new(entry.modified_ms, now_ms),
        };
        found.entries.into_iter().map(view).collect()
    }
}

impl DescriptionView {
    async fn load(state: &AdminState, site: &str, url: &str) -> Result<Self, Problem> {
        let stored = state
            .operations()
            .store
            .descriptions()
            .find(site, url)
            .await?;
        let stored = stored.ok_or_else(|| Problem::not_found("This URL has no description."))?;
        let sites = state.operations().sites.load();
        let of_site = sites.iter().find(|known| known.name == site);
        let heaven = of_site.and_then(|site| site.heaven.as_ref());
        let heaven_path = heaven.map(|(path, _)| path.as_str());
        Ok(Self::new(&stored, heaven_path, state.now_ms()))
    }

    fn new(stored: &StoredDescription, heaven_path: Option<&str>, now_ms: i64) -> Self {
        let description = &stored.description;
        let url = description.url();
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let attributes = description
            .attributes()
            .iter()
            .map(|attribute| AttributeView {
                name: attribute.name().to_owned(),
                value: attribute.value().to_owned(),
                left_out: 0,
            });
        Self {
            title: if description.title().is_empty() {
                url.to_owned()
            } else {
                description.title().to_owned()
            },
            original: is_web.then(|| url.to_owned()),
            heaven: heaven_path.and_then(|path| heaven_page(url, path)),
            first_seen: Moment::new(stored.first_seen_ms, now_ms),
            modified: Moment::new(stored.modified_ms, now_ms),
            attributes: attributes.collect(),
            url: url.to_owned(),
        }
    }
}

impl AttributeView {
    fn shorten(&mut self) {
        if let Some((end, _)) = self.value.char_indices().nth(MAX_VALUE_CHARS) {
            self.left_out = self.value.chars().count() - MAX_VALUE_CHARS;
            self.value.truncate(end);
        }
    }
}

/// Returns the URL of the heaven page on the original page's host.
fn heaven_page(url: &str, path: &str) -> Option<String> {
    let settings = HeavenSettings::new(url).ok()?.path(path);
    Some(format!("{}{}", settings.site(), settings.link(url)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::description::{ResourceDescription, name};

    const HOSTILE: &str = "<script>alert('x')</script>\"&";

    fn view(url: &str) -> DescriptionView {
        let mut description = ResourceDescription::new(url);
        description.set(name::TITLE, HOSTILE);
        description.set(name::FULL_TEXT, "ä".repeat(MAX_VALUE_CHARS + 7));
        let stored = StoredDescription {
            description,
            first_seen_ms: 0,
            modified_ms: 0,
        };
        DescriptionView::new(&stored, Some("/robot-heaven/"), 0)
    }

    #[test]
    fn hostile_text_is_escaped() {
        let mut description = view("javascript:alert(1)//<script>alert");
        assert_eq!((&description.original, &description.heaven), (&None, &None));
        description
            .attributes
            .iter_mut()
            .for_each(AttributeView::shorten);
        let page = OnePage {
            page: Page::default(),
            query: String::new(),
            description,
        };
        let text = page.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(!text.contains("href=\"javascript:"), "{text}");
        assert!(text.contains("7 more characters"), "{text}");

        let list = ListPage {
            page: Page::default(),
            of: RobotSite {
                name: HOSTILE.to_owned(),
                choices: Vec::new(),
            },
            target: "",
            begins: HOSTILE.to_owned(),
            descriptions: vec![EntryView {
                url: HOSTILE.to_owned(),
                title: HOSTILE.to_owned(),
                link: String::new(),
                first_seen: Moment::new(0, 0),
                modified: Moment::new(0, 0),
            }],
            first: None,
            next: None,
        };
        let text = list.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
    }

    #[test]
    fn description_links_to_its_heaven_page() {
        let view = view("https://www.example.com:8443/a/b.html");
        let page = "https://www.example.com:8443/robot-heaven/a/b.html";
        assert_eq!(view.heaven.as_deref(), Some(page));
    }
}
