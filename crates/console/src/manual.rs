//! Robots that the administrator adds and removes.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use tracing::info;

use super::{
    access::Visitor,
    fields::Fields,
    page::{Page, html, html_with},
    problem::Problem,
    robot_view::link,
    state::AdminState,
};
use robot_detection_layer::detect::browser_hits;
use robot_detection_layer::registry::{Purpose, Robot, TypedError, TypedRobot};
use robot_detection_store::store::{StoreError, StoreErrorKind};

#[derive(Template)]
#[template(path = "admin/robot_new.html")]
struct NewRobotPage<'f> {
    page: Page,
    form: &'f RobotForm,
    purposes: &'static [Purpose],
    errors: Vec<FieldError>,
    browser: Option<String>,
}

/// Robot as entered in a form or as JSON.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
// A field that is misspelt would be left out without a word.
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["id", "useragent"]))]
pub(super) struct RobotForm {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    useragent: String,
    #[serde(default)]
    purpose: String,
    #[serde(default)]
    operator: String,
    #[serde(default)]
    product_token: String,
    #[serde(default)]
    details_url: String,
    #[serde(default, deserialize_with = "words")]
    #[schemars(with = "Vec<String>")]
    host_suffixes: String,
    #[serde(default)]
    ranges_url: String,
    #[serde(default, deserialize_with = "words")]
    #[schemars(with = "Vec<String>")]
    signature_agents: String,
    /// The administrator wants it although it hits a browser.
    #[serde(default, deserialize_with = "flag")]
    #[schemars(with = "bool")]
    accept_browser_hits: bool,
}

/// Error of one field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FieldError {
    field: &'static str,
    message: String,
}

/// Reason why a robot is not added.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    Fields(Vec<FieldError>),
    /// It would be taken for this browser.
    Browser(String),
}

#[derive(Debug, Deserialize)]
pub(super) struct RemoveForm {
    #[serde(default)]
    id: String,
}

/// Shows the empty form.
pub(super) async fn form(page: Page) -> Response {
    html(&NewRobotPage {
        page,
        form: &RobotForm::default(),
        purposes: Purpose::ALL,
        errors: Vec::new(),
        browser: None,
    })
}

/// Adds a robot, or shows what is wrong with it.
pub(super) async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<RobotForm>,
) -> Result<Response, Problem> {
    let refusal = match checked(&form) {
        Ok(robot) => match store(&state, &visitor, &robot).await {
            Ok(()) => {
                let page_of_robot = link(robot.source.as_str(), &robot.id);
                // The page of a robot named `..` has its id in the query.
                let mark = if page_of_robot.contains('?') {
                    '&'
                } else {
                    '?'
                };
                let location = &page.location;
                return Ok(location.see_other(&format!("{page_of_robot}{mark}note=added")));
            }
            // A taken id is an error of its field: the form keeps what was entered.
            Err(problem) if problem.status == StatusCode::CONFLICT => {
                Refusal::Fields(vec![FieldError::new("id", problem.message)])
            }
            Err(problem) => return Err(problem),
        },
        Err(refusal) => refusal,
    };
    let (errors, browser) = match refusal {
        Refusal::Fields(errors) => (errors, None),
        Refusal::Browser(browser) => (Vec::new(), Some(browser)),
    };
    let answer = NewRobotPage {
        page,
        form: &form,
        purposes: Purpose::ALL,
        errors,
        browser,
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
    unstore(&state, &visitor, &form.id).await?;
    Ok(page.location.see_other("registry?note=removed"))
}

/// Returns the robot that was entered.
pub(super) fn checked(form: &RobotForm) -> Result<Robot, Refusal> {
    let told = |errors: Vec<TypedError>| errors.into_iter().map(FieldError::from).collect();
    let robot = form
        .typed()
        .robot()
        .map_err(|errors| Refusal::Fields(told(errors)))?;
    match hit_browser(&robot) {
        // A pattern such as `Mozilla` would take every person for this robot.
        Some(browser) if !form.accept_browser_hits => Err(Refusal::Browser(browser)),
        _ => Ok(robot),
    }
}

/// Stores a robot and reloads the detector.
pub(super) async fn store(
    state: &AdminState,
    visitor: &Visitor,
    robot: &Robot,
) -> Result<(), Problem> {
    let operations = state.operations();
    operations
        .store
        .robots()
        .add(robot, state.now_ms())
        .await
        .map_err(|error| not_stored(error, &robot.id))?;
    let caller = state.caller_as(visitor);
    caller
        .record("robot-added", &robot.id, &robot.useragent)
        .await;
    // A robot added by hand is recognised at once, not with the next refresh.
    operations.refresher.reload().await?;
    info!(id = %robot.id, "an administrator added the robot {:?}", robot.id);
    Ok(())
}

/// Removes a robot that was added by hand, at once.
pub(super) async fn unstore(
    state: &AdminState,
    visitor: &Visitor,
    id: &str,
) -> Result<(), Problem> {
    let operations = state.operations();
    operations
        .store
        .robots()
        .remove(id)
        .await
        .map_err(|error| not_removed(error, id))?;
    let caller = state.caller_as(visitor);
    caller.record("robot-removed", id, "").await;
    operations.refresher.reload().await?;
    info!(id, "an administrator removed the robot {id:?}");
    Ok(())
}

impl Refusal {
    pub(super) fn into_problem(self) -> Problem {
        match self {
            Self::Fields(errors) => {
                let told: Vec<String> = errors
                    .iter()
                    .map(|error| format!("{}: {}", error.field, error.message))
                    .collect();
                Problem::invalid(told.join("; "))
            }
            Self::Browser(browser) => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "hits_browser",
                format!(
                    "The pattern hits the browser {browser:?}; with accept_browser_hits the robot is added all the same."
                ),
            ),
        }
    }
}

