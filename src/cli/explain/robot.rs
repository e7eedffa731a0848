//! Determines the response to a robot that requests a page.

use http::HeaderMap;
use url::{Position, Url};

use crate::operations::decisions::DecisionView;
use crate::policy::{Action, Policy};
use crate::store::{DescriptionQuery, Store, StoreError, StoredDescription};

use super::{Explainer, report::ExplainedRequest};

/// The User-Agent of the robot that the checks imitate.
pub(in crate::cli) const GOOGLEBOT: &str =
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// The maximum number of descriptions to search for a filtered page.
const LOOKED_THROUGH: u32 = 100;

/// Returns the reason why a decision does not redirect the robot to heaven.
pub(in crate::cli) fn obstacle(decided: &DecisionView, heaven: &str) -> Option<String> {
    let to = decided.location.as_deref().unwrap_or_default();
    let is_heaven = |to: &str| {
        let base = Url::parse("http://localhost/").ok();
        let url = base.and_then(|base| base.join(to).ok());
        url.is_some_and(|url| url.path().starts_with(heaven.trim_end_matches('/')))
    };
    match decided.action {
        Action::Redirect | Action::Serve if !is_heaven(to) => Some(format!(
            "the robot is redirected to {to}, not to {heaven}: check redirect_url"
        )),
        Action::Redirect | Action::Serve if decided.is_dry_run => Some(format!(
            "mode is report; to redirect the robot to {to}, set mode to on"
        )),
        Action::Redirect | Action::Serve => None,
        _ => {
            let last = decided.steps.len().saturating_sub(2);
            let reasons = decided.steps.iter().skip(last);
            let reasons: Vec<_> = reasons.map(|step| step.text.as_str()).collect();
            let reasons = reasons.join(" ");
            Some(format!(
                "{reasons} To see each step, run `robot-detection explain`"
            ))
        }
    }
}

/// Chooses a stored page, preferring filtered pages; returns its URL and title.
pub(in crate::cli) async fn example_page(
    store: &Store,
    site: &str,
    policy: &Policy,
) -> Result<Option<(Url, String)>, StoreError> {
    let query = DescriptionQuery::new(site).limit(LOOKED_THROUGH);
    let stored = store.descriptions().list(&query).await?;
    let of = |stored: &StoredDescription| {
        let url = Url::parse(stored.description.url()).ok()?;
        Some((url, stored.description.title().to_owned()))
    };
    let pages: Vec<_> = stored.iter().filter_map(of).collect();
    let filtered = pages.iter().find(|(url, _)| policy.is_filtered(url.path()));
    Ok(filtered.or(pages.first()).cloned())
}

impl Explainer {
    /// Returns a server's decision for a robot that requests a page and does not prove its claim.
    pub(in crate::cli) async fn robot_answer(
        &self,
        url: &Url,
        user_agent: &str,
    ) -> anyhow::Result<DecisionView> {
        let request = ExplainedRequest {
            line: None,
            method: "GET".to_owned(),
            host: Some(url[Position::BeforeHost..Position::AfterPort].to_owned()),
            target: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            user_agent: user_agent.as_bytes().to_vec(),
            headers: HeaderMap::new(),
        };
        Ok(self.judge(&request).await?.decided)
    }
}
