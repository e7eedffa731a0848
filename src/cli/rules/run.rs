//! Carries the commands out.

use std::{process::ExitCode, sync::Arc};

use serde_json::{Value, json};

use crate::app::{self, SiteIndex};
use crate::cli::{Cli, context, context::ACTOR, output, usage::WrongUsage};
use crate::clock::Clock;
use crate::config::{AdminSection, Loaded};
use crate::live_rules::{
    KeptRule, LiveRule, LiveRuleSet, MAX_RULES, Proposal, ProposalError, RuleFields, Surroundings,
    length_ms, to_toml,
};
use crate::operations::rfc3339;
use crate::policy::{Policy, Rule};
use crate::store::{LiveRuleChange, Store, StoredPause};

use super::args::{ActionWord, AddArgs, JsonArgs, PauseArgs, RuleArgs, RulesCommand};

pub(in crate::cli) async fn run(cli: &Cli, command: &RulesCommand) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let settings = loaded.settings();
    if !settings.admin.rules {
        let key = AdminSection::KEY.rules.name;
        anyhow::bail!("live rules are turned off: {key} is false");
    }
    context::check_database(settings)?;
    let store = Store::connect(&settings.database.url).await?;
    let commands = Commands {
        loaded,
        store,
        now_ms: Clock::system().now_ms(),
    };
    let code = commands.run(command).await;
    commands.store.close().await;
    code
}

/// What the commands work on.
struct Commands {
    loaded: Loaded,
    store: Store,
    now_ms: i64,
}

impl Commands {
    async fn run(&self, command: &RulesCommand) -> anyhow::Result<ExitCode> {
        match command {
            RulesCommand::List(args) => self.list(*args).await?,
            RulesCommand::Add(args) => self.add(args).await?,
            RulesCommand::Remove(args) => self.remove(*args).await?,
            RulesCommand::Restore(args) => self.restore(*args).await?,
            RulesCommand::Export => output::text(&to_toml(&self.live().await?.rules, rfc3339))?,
            RulesCommand::Pause(args) => self.pause(args).await?,
            RulesCommand::Resume(args) => self.resume(*args).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self, args: JsonArgs) -> anyhow::Result<()> {
        let live = self.live().await?;
        let sites = self.sites()?;
        let of_settings: Vec<_> = sites
            .iter()
            .flat_map(|(site, policy)| policy.rules().map(move |rule| (site, rule)))
            .collect();
        if args.json {
            let rules = of_settings
                .iter()
                .map(|(site, rule)| of_settings_json(site, rule));
            return Ok(output::json(&json!({
                "live_rules": live.rules.iter().map(live_json).collect::<Vec<_>>(),
                "rules": rules.collect::<Vec<_>>(),
                "pause": live.pause.as_ref().map(pause_json),
            }))?);
        }
        if let Some(pause) = &live.pause {
            output::note(&format!("all enforcement is {}", pause_text(pause)));
        }
        let live_rows = live.rules.iter().map(|kept| {
            let ends = kept.ends_ms.map_or("never".to_owned(), rfc3339);
            [kept.label(), kept.rule.to_string(), ends, kept.origin()]
        });
        let rows = of_settings.iter().map(|(site, rule)| {
            let conditions = rule.conditions().collect::<Vec<_>>().join("; ");
            let does = format!("{} {conditions} of the site {site}", rule.action());
            [
                rule.label().to_owned(),
                does,
                String::new(),
                rule.origin().to_owned(),
            ]
        });
        let rows = live_rows.chain(rows);
        let rows: Vec<_> = rows
            .map(|cells| cells.map(|cell| output::clean(&cell)).to_vec())
            .collect();
        if rows.is_empty() {
            output::note("there is no rule; `robot-detection rules add` makes one");
            return Ok(());
        }
        Ok(output::table(
            &["rule", "does", "ends", "comes from"],
            &rows,
        )?)
    }

    async fn add(&self, args: &AddArgs) -> anyhow::Result<()> {
        let detector = context::detector(&self.loaded).await?;
        let among = Surroundings {
            store: &self.store,
            detector: &detector,
            sites: self.sites()?,
            now_ms: self.now_ms,
        };
        let proposal = Proposal::new(&fields(args), &args.ends, &among).await;
        let proposal = proposal.map_err(usage)?;
        let touched = &proposal.touched;
        if !args.json {
            output::note(&touched.sentence());
            for text in touched
                .notes
                .iter()
                .copied()
                .chain(proposal.warnings.iter().map(String::as_str))
            {
                output::note(&output::clean(text));
            }
        }
        let id = if args.dry_run {
            None
        } else {
            Some(proposal.add(&self.store, ACTOR, self.now_ms).await?)
        };
        if args.json {
            return Ok(output::json(&json!({
                "id": id,
                "rule": proposal.rule.to_string(),
                "ends": proposal.ends_ms.map(rfc3339),
                "requests": touched.requests,
                "robots": touched.robots,
                "people": touched.of_people,
                "notes": touched.notes,
                "warnings": proposal.warnings,
            }))?);
        }
        let does = output::clean(&proposal.rule.to_string());
        let ends = proposal.ends_ms.map_or("never".to_owned(), rfc3339);
        let state = id.map_or("not in force".to_owned(), |id| format!("live rule {id}"));
        output::line(&format!("{state}: {does}; ends: {ends}"))?;
        Ok(())
    }

    async fn remove(&self, args: RuleArgs) -> anyhow::Result<()> {
        let change = self.change("");
        let removed = self
            .store
            .live_rules()
            .remove(args.id, change, LiveRule::told);
        anyhow::ensure!(
            removed.await?.is_some(),
            "no live rule {} is in force",
            args.id
        );
        done(args, "removed")
    }

    async fn restore(&self, args: RuleArgs) -> anyhow::Result<()> {
        let change = self.change("");
        let restored = self
            .store
            .live_rules()
            .restore(args.id, MAX_RULES, change, LiveRule::told);
        anyhow::ensure!(
            restored.await?.is_some(),
            "no live rule {} was removed that has not ended since, or there are {MAX_RULES} already",
            args.id
        );
        done(args, "in force again")
    }

    async fn pause(&self, args: &PauseArgs) -> anyhow::Result<()> {
        let length_ms = length_ms(&args.length).map_err(WrongUsage)?;
        let ends_ms = self.now_ms.saturating_add(length_ms);
        let detail = format!("until {}", rfc3339(ends_ms));
        self.store
            .live_rules()
            .pause(ends_ms, self.change(&detail))
            .await?;
        let pause = StoredPause {
            ends_ms,
            begun_ms: self.now_ms,
            begun_by: ACTOR.to_owned(),
        };
        if args.json {
            output::json(&json!({ "pause": pause_json(&pause) }))?;
        } else {
            output::line(&format!("all enforcement is {}", pause_text(&pause)))?;
        }
        Ok(())
    }

    async fn resume(&self, args: JsonArgs) -> anyhow::Result<()> {
        let resumed = self.store.live_rules().resume(self.change("")).await?;
        if args.json {
            output::json(&json!({ "pause": null, "was_paused": resumed }))?;
        } else if resumed {
            output::line("enforcement is resumed")?;
        } else {
            output::note("enforcement was not paused");
        }
        Ok(())
    }

    async fn live(&self) -> anyhow::Result<LiveRuleSet> {
        let set = LiveRuleSet::read(self.store.live_rules().list(self.now_ms).await?);
        for (id, reason) in &set.unreadable {
            output::note(&output::clean(&format!(
                "live rule {id} is left out: {reason}"
            )));
        }
        Ok(set)
    }

    fn sites(&self) -> anyhow::Result<Vec<(String, Arc<Policy>)>> {
        let index = SiteIndex::new(&self.loaded)?;
        let named = index.names().iter().zip(index.settings());
        named
            .map(|(name, settings)| Ok((name.clone(), Arc::new(app::policy(settings)?))))
            .collect()
    }

    fn change<'c>(&self, detail: &'c str) -> LiveRuleChange<'c> {
        LiveRuleChange {
            actor: ACTOR,
            detail,
            now_ms: self.now_ms,
        }
    }
}