impl FieldError {
    fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            message: message.into(),
        }
    }
}

impl From<TypedError> for FieldError {
    fn from(error: TypedError) -> Self {
        let mut signs = error.message.chars();
        let first = signs.next().into_iter().flat_map(char::to_uppercase);
        let sentence = first.chain(signs).chain(['.']).collect::<String>();
        Self::new(error.field, sentence)
    }
}

impl NewRobotPage<'_> {
    fn error(&self, field: &str) -> &str {
        self.errors
            .iter()
            .find(|error| error.field == field)
            .map_or("", |error| error.message.as_str())
    }

    fn is_chosen(&self, purpose: &str) -> bool {
        let chosen = Purpose::from_word(&self.form.purpose).unwrap_or_default();
        chosen.as_str() == purpose
    }
}

impl RobotForm {
    fn typed(&self) -> TypedRobot {
        let mut typed = TypedRobot::default();
        for (place, text) in [
            (&mut typed.id, &self.id),
            (&mut typed.name, &self.name),
            (&mut typed.useragent, &self.useragent),
            (&mut typed.purpose, &self.purpose),
            (&mut typed.operator, &self.operator),
            (&mut typed.product_token, &self.product_token),
            (&mut typed.details_url, &self.details_url),
            (&mut typed.host_suffixes, &self.host_suffixes),
            (&mut typed.ranges_url, &self.ranges_url),
            (&mut typed.signature_agents, &self.signature_agents),
        ] {
            place.clone_from(text);
        }
        typed
    }
}

/// Returns the first browser that would be taken for the robot.
fn hit_browser(robot: &Robot) -> Option<String> {
    let hits = browser_hits(std::slice::from_ref(robot));
    hits.first().map(|hit| hit.browser.to_owned())
}

fn not_stored(error: StoreError, id: &str) -> Problem {
    if error.kind() == StoreErrorKind::Conflict {
        let message = format!("The id {id:?} is taken by another robot that was added by hand.");
        Problem::conflict("conflict", message)
    } else {
        error.into()
    }
}

fn not_removed(error: StoreError, id: &str) -> Problem {
    if error.kind() == StoreErrorKind::NotFound {
        Problem::not_found(format!("No robot with the id {id:?} was added by hand."))
    } else {
        error.into()
    }
}

/// Deserialises a flag: a boolean in JSON, in a form the value of a checkbox.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Json(bool),
        Form(String),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Json(value) => value,
        Flag::Form(value) => !matches!(value.as_str(), "" | "false" | "off" | "0"),
    })
}

/// Deserialises a list of words: one text in a form, in JSON also a list of texts.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        Text(String),
        List(Vec<String>),
    }
    Ok(match Words::deserialize(deserializer)? {
        Words::Text(text) => text,
        Words::List(list) => list.join(" "),
    })
}
