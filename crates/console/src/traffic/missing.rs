//! Paths that robots were sent away from, and that robot heaven has no page of.

use url::Url;

use crate::{page::encode, problem::Problem, state::AdminState};

use super::paths_table::RowView;

/// Descriptions of a site, looked at by path.
pub(super) struct Described<'s> {
    state: &'s AdminState,
    site: &'s str,
    /// Scheme, host and port of its pages.
    origin: Url,
}

impl<'s> Described<'s> {
    /// Creates it; `None` where nothing of the site is described.
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

    /// Marks rows that robots were redirected from and nothing is described of.
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

    /// Returns `true` if a URL is described that one of the beginnings is of, or is it.
    async fn has_any(&self, beginnings: &[Beginning]) -> Result<bool, Problem> {
        for beginning in beginnings {
            // Encoded as URLs of descriptions are, whatever the robot has written.
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

    /// Returns the link to the search for what is described below a path.
    fn link(&self, path: &str) -> String {
        let (site, begins) = (encode(self.site), encode(path.trim_end_matches('*')));
        format!("site-robot/descriptions?site={site}&q={begins}")
    }
}

/// How the path of a described URL begins.
#[derive(Debug, Eq, PartialEq)]
struct Beginning {
    text: String,
    /// It is all of the URL.
    is_whole: bool,
}

/// Returns how URLs begin that a row is about; `None` of a pattern that no beginning says.
fn beginnings(name: &str) -> Option<Vec<Beginning>> {
    let beginning = |text: &str, is_whole| Beginning {
        text: text.to_owned(),
        is_whole,
    };
    // With two slashes it would be another host's.
    if !name.starts_with('/') || name.starts_with("//") {
        return None;
    }
    match name.split_once('*') {
        // Of a path the query is not kept.
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
    fn only_what_has_a_beginning_is_looked_for() {
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
