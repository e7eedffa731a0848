//! Adds missing settings, runs the site robot, and checks that robots are redirected to heaven.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::app::{self, RunResult, SiteRobotChanges, SiteRobotSettings, heaven_use};
use crate::cli::args::{READERS, ServeArgs};
use crate::cli::doctor::{ServedSite, sites, validate};
use crate::cli::input::{can_ask, choose, is_confirmed};
use crate::cli::output::WrongUsage;
use crate::cli::site_robot::{
    CommandContext, INTERRUPTED, RunOptions, object, print, print_problems, reasons, run_anywhere,
};
use crate::cli::{Cli, context, output, serve_settings};
use crate::config::{GeneralSection, Loaded, Value, with_settings};
use crate::store::{Store, StoreError};

use super::{
    config_file::Rewrite,
    plan::{self, Options, plan},
    proof::prove,
    trial::{Trial, try_starts, try_upstream},
};

/// Arguments of the `heaven start` command.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "command-line flags")]
pub(in crate::cli) struct StartArgs {
    /// URLs or paths at which the area that robots cannot access begins [default:
    /// `site_robot.starting_points`, or the prefixes of `filter_pattern`]
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Name of the site; required if there are several sites
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Addresses of the server, as in `serve --listen`
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Upstream server, as in `serve --upstream`; may be repeated
    #[arg(long, value_name = "URL")]
    upstream: Vec<String>,
    /// Visitors that may read full texts, as in `heaven.open_to`; required if the site robot logs
    /// in and there is no terminal
    #[arg(long, value_name = "WHO", value_parser = READERS)]
    open_to: Option<String>,
    /// Redirect robots from the specified area to heaven even if the area is public (sets
    /// `filter_pattern`)
    #[arg(long)]
    filter: bool,
    /// Show the changes without applying them
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A site, and the configuration with all settings for its heaven.
struct Prepared {
    loaded: Loaded,
    site: ServedSite,
    /// Changes to the configuration file; `None` if no settings are missing.
    rewrite: Option<Rewrite>,
}

pub(in crate::cli) async fn run(cli: &Cli, args: &StartArgs) -> anyhow::Result<ExitCode> {
    let Prepared {
        loaded,
        site,
        rewrite,
    } = prepare(cli, args)?;
    check_readers(&loaded, &site, args)?;
    Box::pin(check_starts(&loaded, &site)).await?;
    if !args.json {
        match &rewrite {
            Some(rewrite) => rewrite.print()?,
            None => {
                output::line("the configuration already contains all settings for robot heaven")?;
            }
        }
    }
    if args.dry_run {
        if args.json {
            output::json(&report(&site, rewrite.as_ref(), None))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(rewrite) = &rewrite {
        let file = output::clean(&context::file(cli).display().to_string());
        if !is_confirmed(&format!("These lines will be written to {file}."), args.yes)? {
            output::note("nothing was written");
            return Ok(ExitCode::FAILURE);
        }
        rewrite.write()?;
    }
    let context = CommandContext::open(loaded).await?;
    let store = context.store.clone();
    // No `?` here, so that the database is always closed.
    let code = Box::pin(visit(cli, args, (context, site), rewrite)).await;
    store.close().await;
    code
}

/// Returns an error if `heaven.open_to` is not set for pages behind a login and there is no
/// terminal for asking.
fn check_readers(loaded: &Loaded, site: &ServedSite, args: &StartArgs) -> Result<(), WrongUsage> {
    let robot = site.robot(loaded);
    let Some(question) = robot.as_ref().and_then(SiteRobotSettings::access_question) else {
        return Ok(());
    };
    let text = format!("{question}; specify one of these values with --open-to");
    if args.dry_run {
        output::note(&format!("note: without a terminal or with --yes: {text}"));
    } else if args.yes || !can_ask() {
        return Err(WrongUsage(text));
    }
    Ok(())
}

/// Determines the changes to the configuration file, and checks that the changed file can be
/// loaded.
fn prepare(cli: &Cli, args: &StartArgs) -> anyhow::Result<Prepared> {
    let text = context::file_text(cli)?;
    let load = |text: Option<&str>| {
        let flags = ServeArgs {
            listen: args.listen.clone(),
            upstream: args.upstream.clone(),
            demo: false,
        };
        let loaded = serve_settings::load_from(context::loader_for_text(cli, text), &flags)?;
        validate(&loaded)?;
        app::site_robots(&loaded)?;
        anyhow::Ok(loaded)
    };
    let loaded = load(text.as_deref())?;
    let site = plan::choose(sites(&loaded), args.site.as_deref()).map_err(WrongUsage)?;
    let mut wishes = Options {
        urls: &args.urls,
        open_to: args.open_to.as_deref(),
        filters: args.filter,
    };
    let mut made = plan(&site, &loaded, wishes).map_err(WrongUsage)?;
    if let Some(patterns) = &made.left_out {
        wishes.filters = leads_away(patterns, args)?;
        made = plan(&site, &loaded, wishes).map_err(WrongUsage)?;
    }
    let plan = made;
    for note in &plan.notes {
        output::note(&format!("warning: {}", output::clean(note)));
    }
    if plan.changes.is_empty() {
        return Ok(Prepared {
            loaded,
            site,
            rewrite: None,
        });
    }
    let file = context::file(cli);
    let shown = output::clean(&file.display().to_string());
    let Some(old) = text else {
        return Err(WrongUsage(format!(
            "{shown} does not exist: specify the server's configuration file with --config FILE, or \
             create a file with `robot-detection init --interactive`"
        ))
        .into());
    };
    let new = with_settings(&old, site.number, &plan.changes);
    let new = new.map_err(|why| WrongUsage(format!("{shown}: {why}")))?;
    let loaded = load(Some(&new))?;
    let site = plan::choose(sites(&loaded), Some(site.name())).map_err(WrongUsage)?;
    Ok(Prepared {
        loaded,
        site,
        rewrite: Some(Rewrite::new(file, old, new)),
    })
}

/// Requests the starting points before anything is written.
async fn check_starts(loaded: &Loaded, site: &ServedSite) -> anyhow::Result<()> {
    let Some(robot) = site.robot(loaded) else {
        return Ok(());
    };
    if let Some(failure) = try_upstream(loaded, site.name()).await? {
        let failure = output::clean(&failure);
        anyhow::bail!("nothing was written, because the upstream does not respond: {failure}");
    }
    // The store is in memory if no database exists, because a trial must not create a file.
    let store = context::store(loaded).await?;
    let starts: Vec<_> = robot.starting_points().cloned().collect();
    let tried = async {
        let runs = app::SiteRobotRuns::new(&robot, &store).await?;
        try_starts(&runs, &starts).await
    };
    let tried = tried.await;
    store.close().await;
    let Trial {
        failures,
        is_in_vain,
    } = tried?;
    if is_in_vain {
        let failures = output::clean(&failures.join("; "));
        anyhow::bail!(
            "nothing was written, because the site robot would not find any pages: {failures}"
        );
    }
    for failure in failures {
        output::note(&format!("warning: {}", output::clean(&failure)));
    }
    Ok(())
}

/// Asks whether to redirect robots away from public pages.
fn leads_away(patterns: &Value, args: &StartArgs) -> anyhow::Result<bool> {
    let key = GeneralSection::KEY.filter_patterns.name;
    let question = format!(
        "Robots can read these pages. {key} = {patterns} would redirect them to robot heaven instead."
    );
    let is_asked = can_ask() && !args.yes && !args.dry_run;
    let leads = is_asked && is_confirmed(&question, false)?;
    if !leads {
        output::note(&output::clean(&format!(
            "note: {key} = {patterns} was not written, because robots can read these pages directly; to write it, use --filter"
        )));
    }
    Ok(leads)
}

/// Runs the site robot, and checks that robots are redirected to heaven.
async fn visit(
    cli: &Cli,
    args: &StartArgs,
    (mut context, mut site): (CommandContext, ServedSite),
    mut rewrite: Option<Rewrite>,
) -> anyhow::Result<ExitCode> {
    let Some(mut ran) = run_robot(&context, &site, args, false).await? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let robot = site.robot(&context.loaded);
    let question = robot.as_ref().and_then(SiteRobotSettings::access_question);
    let is_asked = |held: &&String| question.is_some_and(|it| held.starts_with(it));
    if let Some(held) = ran.summary.held.as_ref().filter(is_asked)
        && let Some(readers) = choose(&format!("{}.", output::clean(held)), &READERS)?
    {
        let answered = StartArgs {
            open_to: Some(readers.to_owned()),
            ..args.clone()
        };
        let prepared = prepare(cli, &answered)?;
        if let Some(rewrite) = &prepared.rewrite {
            rewrite.write()?;
        }
        (context.loaded, site) = (prepared.loaded, prepared.site);
        rewrite = rewrite.or(prepared.rewrite);
        match run_robot(&context, &site, args, true).await? {
            Some(accepted) => ran = accepted,
            None => return Ok(ExitCode::from(INTERRUPTED)),
        }
    }
    report_run(&context, &site, rewrite.as_ref(), (&ran, args.json)).await
}

/// Runs the site robot, or accepts its results held for review; returns `None` if interrupted.
async fn run_robot(
    context: &CommandContext,
    site: &ServedSite,
    args: &StartArgs,
    accept: bool,
) -> anyhow::Result<Option<RunResult>> {
    let changes = SiteRobotChanges {
        accept,
        ..SiteRobotChanges::default()
    };
    let runs = context.runs(site.name(), &changes).await?;
    let manner = RunOptions {
        site: site.name(),
        is_json: args.json,
        reload: true,
    };
    run_anywhere(context, manner, &changes, &runs).await
}

async fn report_run(
    context: &CommandContext,
    site: &ServedSite,
    rewrite: Option<&Rewrite>,
    (ran, is_json): (&RunResult, bool),
) -> anyhow::Result<ExitCode> {
    let reasons = reasons(&context.store, ran).await?;
    let heaven = heaven_use(&context.loaded, site.name(), None);
    if rewrite.is_some() {
        tell_others(&context.store).await?;
    }
    if !is_json {
        print(ran, &reasons, &heaven, false)?;
    }
    let policy = app::policy(&site.loaded)?;
    let places = (&context.loaded, &context.store);
    let proof = Box::pin(prove(places, (site.name(), &site.loaded), &policy)).await?;
    if is_json {
        print_problems(ran);
        let run = object(ran, &reasons, &heaven);
        output::json(&report(site, rewrite, Some((run, proof.value()))))?;
    } else {
        proof.print()?;
    }
    Ok(if ran.summary.is_good() && proof.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Warns about other servers that use the database and have not loaded the new configuration.
async fn tell_others(store: &Store) -> Result<(), StoreError> {
    let servers = store.instances().list().await?.len();
    if servers > 1 {
        output::note(&format!(
            "warning: {servers} servers use this database: copy the new configuration to each server, and \
             reload the servers"
        ));
    }
    Ok(())
}

fn report(site: &ServedSite, rewrite: Option<&Rewrite>, done: Option<(Json, Json)>) -> Json {
    let is_written = rewrite.is_some() && done.is_some();
    let (run, proof) = done.unzip();
    json!({
        "site": site.name(),
        "lines": rewrite.map(Rewrite::value),
        "written": is_written,
        "run": run,
        "proof": proof,
    })
}
