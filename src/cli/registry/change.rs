//! `registry add` and `registry remove`: robots added by hand.

use std::process::ExitCode;

use crate::app::RobotDetection;
use crate::cli::{args::AddArgs, output, usage::WrongUsage};
use crate::config::unknown_word;
use crate::detect::browser_hits;
use crate::registry::{Purpose, Robot, Source, normalise};

use super::show::patterns;

pub(super) async fn add(robots: &RobotDetection, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let mut robot = Robot::new(args.id.trim(), Source::manual());
    if robot.id.is_empty() {
        anyhow::bail!(WrongUsage("the id is empty".to_owned()));
    }
    robot.patterns = normalise(&args.useragent)
        .map_err(|reason| WrongUsage(format!("--useragent {:?}: {reason}", args.useragent)))?;
    robot.useragent.clone_from(&args.useragent);
    if let Some(name) = &args.name {
        robot.name.clone_from(name);
    }
    if let Some(url) = &args.details_url {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            anyhow::bail!(WrongUsage(format!(
                "--details-url {url:?} is not an http or https URL"
            )));
        }
        robot.details_url = Some(url.clone());
    }
    if let Some(word) = &args.purpose {
        robot.purpose = Purpose::from_word(word).ok_or_else(|| {
            let words = Purpose::ALL.iter().map(|purpose| purpose.as_str());
            WrongUsage(unknown_word("purpose", word, words))
        })?;
    }
    for hit in browser_hits(std::slice::from_ref(&robot)) {
        output::note(&format!(
            "warning: the patterns hit the browser {}",
            hit.browser
        ));
    }
    robots
        .store()
        .add_robot(&robot, robots.clock().now_ms())
        .await?;
    output::line(&format!("added {}: {}", robot.id, patterns(&robot)))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn remove(robots: &RobotDetection, id: &str) -> anyhow::Result<ExitCode> {
    robots.store().remove_robot(id).await?;
    output::line(&format!("removed {id}"))?;
    Ok(ExitCode::SUCCESS)
}
