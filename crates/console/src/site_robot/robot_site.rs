//! Selects the site that the site robot's pages show.

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::Deserialize;

use crate::{
    fields::Params,
    problem::Problem,
    sites::{ChoiceView, query},
    state::AdminState,
};

/// The site that was selected for a page of the site robot; an extractor.
///
/// This is the site in the query parameter `site` or, without the parameter, the first site that
/// has a site robot or descriptions. The name is empty if there is no such site.
#[derive(Clone, Debug)]
pub(crate) struct RobotSite {
    pub(super) name: String,
    /// All sites that can be selected, if there are several.
    pub(super) choices: Vec<ChoiceView>,
}

#[derive(Debug, Deserialize)]
struct SiteParam {
    #[serde(default)]
    site: String,
}

impl RobotSite {
    /// Finds a site by its name; an empty name selects the first site.
    pub(super) async fn find(state: &AdminState, wanted: &str) -> Result<Self, Problem> {
        let operations = state.operations();
        let mut names = operations.robot_runs.offered();
        let described = operations.store.descriptions().sites().await?.into_iter();
        // Includes sites whose robot runs in another process, so that their results are shown too.
        for name in described.chain(operations.store.frontier().run_sites().await?) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let found = if wanted.is_empty() {
            names.first().cloned().unwrap_or_default()
        } else if names.iter().any(|name| name == wanted) {
            wanted.to_owned()
        } else {
            return Err(Problem::not_found(
                "No site with this name has a site robot or descriptions.",
            ));
        };
        let choice = |name: &String| ChoiceView {
            query: query(name),
            is_chosen: *name == found,
            name: name.clone(),
        };
        let has_choice = names.len() > 1;
        let choices = names.iter().filter(|_| has_choice).map(choice).collect();
        Ok(Self {
            name: found,
            choices,
        })
    }

    /// Returns the query string that selects the site; empty if there is only one site.
    pub(super) fn query(&self) -> String {
        if self.choices.is_empty() {
            return String::new();
        }
        self.named()
    }

    /// Returns the query string that selects the site, even if there is only one site.
    pub(super) fn named(&self) -> String {
        query(&self.name)
    }
}

impl FromRequestParts<AdminState> for RobotSite {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Problem> {
        let Params(param) = Params::<SiteParam>::from_request_parts(parts, state).await?;
        Self::find(state, &param.site).await
    }
}
