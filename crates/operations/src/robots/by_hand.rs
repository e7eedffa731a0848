//! Adds and removes robots by hand.

use clap::Args;
use robot_detection_layer::detect::browser_hits;
use robot_detection_layer::registry::{Robot, RobotInput, Source};
use robot_detection_store::store::StoreErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use tracing::info;

use crate::{Caller, Invalid, Refusal};

/// A robot to add by hand.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema)]
// Without this attribute, a misspelt field would be ignored.
#[serde(default, deny_unknown_fields)]
pub struct NewRobot {
    /// ID of the robot
    pub id: String,
    /// User-Agent of the robot
    #[arg(long, value_name = "UA")]
    pub useragent: String,
    /// Display name [default: the ID]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub name: String,
    /// URL of a page about the robot, http or https
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub details_url: String,
    /// Purpose, such as search, ai-training or monitoring
    #[arg(
        long,
        value_name = "PURPOSE",
        default_value = "",
        hide_default_value = true
    )]
    pub purpose: String,
    /// Company or project that runs the robot
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub operator: String,
    /// Name that the robot obeys in robots.txt
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    pub product_token: String,
    /// Domain of the robot's host names, such as crawl.example.com; may be repeated
    #[arg(long = "host-suffix", value_name = "HOST")]
    #[serde(deserialize_with = "words")]
    pub host_suffixes: Vec<String>,
    /// URL of the published address list, http or https; append `#NAME` to select a JSON member
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub ranges_url: String,
    /// Host whose keys sign the robot's requests, such as bot.example.com, or URL of a key set; may be repeated
    #[arg(long = "signature-agent", value_name = "HOST")]
    #[serde(deserialize_with = "words")]
    pub signature_agents: Vec<String>,
    /// Add the robot even if its pattern matches a browser
    #[arg(long)]
    #[serde(deserialize_with = "flag")]
    pub accept_browser_hits: bool,
}

/// The outcome of creating or replacing a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PutRobot {
    /// The robot is new.
    Added,
    /// The robot replaced an existing robot with the same ID.
    Replaced,
    /// An identical robot with the same ID already exists.
    Unchanged,
}

/// Adds a robot by hand.
///
/// # Errors
///
/// Returns an error if fields are invalid, if the ID is taken, or if a database operation fails.
pub async fn add(caller: &Caller<'_>, request: &NewRobot) -> Result<Robot, Refusal> {
    let robot = request.robot()?;
    store(caller, &robot, false).await?;
    Ok(robot)
}

/// Creates or replaces the robot with the given ID; nothing changes if the existing robot is
/// identical.
///
/// # Errors
///
/// Returns the errors of [`add`].
pub async fn put(caller: &Caller<'_>, id: &str, request: &NewRobot) -> Result<PutRobot, Refusal> {
    if !request.id.is_empty() && request.id != id {
        return Err(Refusal::invalid(
            "id",
            "The ID in the request differs from the ID in the URL.",
        ));
    }
    let request = NewRobot {
        id: id.to_owned(),
        ..request.clone()
    };
    let robot = request.robot()?;
    let stored = caller.store.robots().by_id(id).await?;
    let mut stored = stored.into_iter().map(|stored| stored.robot);
    let old = stored.find(|old| old.source == Source::manual());
    if old.as_ref() == Some(&robot) {
        return Ok(PutRobot::Unchanged);
    }
    store(caller, &robot, old.is_some()).await?;
    Ok(match old {
        Some(_) => PutRobot::Replaced,
        None => PutRobot::Added,
    })
}

async fn store(caller: &Caller<'_>, robot: &Robot, replaces: bool) -> Result<(), Refusal> {
    let id = &robot.id;
    let robots = caller.store.robots();
    let added = if replaces {
        robots.replace(robot, caller.now_ms).await
    } else {
        robots.add(robot, caller.now_ms).await
    };
    added.map_err(|error| match error.kind() {
        StoreErrorKind::Conflict => Refusal::conflict(
            "conflict",
            format!("Another robot that was added by hand already has the ID {id:?}."),
        ),
        _ => error.into(),
    })?;
    let event = if replaces {
        "robot-replaced"
    } else {
        "robot-added"
    };
    info!(%id, "{event}: {id:?}");
    caller.record(event, id, &robot.useragent).await;
    Ok(())
}

/// Removes a robot that was added by hand.
///
/// # Errors
///
/// Returns an error if no such robot exists, or if a database operation fails.
pub async fn remove(caller: &Caller<'_>, id: &str) -> Result<(), Refusal> {
    let removed = caller.store.robots().remove(id).await;
    removed.map_err(|error| match error.kind() {
        StoreErrorKind::NotFound => Refusal::not_found(format!(
            "No robot with the ID {id:?} was added by hand; robots from a source are changed by refreshes."
        )),
        _ => error.into(),
    })?;
    info!(id, "robot-removed: {id:?}");
    caller.record("robot-removed", id, "").await;
    Ok(())
}

impl NewRobot {
    /// Returns the robot that the request describes.
    fn robot(&self) -> Result<Robot, Refusal> {
        let mut typed = RobotInput::default();
        for (place, text) in [
            (&mut typed.id, &self.id),
            (&mut typed.name, &self.name),
            (&mut typed.useragent, &self.useragent),
            (&mut typed.purpose, &self.purpose),
            (&mut typed.operator, &self.operator),
            (&mut typed.product_token, &self.product_token),
            (&mut typed.details_url, &self.details_url),
            (&mut typed.ranges_url, &self.ranges_url),
        ] {
            place.clone_from(text);
        }
        typed.host_suffixes = self.host_suffixes.join(" ");
        typed.signature_agents = self.signature_agents.join(" ");
        let robot = typed.robot().map_err(|errors| {
            let wrong = errors.into_iter();
            let wrong = wrong.map(|error| Invalid::new(error.field, error.message));
            Refusal::Invalid(wrong.collect())
        })?;
        // A pattern such as `Mozilla` would classify every person as this robot.
        let hits = browser_hits(std::slice::from_ref(&robot));
        match hits.first() {
            Some(hit) if !self.accept_browser_hits => {
                let browser = hit.browser;
                let message = format!(
                    "the pattern matches the browser {browser:?}; set accept_browser_hits to add the robot anyway"
                );
                Err(Refusal::invalid("accept_browser_hits", message))
            }
            _ => Ok(robot),
        }
    }
}

/// Deserialises a flag: a boolean in JSON, or the value of a checkbox in a form.
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

/// Deserialises a list of words: a string in a form, or a string or an array of strings in JSON.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        Text(String),
        List(Vec<String>),
    }
    Ok(match Words::deserialize(deserializer)? {
        Words::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        Words::List(list) => list,
    })
}
