//! Runs a `rules` command.

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::app::{self, SiteIndex};
use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, output};
use crate::config::{AdminSection, Loaded};
use crate::live_rules::{
    self, AddedRule, LiveRuleSet, NewPause, Outcome, Pause, PauseState, RuleFields, Surroundings,
    to_toml,
};
use crate::operations::{Caller, rfc3339};
use crate::policy::{Policy, SharedPolicy};

use super::args::{AddArgs, ApplyArgs, JsonArgs, PauseArgs, RestoreArgs, RulesCommand};

/// The result of a command that changes a live rule, or pauses or resumes enforcement.
#[derive(Serialize)]
struct Changed {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    state: &'static str,
}

/// A file that contains the rules for `rules apply`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rule: Vec<RuleFields>,
}

/// The results of the `rules apply` command.
#[derive(Serialize)]
struct Applied {
    rules: Vec<AddedRule>,
    removed: Vec<String>,
}

pub(in crate::cli) async fn run(cli: &Cli, command: &RulesCommand) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    if !loaded.settings().admin.rules {
        let key = AdminSection::KEY.rules.name;
        anyhow::bail!("live rules are turned off because {key} is false");
    }
    let store = context::changing_store(&loaded).await?;
    let caller = context::caller(&store);
    let commands = Commands {
        loaded: &loaded,
        caller,
    };
    let done = commands.run(command).await;
    store.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

/// The state that all `rules` commands share.
struct Commands<'c> {
    loaded: &'c Loaded,
    caller: Caller<'c>,
}

impl Commands<'_> {
    async fn run(&self, command: &RulesCommand) -> anyhow::Result<()> {
        match command {
            RulesCommand::List(args) => self.list(*args).await,
            RulesCommand::Add(args) => self.add(args).await,
            RulesCommand::Apply(args) => self.apply(args).await,
            RulesCommand::Remove(args) => {
                let id = live_rules::remove(&self.caller, &args.rule).await?;
                changed(
                    args.json,
                    Some(id),
                    "removed",
                    &format!("live rule {id} was removed"),
                )
            }
            RulesCommand::Restore(RestoreArgs { id, json }) => {
                live_rules::restore(&self.caller, *id).await?;
                let text = format!("live rule {id} was restored");
                changed(*json, Some(*id), "in force", &text)
            }
            RulesCommand::Export => Ok(output::text(&to_toml(&self.live().await?.rules, rfc3339))?),
            RulesCommand::Pause(args) => self.pause(args).await,
            RulesCommand::Resume(args) => {
                let text = if live_rules::resume(&self.caller).await? {
                    "enforcement was resumed"
                } else {
                    "enforcement was not paused"
                };
                changed(args.json, None, "in force", text)
            }
        }
    }

    async fn list(&self, args: JsonArgs) -> anyhow::Result<()> {
        let set = self.live().await?;
        let rules = live_rules::list(&self.among(&set).await?, &set, true);
        if args.json {
            return Ok(output::json(&rules)?);
        }
        if let Some(pause) = &rules.pause {
            output::note(&format!("all enforcement is {}", pause_text(pause)));
        }
        let live = rules.live_rules.iter().map(|rule| {
            let label = rule
                .name
                .as_ref()
                .map_or(rule.rule.clone(), |name| format!("{} ({name})", rule.rule));
            let ends = rule.ends.as_ref().map_or("never", |ends| &ends.iso);
            let made = format!("created by {} at {}", rule.by, rule.made.iso);
            [label, rule.does.clone(), ends.to_owned(), made]
        });
        let is_live = |label: &str| rules.live_rules.iter().any(|live| live.rule == label);
        let of_settings = rules.rules.iter().filter(|rule| !is_live(&rule.rule));
        let of_settings = of_settings.map(|rule| {
            let conditions = rule.conditions.join("; ");
            let does = format!("{} {conditions} on the site {}", rule.action, rule.site);
            [rule.rule.clone(), does, String::new(), rule.origin.clone()]
        });
        let rows = live.chain(of_settings);
        let rows: Vec<_> = rows
            .map(|cells| cells.map(|cell| output::clean(&cell)).to_vec())
            .collect();
        if rows.is_empty() {
            output::note("there are no rules; to add a rule, run `robot-detection rules add`");
            return Ok(());
        }
        Ok(output::table(
            &["rule", "summary", "ends", "origin"],
            &rows,
        )?)
    }

    async fn add(&self, args: &AddArgs) -> anyhow::Result<()> {
        let among = self.among(&self.live().await?).await?;
        let added = live_rules::add(&among, &args.rule, args.dry_run).await?;
        if args.json {
            return Ok(output::json(&added)?);
        }
        output::note(&added.touched.told);
        let notes = added.touched.notes.iter().copied();
        for text in notes.chain(added.warnings.iter().map(String::as_str)) {
            output::note(&output::clean(text));
        }
        Ok(output::line(&added_text(&added))?)
    }

    async fn apply(&self, args: &ApplyArgs) -> anyhow::Result<()> {
        let wanted = read_rules(&args.file)?;
        let set = self.live().await?;
        let among = self.among(&set).await?;
        // All rules are checked before any rule is changed.
        for rule in &wanted {
            let name = rule.name.as_deref().unwrap_or_default();
            live_rules::put(&among, name, rule, true)
                .await
                .with_context(|| format!("rule {name:?}"))?;
        }
        let mut applied = Applied {
            rules: Vec::new(),
            removed: Vec::new(),
        };
        for rule in &wanted {
            let name = rule.name.as_deref().unwrap_or_default();
            let added = live_rules::put(&among, name, rule, args.dry_run).await?;
            if !args.json {
                output::line(&format!("{name}: {}", added_text(&added)))?;
            }
            applied.rules.push(added);
        }
        let is_wanted = |name: &&str| {
            wanted
                .iter()
                .any(|rule| rule.name.as_deref() == Some(*name))
        };
        let names = set.rules.iter().filter_map(|rule| rule.name.as_deref());
        for name in names.filter(|name| args.prune && !is_wanted(name)) {
            if !args.dry_run {
                live_rules::remove(&self.caller, name).await?;
            }
            if !args.json {
                let word = if args.dry_run {
                    "would be removed"
                } else {
                    "removed"
                };
                output::line(&format!("{name}: {word}"))?;
            }
            applied.removed.push(name.to_owned());
        }
        if args.json {
            output::json(&applied)?;
        }
        Ok(())
    }

    async fn pause(&self, args: &PauseArgs) -> anyhow::Result<()> {
        let length = NewPause {
            r#for: Some(args.length.clone()),
        };
        let paused = live_rules::pause(&self.caller, &length).await?;
        if args.json {
            return Ok(output::json(&paused)?);
        }
        let PauseState { pause } = &paused;
        let text = pause.as_ref().map(pause_text).unwrap_or_default();
        Ok(output::line(&format!("all enforcement is {text}"))?)
    }

    async fn live(&self) -> anyhow::Result<LiveRuleSet> {
        let rules = self.caller.store.live_rules();
        let set = LiveRuleSet::read(rules.list(self.caller.now_ms).await?);
        for (id, reason) in &set.unreadable {
            let text = format!("live rule {id} is ignored: {reason}");
            output::note(&output::clean(&text));
        }
        Ok(set)
    }

    /// Returns the context in which new rules are checked, including the current live rules.
    async fn among(&self, set: &LiveRuleSet) -> anyhow::Result<Surroundings<'_>> {
        let index = SiteIndex::new(self.loaded)?;
        let sites = index.names().iter().zip(index.settings());
        let sites = sites.map(|(name, settings)| {
            let policy = SharedPolicy::new(app::policy(settings)?);
            policy.set_overlay(set.overlay(name));
            let policy: Arc<Policy> = Arc::clone(&policy.load());
            anyhow::Ok((name.clone(), policy))
        });
        Ok(Surroundings {
            caller: self.caller.clone(),
            detector: Arc::new(context::detector(self.loaded).await?),
            sites: sites.collect::<Result<_, _>>()?,
        })
    }
}

