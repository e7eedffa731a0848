//! The pages on which robots are added and removed by hand.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    access::Visitor,
    fields::Fields,
    page::{Page, html, html_with},
    problem::Problem,
    robot_links::link,
    state::AdminState,
};
use robot_detection_layer::registry::Purpose;
use robot_detection_operations::{
    Invalid, Refusal,
    robots::{self, NewRobot},
};

#[derive(Template)]
#[template(path = "admin/robot_new.html")]
struct NewRobotPage<'f> {
    page: Page,
    form: &'f NewRobot,
    purposes: &'static [Purpose],
    errors: Vec<Invalid>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RemoveForm {
    #[serde(default)]
    id: String,
}

/// Shows the empty form for a new robot.
pub(super) async fn form(page: Page) -> Response {
    html(&NewRobotPage {
        page,
        form: &NewRobot::default(),
        purposes: Purpose::ALL,
        errors: Vec::new(),
    })
}

/// Adds a robot, or shows the form again with the errors in its fields.
pub(super) async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<NewRobot>,
) -> Result<Response, Problem> {
    let errors = match robots::add(&state.caller_as(&visitor), &form).await {
        Ok(robot) => {
            reload_registry(&state).await?;
            let page_of_robot = link(robot.source.as_str(), &robot.id);
            // The page of a robot whose ID is `..` already has a query that contains the ID.
            let mark = if page_of_robot.contains('?') {
                '&'
            } else {
                '?'
            };
            let location = &page.location;
            return Ok(location.see_other(&format!("{page_of_robot}{mark}note=added")));
        }
        Err(Refusal::Invalid(errors)) => errors,
        // An ID conflict is reported as an error in the ID field, so that the form keeps its input.
        Err(Refusal::Conflict { message, .. }) => vec![Invalid::new("id", message)],
        Err(refusal) => return Err(refusal.into()),
    };
    let answer = NewRobotPage {
        page,
        form: &form,
        purposes: Purpose::ALL,
        errors,
    };
    Ok(html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer))
}

/// Removes a robot that was added by hand.
pub(super) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RemoveForm>,
) -> Result<Response, Problem> {
    robots::remove(&state.caller_as(&visitor), &form.id).await?;
    reload_registry(&state).await?;
    Ok(page.location.see_other("registry?note=removed"))
}

/// Applies a change to the registry immediately instead of at the next refresh.
pub(super) async fn reload_registry(state: &AdminState) -> Result<(), Problem> {
    state.operations().refresher.reload().await?;
    Ok(())
}

impl NewRobotPage<'_> {
    fn error(&self, field: &str) -> &str {
        Invalid::message_for(field, &self.errors)
    }

    fn is_chosen(&self, purpose: &str) -> bool {
        let chosen = Purpose::from_word(&self.form.purpose).unwrap_or_default();
        chosen.as_str() == purpose
    }
}
