//! `registry list` and `registry export`: the robots table, or what a search leaves of it.

use std::process::ExitCode;

use crate::app::RobotDetection;
use crate::cli::{args::ListArgs, output, usage::WrongUsage};
use crate::registry::{Source, write_flat_file};
use crate::store::{RobotQuery, StoredRobot};

use super::show::{patterns, robot_object};

pub(super) async fn list(robots: &RobotDetection, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let rows = query(robots, args).await?;
    if args.json {
        output::json(&rows.iter().map(robot_object).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::note("no robot is found; `robot-detection registry list` shows all");
        return Ok(ExitCode::SUCCESS);
    }
    let cells = rows
        .iter()
        .map(|row| {
            let robot = &row.robot;
            [
                robot.id.as_str(),
                robot.source.as_str(),
                robot.purpose.as_str(),
                robot.status.as_str(),
                &robot.name,
                &patterns(robot),
            ]
            .map(output::clean)
            .to_vec()
        })
        .collect::<Vec<_>>();
    output::table(
        &["ID", "SOURCE", "PURPOSE", "STATUS", "NAME", "PATTERNS"],
        &cells,
    )?;
    Ok(ExitCode::SUCCESS)
}

async fn query(robots: &RobotDetection, args: &ListArgs) -> anyhow::Result<Vec<StoredRobot>> {
    let source = args
        .source
        .as_deref()
        .map(|name| {
            name.parse::<Source>()
                .map_err(|error| WrongUsage(format!("--source {name:?}: {error}")))
        })
        .transpose()?;
    let query = RobotQuery {
        search: args.search.join(" "),
        source,
        status: args.status.clone(),
        limit: 1_000_000,
        ..RobotQuery::default()
    };
    Ok(robots.store().robot_page(&query).await?.robots)
}

pub(super) async fn export(robots: &RobotDetection, args: &ListArgs) -> anyhow::Result<ExitCode> {
    if args.json {
        return list(robots, args).await;
    }
    let rows = query(robots, args).await?;
    let robots = rows.into_iter().map(|row| row.robot).collect::<Vec<_>>();
    if robots.is_empty() {
        output::note("no robot is found; `robot-detection registry list` shows all");
    } else {
        output::line(write_flat_file(&robots).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
