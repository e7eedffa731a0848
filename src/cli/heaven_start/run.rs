//! Writes what a heaven lacks, has the site robot run, and proves that robots are led to its pages.

use std::{collections::BTreeMap, process::ExitCode};

use clap::Args;
use serde_json::{Value, json};

use crate::app::{self, Ran, SiteRobotChanges, heaven_use};
use crate::cli::{
    Cli,
    args::ServeArgs,
    context,
    doctor::{ServedSite, sites, validate},
    input::is_confirmed,
    output, serve,
    site_robot::{CommandContext, INTERRUPTED, Manner, object, print, run_anywhere, tell_troubles},
    usage::WrongUsage,
};
use crate::config::{Loaded, with_settings};
use crate::store::{Store, StoreError};

use super::{
    config_file::Rewrite,
    plan::{choose, plan},
    proof::prove,
    trial::{Trial, try_starts, try_upstream},
};

/// Reasons that are told, those of the most pages first.
const MAX_REASONS: usize = 5;

/// Arguments of `heaven start`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct StartArgs {
    /// Where the area begins that robots cannot use: URLs, or paths of the site [default:
    /// `site_robot.starting_points`, else the beginnings of `filter_pattern`]
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Name of the site, where there are several
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Where visitors reach the server, as `serve --listen` has it
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Server behind the proxy, as `serve --upstream` has it; may be repeated
    #[arg(long, value_name = "URL")]
    upstream: Vec<String>,
    /// Shows what would be written, and does nothing
    #[arg(long)]
    dry_run: bool,
    /// Writes it without asking
    #[arg(long)]
    yes: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// The site, and the configuration with all that its heaven needs.
struct Prepared {
    loaded: Loaded,
    site: ServedSite,
    /// What is to be written; `None`: nothing is missing.
    rewrite: Option<Rewrite>,
}

pub(in crate::cli) async fn run(cli: &Cli, args: &StartArgs) -> anyhow::Result<ExitCode> {
    let Prepared {
        loaded,
        site,
        rewrite,
    } = prepare(cli, args)?;
    check_starts(&loaded, &site).await?;
    if !args.json {
        match &rewrite {
            Some(rewrite) => rewrite.print()?,
            None => output::line("the configuration has all that robot heaven needs")?,
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
        if !is_confirmed(&format!("These lines are written into {file}."), args.yes)? {
            output::note("nothing was written");
            return Ok(ExitCode::FAILURE);
        }
        rewrite.write()?;
    }
    let context = CommandContext::of(loaded).await?;
    // Not `?`: the database is closed in any case.
    let code = Box::pin(visit(&context, &site, rewrite.as_ref(), args.json)).await;
    context.store.close().await;
    code
}

/// Decides what is to be written, and proves that it can be loaded.
fn prepare(cli: &Cli, args: &StartArgs) -> anyhow::Result<Prepared> {
    let text = context::file_text(cli)?;
    let load = |text: Option<&str>| {
        let flags = ServeArgs {
            listen: args.listen.clone(),
            upstream: args.upstream.clone(),
            demo: false,
        };
        let loaded = serve::load_from(context::loader_of(cli, text), &flags)?;
        validate(&loaded)?;
        app::site_robots(&loaded)?;
        anyhow::Ok(loaded)
    };
    let loaded = load(text.as_deref())?;
    let site = choose(sites(&loaded), args.site.as_deref()).map_err(WrongUsage)?;
    let plan = plan(&site, &loaded, &args.urls).map_err(WrongUsage)?;
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
            "there is no {shown} here to write into: name the file of the server by --config FILE, or \
             have `robot-detection init --interactive` write one"
        ))
        .into());
    };
    let new = with_settings(&old, site.number, &plan.changes);
    let new = new.map_err(|why| WrongUsage(format!("{shown}: {why}")))?;
    let loaded = load(Some(&new))?;
    let site = choose(sites(&loaded), Some(site.name())).map_err(WrongUsage)?;
    Ok(Prepared {
        loaded,
        site,
        rewrite: Some(Rewrite::new(file, old, new)),
    })
}

