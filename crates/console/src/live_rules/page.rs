//! The pages on which live rules are listed, created and removed.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    super::{
        access::Visitor,
        fields::{Fields, Params},
        login::Empty,
        page::{Page, html, html_with},
        problem::Problem,
        sites::SelectedSite,
        state::AdminState,
    },
    form::{FIELDS, RuleForm, check_enabled, surroundings},
};
use robot_detection_layer::registry::Purpose;
use robot_detection_operations::{
    Invalid, Refusal,
    live_rules::{self, AddedRule, LiveRuleView, NewPause, RuleView},
};

#[derive(Template)]
#[template(path = "admin/rules.html")]
struct RulesPage {
    page: Page,
    of: SelectedSite,
    live: Vec<LiveRuleView>,
    /// Rules of the selected site, live rules first.
    rules: Vec<RuleView>,
    is_enabled: bool,
    /// Note about the most recent action, with a way to undo it.
    note: Option<Note>,
}

#[derive(Template)]
#[template(path = "admin/rule_new.html")]
struct NewRulePage {
    page: Page,
    form: RuleForm,
    purposes: &'static [Purpose],
    sites: Vec<String>,
    errors: Vec<Invalid>,
}

#[derive(Template)]
#[template(path = "admin/rule_confirm.html")]
struct ConfirmPage {
    page: Page,
    form: RuleForm,
    added: AddedRule,
}

/// A note about the most recent action.
struct Note {
    text: String,
    /// Path of the form that undoes the action, and the label of the button.
    undo: Option<(&'static str, &'static str)>,
    id: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NoteParams {
    note: String,
    id: i64,
}

/// The ID of the rule that a form changes.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RuleIdForm {
    id: RuleId,
}

/// An ID parsed from a text, because a flattened struct would not parse form values as numbers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct RuleId(i64);

impl TryFrom<String> for RuleId {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Shows the rules in force.
pub(crate) async fn list(
    State(state): State<AdminState>,
    Params(params): Params<NoteParams>,
    page: Page,
    of: SelectedSite,
) -> Response {
    let operations = state.operations();
    let among = operations.surroundings(state.caller());
    let set = operations.live_rules.load();
    let live = live_rules::list_live_rules(&among, &set, |_| true);
    html(&RulesPage {
        page,
        note: Note::new(&params, &live),
        live,
        rules: RuleView::all(&of.name, &of.policy.load()),
        of,
        is_enabled: operations.live_rules.is_enabled(),
    })
}

/// Shows the form for a new live rule.
pub(crate) async fn form(
    State(state): State<AdminState>,
    Params(form): Params<RuleForm>,
    page: Page,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    Ok(html(&NewRulePage::new(&state, page, form, Vec::new())))
}

/// Shows the requests that a rule would have affected, before the rule is activated.
pub(crate) async fn confirm(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Params(form): Params<RuleForm>,
    page: Page,
) -> Result<Response, Problem> {
    match save(&state, &visitor, &form, true).await {
        Ok(added) => Ok(html(&ConfirmPage { page, form, added })),
        Err(refusal) => refused(&state, page, form, refusal),
    }
}

/// Activates a rule on every instance.
pub(crate) async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleForm>,
) -> Result<Response, Problem> {
    match save(&state, &visitor, &form, false).await {
        Ok(added) => {
            state.operations().take_over_live_rules().await;
            Ok(to_list(&page, "added", added.id.unwrap_or_default()))
        }
        Err(refusal) => refused(&state, page, form, refusal),
    }
}

async fn save(
    state: &AdminState,
    visitor: &Visitor,
    form: &RuleForm,
    is_dry_run: bool,
) -> Result<AddedRule, Refusal> {
    check_enabled(state)?;
    let among = state.operations().surroundings(state.caller_as(visitor));
    live_rules::add(&among, &form.fields()?, is_dry_run).await
}

/// Removes a rule with immediate effect.
pub(crate) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleIdForm>,
) -> Result<Response, Problem> {
    let id = form.id.0;
    let among = surroundings(&state, &visitor)?;
    live_rules::remove(&among.caller, &id.to_string()).await?;
    state.operations().take_over_live_rules().await;
    Ok(to_list(&page, "removed", id))
}

/// Restores a live rule that was removed.
pub(crate) async fn restore(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleIdForm>,
) -> Result<Response, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::restore(&among.caller, form.id.0).await?;
    state.operations().take_over_live_rules().await;
    Ok(to_list(&page, "restored", form.id.0))
}

/// Pauses all enforcement for an hour.
pub(crate) async fn pause(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::pause(&among.caller, &NewPause::default()).await?;
    state.operations().take_over_live_rules().await;
    Ok(page.location.see_other("rules"))
}

/// Resumes enforcement.
pub(crate) async fn resume(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::resume(&among.caller).await?;
    state.operations().take_over_live_rules().await;
    Ok(page.location.see_other("rules"))
}

/// Redirects to the list of rules, which shows a note about the action.
fn to_list(page: &Page, done: &str, id: i64) -> Response {
    let list = format!("rules?note={done}&id={id}");
    page.location.see_other(&list)
}

/// Shows the form again, with the errors in its fields.
fn refused(
    state: &AdminState,
    page: Page,
    form: RuleForm,
    refusal: Refusal,
) -> Result<Response, Problem> {
    let Refusal::Invalid(errors) = refusal else {
        return Err(refusal.into());
    };
    let answer = NewRulePage::new(state, page, form, errors);
    Ok(html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer))
}

impl NewRulePage {
    fn new(state: &AdminState, page: Page, form: RuleForm, errors: Vec<Invalid>) -> Self {
        let sites = state.operations().site_policies().into_iter();
        Self {
            page,
            form,
            purposes: Purpose::ROBOTS,
            sites: sites.map(|(name, _)| name).collect(),
            errors,
        }
    }

    fn error(&self, field: &str) -> &str {
        Invalid::message_for(field, &self.errors)
    }
}

impl ConfirmPage {
    /// Returns the form's fields, which the next form contains as well.
    fn fields(&self) -> [(&'static str, &str); FIELDS.len()] {
        FIELDS.map(|field| (field, self.form.get(field)))
    }
}

impl Note {
    fn new(params: &NoteParams, live: &[LiveRuleView]) -> Option<Self> {
        let id = params.id;
        let is_there = live.iter().any(|rule| rule.id == id);
        let (word, undo) = match &*params.note {
            "added" => ("active on every instance", Some(("remove", "Undo"))),
            "restored" => ("active again", Some(("remove", "Undo"))),
            "removed" => ("removed", Some(("restore", "Undo"))),
            _ => return None,
        };
        // The URL may be opened again after the rule has changed.
        let is_still_so = is_there == (params.note != "removed");
        is_still_so.then(|| Self {
            text: format!("Live rule {id} is {word}."),
            undo,
            id,
        })
    }
}