fn read_rules(path: &Path) -> anyhow::Result<Vec<RuleFields>> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| shown.to_string())?;
    let file: RuleFile =
        toml::from_str(&text).map_err(|error| WrongUsage(format!("{shown}: {error}")))?;
    let mut names = Vec::new();
    for rule in &file.rule {
        let name = rule.name.as_deref().unwrap_or_default();
        if name.is_empty() || names.contains(&name) {
            let text = format!("{shown}: each rule must have a unique name; found {name:?}");
            return Err(WrongUsage(text).into());
        }
        names.push(name);
    }
    Ok(file.rule)
}

fn added_text(added: &AddedRule) -> String {
    let state = match (added.id, added.outcome) {
        (Some(id), Outcome::Unchanged) => format!("live rule {id}, unchanged"),
        (Some(id), _) => format!("live rule {id}"),
        (None, _) => "not in force".to_owned(),
    };
    let ends = added.ends.as_ref().map_or("never", |ends| &ends.iso);
    output::clean(&format!("{state}: {}; ends: {ends}", added.does))
}

fn changed(json: bool, id: Option<i64>, state: &'static str, text: &str) -> anyhow::Result<()> {
    if json {
        return Ok(output::json(&Changed { id, state })?);
    }
    Ok(output::line(text)?)
}

fn pause_text(pause: &Pause) -> String {
    let (ends, by) = (&pause.ends.iso, &pause.by);
    output::clean(&format!(
        "paused by {by} until {ends}: all requests pass, and decisions are only logged"
    ))
}
