//! The list of rules, and the way to another one.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    super::{
        Moment,
        access::Visitor,
        fields::{Fields, Params},
        page::{Page, html, html_with},
        problem::Problem,
        rules::RuleView,
        sites::SelectedSite,
        state::AdminState,
    },
    form::{RuleForm, check_enabled, sentence},
    view::LiveRuleView,
};
use robot_detection_layer::registry::Purpose;
use robot_detection_operations::live_rules::{
    FieldProblem, LiveRule, MAX_RULES, Proposal, ProposalError,
};
use robot_detection_store::store::LiveRuleChange;

#[derive(Template)]
#[template(path = "admin/rules.html")]
struct RulesPage {
    page: Page,
    of: SelectedSite,
    live: Vec<LiveRuleView>,
    /// Of the site, live ones first.
    rules: Vec<RuleView>,
    is_enabled: bool,
    /// What was done just now, and the rule by whose number it is undone.
    note: Option<Note>,
}

#[derive(Template)]
#[template(path = "admin/rule_new.html")]
struct NewRulePage {
    page: Page,
    form: RuleForm,
    purposes: &'static [Purpose],
    sites: Vec<String>,
    error: Option<FieldProblem>,
}

#[derive(Template)]
#[template(path = "admin/rule_confirm.html")]
struct ConfirmPage {
    page: Page,
    form: RuleForm,
    does: String,
    ends: Option<Moment>,
    touched: String,
    notes: Vec<String>,
}

/// What was done just now.
struct Note {
    text: String,
    /// Path of the form that undoes it, and the button's word.
    undo: Option<(&'static str, &'static str)>,
    id: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NoteParams {
    note: String,
    id: i64,
}

/// Number of the rule that a form is about.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RuleIdForm {
    id: RuleId,
}

/// Number as a form writes it: texts, which a flattened struct would not read as numbers.
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
    let live = LiveRuleView::all(&state);
    html(&RulesPage {
        page,
        note: Note::new(&params, &live),
        live,
        rules: RuleView::all(&of.policy.load()),
        of,
        is_enabled: state.operations().live_rules.is_enabled(),
    })
}

/// Shows the form.
pub(crate) async fn form(
    State(state): State<AdminState>,
    Params(form): Params<RuleForm>,
    page: Page,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    Ok(html(&NewRulePage::new(&state, page, form, None)))
}

/// Shows what the rule would have touched, before it is in force.
pub(crate) async fn confirm(
    State(state): State<AdminState>,
    Params(form): Params<RuleForm>,
    page: Page,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    match form.proposal(&state).await {
        Ok(proposal) => Ok(html(&ConfirmPage::new(&state, page, form, &proposal))),
        Err(error) => refused(&state, page, form, error),
    }
}

/// Puts a rule in force on every instance.
pub(crate) async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleForm>,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    let store = &state.operations().store;
    let added = match form.proposal(&state).await {
        Ok(proposal) => proposal.add(store, &visitor.actor(), state.now_ms()).await,
        Err(error) => Err(error),
    };
    match added {
        Ok(id) => {
            state.operations().take_over_live_rules().await;
            Ok(to_list(&page, "added", id))
        }
        Err(error) => refused(&state, page, form, error),
    }
}

/// Ends a rule at once.
pub(crate) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleIdForm>,
) -> Result<Response, Problem> {
    let id = form.id.0;
    remove_rule(&state, &visitor, id).await?;
    Ok(to_list(&page, "removed", id))
}

/// Brings a rule back that was removed.
pub(crate) async fn restore(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RuleIdForm>,
) -> Result<Response, Problem> {
    let id = form.id.0;
    restore_rule(&state, &visitor, id).await?;
    Ok(to_list(&page, "restored", id))
}

/// Ends a rule on every instance.
pub(super) async fn remove_rule(
    state: &AdminState,
    visitor: &Visitor,
    id: i64,
) -> Result<(), Problem> {
    check_enabled(state)?;
    let (store, actor) = (&state.operations().store, visitor.actor());
    let change = LiveRuleChange {
        actor: &actor,
        detail: "",
        now_ms: state.now_ms(),
    };
    let removed = store
        .live_rules()
        .remove(id, change, LiveRule::told)
        .await?;
    state.operations().take_over_live_rules().await;
    let gone = || Problem::not_found(format!("No live rule {id} is in force."));
    removed.map(drop).ok_or_else(gone)
}

