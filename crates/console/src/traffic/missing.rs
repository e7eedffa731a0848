//! Finds redirected paths for which robot heaven has no page.

use url::Url;

use crate::{page::encode, problem::Problem, state::AdminState};

use super::paths_table::RowView;

/// The descriptions of a site, which can be searched by path.
pub(super) struct DescribedPages<'s> {
    state: &'s AdminState,
    site: &'s str,
    /// Scheme, host and port of the URLs of the site's pages.
    origin: Url,
}

impl<'s> DescribedPages<'s> {
    /// Prepares the search by path; returns `None` if the site has no descriptions.
    pub(super) async fn of(state: &'s AdminState, site: &'s str) -> Result<Option<Self>, Problem> {
        let first = state
            .operations()
            .store
            .descriptions()
            .first_url(site, "")
            .await?;
        let origin = first.and_then(|url| Url::parse(&url).ok()?.join("/").ok());
        Ok(origin.map(|origin| Self {
            state,
            site,
            origin,
        }))
    }

    /// Marks the rows that contain requests from redirected robots for paths without a description.
    pub(super) async fn mark_missing(&self, rows: &mut [RowView]) -> Result<(), Problem> {
        for row in rows {
            if row.figure.robots() > 0
                && row.figure.count.redirects > 0
                && let Some(beginnings) = beginnings(&row.name)
                && !self.has_any(&beginnings).await?
            {
                row.missing = self.link(&row.name);
            }
        }
        Ok(())
    }

    /// Returns `true` if any described URL equals, or starts with, one of the given beginnings.
    async fn has_any(&self, beginnings: &[Beginning]) -> Result<bool, Problem> {
        for beginning in beginnings {
            // Encoded in the same way as the URLs of descriptions, regardless of how the robot
            // encoded the path.
            let Ok(url) = self.origin.join(&beginning.text) else {
                continue;
            };
            let store = &self.state.operations().store;
            let found = store
                .descriptions()
                .first_url(self.site, url.as_str())
                .await?;
            let is_of = |found: String| {
                let rest = found.strip_prefix(url.as_str());
                rest.is_some_and(|rest| rest.is_empty() || !beginning.is_whole)
            };
            if found.is_some_and(is_of) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the link that searches for descriptions below a path.
    fn link(&self, path: &str) -> String {
        let (site, begins) = (encode(self.site), encode(path.trim_end_matches('*')));
        format!("site-robot/descriptions?site={site}&q={begins}")
    }
}

/// The beginning of the path of a described URL.
#[derive(Debug, Eq, PartialEq)]
struct Beginning {
    text: String,
    /// Whether the text is the full URL instead of only its beginning.
    is_whole: bool,
}

/// Returns the beginnings of the URLs that a row contains; `None` for a pattern without a fixed
/// beginning.
fn beginnings(name: &str) -> Option<Vec<Beginning>> {
    let beginning = |text: &str, is_whole| Beginning {
        text: text.to_owned(),
        is_whole,
    };
    // In a URL, a path that starts with two slashes would specify another host.
    if !name.starts_with('/') || name.starts_with("//") {
        return None;
    }
    match name.split_once('*') {
        // Paths are stored without their queries.
        None => Some(vec![
            beginning(name, true),
            beginning(&format!("{name}?"), false),
        ]),
        Some((start, "")) if start.len() > 1 => Some(vec![beginning(start, false)]),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_without_a_beginning_are_not_searched() {
        let told = |name: &str| {
            let all = beginnings(name)?.into_iter();
            Some(all.map(|one| one.text).collect::<Vec<_>>())
        };
        let some = |all: &[&str]| Some(all.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(told("/a/b.html"), some(&["/a/b.html", "/a/b.html?"]));
        assert_eq!(told("/docs/*"), some(&["/docs/"]));
        for name in ["/*", "/a/*/c", "//evil.example/a", "*", "", "http://a/"] {
            assert_eq!(told(name), None, "{name}");
        }
    }
}