fn fields(args: &AddArgs) -> RuleFields {
    let action = match args.action {
        ActionWord::Pass => "pass",
        ActionWord::Redirect => "redirect",
        ActionWord::Refuse => "refuse",
        ActionWord::Slow => "slow",
    };
    RuleFields {
        action: action.to_owned(),
        robot: args.robot.clone(),
        operator: args.operator.clone(),
        purpose: args.purpose.clone(),
        visitors: args.visitors.clone(),
        addresses: args.addresses.clone(),
        user_agent: args.user_agent.clone(),
        path: args.path.clone(),
        site: args.site.clone(),
        status: args.status,
        requests: args.requests,
        per_seconds: args.per_seconds,
        verified: false,
        people: args.people,
    }
}

/// A rule that is wrong is wrong usage; anything else has failed.
fn usage(error: ProposalError) -> anyhow::Error {
    match error {
        ProposalError::Field(problem) => {
            WrongUsage(format!("{}: {}", problem.field, problem.reason)).into()
        }
        other => other.into(),
    }
}

fn done(args: RuleArgs, word: &str) -> anyhow::Result<()> {
    let id = args.id;
    if args.json {
        output::json(&json!({ "id": id, "state": word }))?;
    } else {
        output::line(&format!("live rule {id} is {word}"))?;
    }
    Ok(())
}

fn live_json(kept: &KeptRule) -> Value {
    json!({
        "id": kept.id,
        "rule": kept.label(),
        "does": kept.rule.to_string(),
        "definition": RuleFields::from(&kept.rule),
        "ends": kept.ends_ms.map(rfc3339),
        "made": rfc3339(kept.created_ms),
        "by": kept.created_by,
    })
}

fn of_settings_json(site: &str, rule: &Rule) -> Value {
    json!({
        "site": site,
        "rule": rule.label(),
        "action": rule.action().as_str(),
        "conditions": rule.conditions().collect::<Vec<_>>(),
        "origin": rule.origin(),
    })
}

fn pause_json(pause: &StoredPause) -> Value {
    json!({
        "ends": rfc3339(pause.ends_ms),
        "begun": rfc3339(pause.begun_ms),
        "by": pause.begun_by,
    })
}

fn pause_text(pause: &StoredPause) -> String {
    let (ends, by) = (rfc3339(pause.ends_ms), &pause.begun_by);
    output::clean(&format!(
        "paused until {ends}, by {by}: everything passes, and what would be done is noted"
    ))
}