/// Brings a rule back on every instance.
pub(super) async fn restore_rule(
    state: &AdminState,
    visitor: &Visitor,
    id: i64,
) -> Result<(), Problem> {
    check_enabled(state)?;
    let (store, actor) = (&state.operations().store, visitor.actor());
    let change = LiveRuleChange {
        actor: &actor,
        detail: "",
        now_ms: state.now_ms(),
    };
    let restored = store
        .live_rules()
        .restore(id, MAX_RULES, change, LiveRule::told);
    let restored = restored.await?;
    state.operations().take_over_live_rules().await;
    restored.map(drop).ok_or_else(|| {
        let message = format!(
            "The live rule {id} cannot be brought back: it is in force, has ended, is not known any more, or there are {MAX_RULES} others."
        );
        Problem::conflict("not_removed", message)
    })
}

/// Leads back to the list, which tells what was done with a rule.
fn to_list(page: &Page, done: &str, id: i64) -> Response {
    let list = format!("rules?note={done}&id={id}");
    page.location.see_other(&list)
}

/// Shows the form again with what is wrong.
fn refused(
    state: &AdminState,
    page: Page,
    form: RuleForm,
    error: ProposalError,
) -> Result<Response, Problem> {
    let ProposalError::Field(problem) = error else {
        return Err(error.into());
    };
    let problem = FieldProblem::new(problem.field, sentence(&problem.reason));
    let answer = NewRulePage::new(state, page, form, Some(problem));
    Ok(html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer))
}

impl NewRulePage {
    fn new(state: &AdminState, page: Page, form: RuleForm, error: Option<FieldProblem>) -> Self {
        let sites = state
            .operations()
            .site_policies()
            .into_iter()
            .map(|(name, _)| name);
        Self {
            page,
            form,
            purposes: Purpose::ROBOTS,
            sites: sites.collect(),
            error,
        }
    }

    fn error(&self, field: &str) -> &str {
        let error = self.error.as_ref().filter(|error| error.field == field);
        error.map_or("", |error| &error.reason)
    }
}

impl ConfirmPage {
    fn new(state: &AdminState, page: Page, form: RuleForm, proposal: &Proposal) -> Self {
        let notes = proposal.touched.notes.iter().map(|&note| note.to_owned());
        let now_ms = state.now_ms();
        Self {
            page,
            does: proposal.rule.to_string(),
            ends: proposal.ends_ms.map(|ends_ms| Moment::new(ends_ms, now_ms)),
            touched: proposal.touched.sentence(),
            notes: proposal.warnings.iter().cloned().chain(notes).collect(),
            form,
        }
    }

    /// Returns the fields of the form, which the next form sends on.
    fn fields(&self) -> [(&'static str, &str); 14] {
        let form = &self.form;
        [
            ("action", &form.action),
            ("robot", &form.robot),
            ("operator", &form.operator),
            ("purpose", &form.purpose),
            ("visitors", &form.visitors),
            ("addresses", &form.addresses),
            ("user_agent", &form.user_agent),
            ("people", &form.people),
            ("path", &form.path),
            ("site", &form.site),
            ("status", &form.status),
            ("requests", &form.requests),
            ("per_seconds", &form.per_seconds),
            ("ends", &form.ends),
        ]
    }
}

impl Note {
    fn new(params: &NoteParams, live: &[LiveRuleView]) -> Option<Self> {
        let id = params.id;
        let is_there = live.iter().any(|rule| rule.id == id);
        let (word, undo) = match &*params.note {
            "added" => ("in force on every instance", Some(("remove", "Undo"))),
            "restored" => ("in force again", Some(("remove", "Undo"))),
            "removed" => ("removed", Some(("restore", "Undo"))),
            _ => return None,
        };
        // The address may be opened again, when something else was done since.
        let is_still_so = is_there == (params.note != "removed");
        is_still_so.then(|| Self {
            text: format!("The live rule {id} is {word}."),
            undo,
            id,
        })
    }
}