/// Asks for the starting points before anything is written.
async fn check_starts(loaded: &Loaded, site: &ServedSite) -> anyhow::Result<()> {
    let Some(robot) = site.robot(loaded) else {
        return Ok(());
    };
    if let Some(failure) = try_upstream(loaded, site.name()).await? {
        let failure = output::clean(&failure);
        anyhow::bail!("nothing was written, as the upstream does not answer: {failure}");
    }
    // One in memory where there is none yet: what only asks makes no file.
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
        anyhow::bail!("nothing was written, as the site robot would find nothing: {failures}");
    }
    for failure in failures {
        output::note(&format!("warning: {}", output::clean(&failure)));
    }
    Ok(())
}

/// Has the site robot run, and proves what came of it.
async fn visit(
    context: &CommandContext,
    site: &ServedSite,
    rewrite: Option<&Rewrite>,
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let changes = SiteRobotChanges::default();
    let runs = context.runs(site.name(), &changes).await?;
    let manner = Manner {
        site: site.name(),
        is_json,
        reload: true,
    };
    let Some(ran) = run_anywhere(context, manner, &changes, &runs).await? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let reasons = reasons(&context.store, &ran).await?;
    let heaven = heaven_use(&context.loaded, site.name(), None);
    if rewrite.is_some() {
        tell_others(&context.store).await?;
    }
    if !is_json {
        print(&ran, &heaven, false)?;
        print_reasons(&reasons)?;
    }
    let policy = app::policy(&site.loaded)?;
    let places = (&context.loaded, &context.store);
    let proof = Box::pin(prove(places, (site.name(), &site.loaded), &policy)).await?;
    if is_json {
        tell_troubles(&ran);
        let reasons = reasons.iter().map(Reason::value);
        let mut run = object(&ran, &heaven);
        if let Some(run) = run.as_object_mut() {
            run.insert("not_described".to_owned(), reasons.collect());
        }
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

/// Says that only one server has taken the new configuration, where there are more.
async fn tell_others(store: &Store) -> Result<(), StoreError> {
    let servers = store.instances().await?.len();
    if servers > 1 {
        output::note(&format!(
            "warning: {servers} servers use this database: give each that runs the new configuration, and \
             reload it"
        ));
    }
    Ok(())
}

fn report(site: &ServedSite, rewrite: Option<&Rewrite>, done: Option<(Value, Value)>) -> Value {
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

/// Why pages were not described.
#[derive(Debug)]
struct Reason {
    text: String,
    pages: usize,
    first: String,
}

impl Reason {
    fn value(&self) -> Value {
        json!({"reason": self.text, "pages": self.pages, "first": self.first})
    }
}

/// Returns why pages of a run were not described, those of the most pages first.
async fn reasons(store: &Store, ran: &Ran) -> Result<Vec<Reason>, StoreError> {
    let (site, run_id) = (&ran.summary.site, ran.summary.run_id);
    let mut found: BTreeMap<String, Reason> = BTreeMap::new();
    for beginning in ["not described: ", "failed: "] {
        for (url, outcome) in store.urls_by_outcome(site, run_id, beginning).await? {
            let text = outcome.strip_prefix(beginning).unwrap_or(&outcome);
            // Each redirect leads elsewhere.
            let text = text.split(", moved to ").next().unwrap_or(text);
            let reason = found.entry(text.to_owned()).or_insert_with(|| Reason {
                text: text.to_owned(),
                pages: 0,
                first: url,
            });
            reason.pages += 1;
        }
    }
    let mut reasons: Vec<_> = found.into_values().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.pages));
    Ok(reasons)
}

fn print_reasons(reasons: &[Reason]) -> std::io::Result<()> {
    for Reason { text, pages, first } in reasons.iter().take(MAX_REASONS) {
        let text = format!("  not described: {pages}, the first is {first}: {text}");
        output::line(&output::clean(&text))?;
    }
    let asks_login = |reason: &Reason| {
        ["status 401", "status 403"]
            .iter()
            .any(|it| reason.text.contains(it))
    };
    if reasons.iter().any(asks_login) {
        output::line(
            "  site_robot.login or site_robot.login_form says how the site robot logs in",
        )?;
    }
    Ok(())
}
