//! `registry add` and `registry remove`: robots added by hand.

use std::process::ExitCode;

use robot_detection_site_robot::spelling::unknown;

use crate::app::RobotDetection;
use crate::cli::{context, output, usage::WrongUsage};
use crate::detect::browser_hits;
use crate::registry::{Purpose, Robot, TypedError, TypedRobot};

use super::{args::AddArgs, show::patterns};

pub(super) async fn add(robots: &RobotDetection, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let robot = robot_from(args)?;
    // A warning only: an administrator may mean it, while a source that does this is quarantined.
    for hit in browser_hits(std::slice::from_ref(&robot)) {
        output::note(&format!(
            "warning: the patterns hit the browser {}",
            hit.browser
        ));
    }
    robots
        .store()
        .robots()
        .add(&robot, robots.clock().now_ms())
        .await?;
    context::caller(robots.store())
        .record("robot-added", &robot.id, &robot.useragent)
        .await;
    output::line(&format!("added {}: {}", robot.id, patterns(&robot)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the robot that the arguments describe.
fn robot_from(args: &AddArgs) -> anyhow::Result<Robot> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    if let Some(word) = &args.purpose
        && Purpose::from_word(word).is_none()
    {
        let words = Purpose::ALL.iter().map(|purpose| purpose.as_str());
        anyhow::bail!(WrongUsage(unknown("purpose", word, words)));
    }
    let mut typed = TypedRobot::default();
    typed.id.clone_from(&args.id);
    typed.useragent.clone_from(&args.useragent);
    typed.name = text(&args.name);
    typed.purpose = text(&args.purpose);
    typed.operator = text(&args.operator);
    typed.product_token = text(&args.product_token);
    typed.details_url = text(&args.details_url);
    typed.host_suffixes = args.host_suffix.join(" ");
    typed.ranges_url = text(&args.ranges_url);
    typed.signature_agents = args.signature_agent.join(" ");
    let robot = typed.robot().map_err(|errors| {
        let told = errors.iter().map(|error| {
            let TypedError { field, message, .. } = error;
            format!("{}: {message}", argument(field))
        });
        WrongUsage(told.collect::<Vec<_>>().join("; "))
    })?;
    Ok(robot)
}

/// Returns the argument in which a field is given.
fn argument(field: &str) -> String {
    match field {
        "id" => "the id".to_owned(),
        "host_suffixes" => "--host-suffix".to_owned(),
        "signature_agents" => "--signature-agent".to_owned(),
        field => format!("--{}", field.replace('_', "-")),
    }
}

pub(super) async fn remove(robots: &RobotDetection, id: &str) -> anyhow::Result<ExitCode> {
    robots.store().robots().remove(id).await?;
    context::caller(robots.store())
        .record("robot-removed", id, "")
        .await;
    output::line(&format!("removed {id}"))?;
    Ok(ExitCode::SUCCESS)
}
