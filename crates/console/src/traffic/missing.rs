//! Redirected paths that have no page in robot heaven.

use url::Url;

use crate::{page::encode, problem::Problem, state::AdminState};

use super::paths_table::RowView;

/// Descriptions of a site, searchable by path.
pub(super) struct DescribedPages<'s> {
    state: &'s AdminState,
    site: &'s str,
    /// Scheme, host and port of the site's pages.
    origin: Url,
}

impl<'s> DescribedPages<'s> {
    /// Creates the search by path; returns `None` if the site has no descriptions.
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

    /// Marks rows with redirected robots whose paths have no description.
    pub(super) async fn mark(&self, rows: &mut [RowView]) -> Result<(), Problem> {
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

    /// Returns `true` if any described URL equals or starts with one of these beginnings.
    async fn has_any(&self, beginnings: &[Beginning]) -> Result<bool, Problem> {
        for beginning in beginnings {
            // Encoded in the same way as URLs of descriptions, however the robot encoded the path.
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

    /// Returns the link to the search for descriptions below a path.
    fn link(&self, path: &str) -> String {
        let (site, begins) = (encode(self.site), encode(path.trim_end_matches('*')));
        format!("site-robot/descriptions?site={site}&q={begins}")
    }
}

/// Beginning of the path of a described URL.
#[derive(Debug, Eq, PartialEq)]
struct Beginning {
    text: String,
    /// Whether the text is the full URL rather than only its beginning.
    is_whole: bool,
}

/// Returns the beginnings of a row's URLs; `None` for a pattern without a fixed beginning.
fn beginnings(name: &str) -> Option<Vec<Beginning>> {
    let beginning = |text: &str, is_whole| Beginning {
        text: text.to_owned(),
        is_whole,
    };
    // A path that starts with two slashes would name another host.
    if !name.starts_with('/') || name.starts_with("//") {
        return None;
    }
    match name.split_once('*') {
        // Queries are not stored with paths.
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
