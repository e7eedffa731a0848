//! Statements of a page's sources about the use of the page.

use robot_detection_site_robot::licensing::{ContentUse, PageSources, Preference, decisive};
use schemars::JsonSchema;
use serde::Serialize;

/// The statements about the use of a page, and the result for each use.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Preferences")]
pub struct PreferencesView {
    /// Result for each use of the page.
    pub uses: Vec<UseView>,
    /// All statements, including those without effect.
    pub statements: Vec<StatementView>,
}

/// The preference for one use of a page.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "UsePreference")]
pub struct UseView {
    /// Use: train-ai, ai-use or search.
    #[serde(rename = "use")]
    pub usage: &'static str,
    /// Whether the use is permitted; absent without a statement.
    pub allowed: Option<bool>,
    /// Statement that decides.
    pub by: Option<StatementView>,
    /// Statement that contradicts the deciding one.
    pub contradicted_by: Option<StatementView>,
}

/// A statement about the use of a page.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "UseStatement")]
pub struct StatementView {
    /// Use that the statement is about; absent if it has no effect.
    #[serde(rename = "use")]
    pub usage: Option<&'static str>,
    /// Whether the use is permitted; absent if the statement has no effect.
    pub allowed: Option<bool>,
    /// Line, header, tag or document that contains the statement.
    pub source: String,
    /// Statement as written.
    pub text: String,
    /// Reason why the statement has no effect.
    pub remark: Option<String>,
}

impl PreferencesView {
    /// Evaluates the sources of a page for a robot.
    #[must_use]
    pub fn new(sources: &PageSources<'_>, robot: &str, url: &str) -> Self {
        let stated = sources.preferences(robot, url);
        let of_use = |usage: ContentUse| {
            let by = decisive(&stated, usage);
            let other = stated.iter().find(|one| {
                one.usage == Some(usage)
                    && by.is_some_and(|by| one.allows == by.allows.map(|allows| !allows))
            });
            UseView {
                usage: usage.as_str(),
                allowed: by.and_then(|by| by.allows),
                by: by.map(StatementView::from),
                contradicted_by: other.map(StatementView::from),
            }
        };
        Self {
            uses: ContentUse::ALL.iter().copied().map(of_use).collect(),
            statements: stated.iter().map(StatementView::from).collect(),
        }
    }
}

impl UseView {
    /// Returns the name of the use.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.usage {
            "train-ai" => "AI training",
            "ai-use" => "Input for AI",
            _ => "Search",
        }
    }

    /// Returns the result as text, with the statements that it is based on.
    #[must_use]
    pub fn text(&self) -> String {
        let word = match self.allowed {
            Some(true) => "permitted",
            Some(false) => "forbidden",
            None => return "no preference".to_owned(),
        };
        let stated = |one: &StatementView| format!("{} ({})", one.text, one.source);
        let by = self.by.as_ref().map(stated).unwrap_or_default();
        match &self.contradicted_by {
            Some(other) => format!("{word}: {by}, although {} permits it", stated(other)),
            None => format!("{word}: {by}"),
        }
    }
}

impl From<&Preference> for StatementView {
    fn from(one: &Preference) -> Self {
        Self {
            usage: one.usage.map(ContentUse::as_str),
            allowed: one.allows,
            source: one.source.clone(),
            text: one.text.clone(),
            remark: one.remark.clone(),
        }
    }
}
