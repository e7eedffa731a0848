//! What a robot gets that asks for a page.

use http::HeaderMap;
use url::{Position, Url};

use crate::policy::Action;

use super::{Explainer, report::ExplainedRequest};

/// What a robot gets, and why.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RobotAnswer {
    /// What is done, or what would be but for a dry run.
    pub(in crate::cli) action: Action,
    /// Where it is sent, or whose page it is given.
    pub(in crate::cli) location: Option<String>,
    /// Whether it passes all the same.
    pub(in crate::cli) is_dry_run: bool,
    /// The steps that led to it.
    pub(in crate::cli) reasons: Vec<String>,
}

impl Explainer {
    /// Returns what a robot gets from a server that asks for a page and proves nothing.
    pub(in crate::cli) async fn robot_answer(
        &self,
        url: &Url,
        user_agent: &str,
    ) -> anyhow::Result<RobotAnswer> {
        let request = ExplainedRequest {
            line: None,
            method: "GET".to_owned(),
            host: Some(url[Position::BeforeHost..Position::AfterPort].to_owned()),
            target: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            user_agent: user_agent.as_bytes().to_vec(),
            headers: HeaderMap::new(),
        };
        self.judge(&request, |report| {
            let explained = &report.explained;
            let steps = explained.steps.iter();
            RobotAnswer {
                action: explained.action,
                location: explained.location.clone(),
                is_dry_run: explained.is_dry_run,
                reasons: steps.map(|step| step.text.clone()).collect(),
            }
        })
        .await
    }
}
