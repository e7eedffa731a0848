//! `explain`: the decision on one request, with the reason of each step.

use std::{fs::File, io::Read as _, path::Path, process::ExitCode};

use anyhow::Context as _;
use serde_json::json;

use crate::app::{self, ServedRobotsTxt};
use crate::config::Loaded;
use crate::detect::{Claim, SharedDetector};
use crate::policy::{
    Answer, Decision, Enforcer, Finding, Policy, Request, RobotsFiles, SharedRobotsFiles, Step,
};
use crate::robots_txt::{Dialect, RobotsTxt};

use super::{Cli, args::ExplainArgs, context, identify, output, usage::WrongUsage};

/// Bytes of a robots.txt that are read, at most.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// What would be done, as text and JSON tell it.
struct Told {
    decision: String,
    pass_reason: Option<&'static str>,
    steps: Vec<Step>,
}

pub(super) async fn run(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    if !args.path.starts_with('/') {
        anyhow::bail!(WrongUsage(format!(
            "--path {:?} does not start with /; write it as it stands in the request",
            args.path
        )));
    }
    let loaded = context::load(cli)?;
    let policy = app::policy(&loaded)?;
    let detector = SharedDetector::new(context::detector(&loaded).await?);
    let served = match &args.robots_txt {
        Some(_) => None,
        None => Some(app::robots_txt_in_force(&loaded, &detector).await?),
    };
    let enforcer = enforcer(&loaded, args, served.as_ref())?;
    let detector = detector.load();
    let path = args.path.split(['?', '#']).next().unwrap_or_default();
    let answers = (path == "/robots.txt")
        .then(|| app::robots_txt(&loaded))
        .transpose()?
        .map(|plan| match &served {
            Some(served) => served.who_answers(args.host.as_deref()),
            None => plan.who_answers(args.host.as_deref()),
        });
    let claim = detector.identify(args.user_agent.as_bytes());
    let told = told(args, &policy, &enforcer, claim.as_ref());
    if args.json {
        let steps = told.steps.iter();
        let steps = steps.map(|step| json!({"step": step.name, "reason": step.text}));
        output::json(&json!({
            "decision": told.decision,
            "pass_reason": told.pass_reason,
            "claim": claim.as_ref().map(identify::object),
            "steps": steps.collect::<Vec<_>>(),
            "answered_by": answers,
        }))?;
    } else {
        if let Some(claim) = &claim {
            let found = found(claim, args.user_agent.as_bytes());
            output::line(&format!("{:<8}  {found}", "claim"))?;
        }
        for step in &told.steps {
            output::line(&format!("{:<8}  {}", step.name, output::clean(&step.text)))?;
        }
        output::line(&format!("{:<8}  {}", "decision", told.decision))?;
        if let Some(answers) = answers {
            let answers = output::clean(&answers);
            output::line(&format!("{:<8}  by {answers}", "answered"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the policy, and about what would pass robots.txt.
fn told(
    args: &ExplainArgs,
    policy: &Policy,
    enforcer: &Enforcer,
    claim: Option<&Claim<'_>>,
) -> Told {
    let target = args.path.split('#').next().unwrap_or_default();
    let request = Request {
        method: &args.method,
        host: args.host.as_deref(),
        path: target.split('?').next().unwrap_or_default(),
    };
    let explanation = policy.explain(&request, claim);
    let mut steps = explanation.steps;
    let reason = match explanation.decision {
        Decision::Pass(reason) => reason,
        Decision::Redirect(to) => {
            return Told {
                decision: format!("redirect {} {}", to.status, to.location),
                pass_reason: None,
                steps,
            };
        }
    };
    let user_agent = args.user_agent.as_bytes();
    let finding = enforcer.explain(policy, &request, target, claim, user_agent);
    let decision = decision(policy, &finding);
    steps.extend(finding.steps);
    Told {
        pass_reason: decision.is_none().then_some(reason.as_str()),
        decision: decision.unwrap_or_else(|| "pass".to_owned()),
        steps,
    }
}

/// Returns the answer to what robots.txt disallows, `None` where it passes.
fn decision(policy: &Policy, finding: &Finding) -> Option<String> {
    match finding.answer {
        Answer::Pass => None,
        Answer::TooManyRequests { .. } => Some("refuse 429".to_owned()),
        Answer::Redirect if let Some(to) = policy.redirect() => {
            Some(format!("redirect {} {}", to.status, to.location))
        }
        _ => Some("refuse 403".to_owned()),
    }
}

/// Returns what would hold robots to the file that is named, or to those in force.
fn enforcer(
    loaded: &Loaded,
    args: &ExplainArgs,
    served: Option<&ServedRobotsTxt>,
) -> anyhow::Result<Enforcer> {
    let files = match (served, &args.robots_txt) {
        (Some(served), _) => served.files().clone(),
        (None, Some(path)) => {
            let files = SharedRobotsFiles::default();
            files.replace(RobotsFiles::everywhere(read(path)?));
            files
        }
        (None, None) => SharedRobotsFiles::default(),
    };
    Ok(Enforcer::new(files, app::enforcement(loaded)?))
}

fn read(path: &Path) -> anyhow::Result<RobotsTxt> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(RobotsTxt::parse(&bytes, Dialect::default()))
}

/// Says which robot is claimed, and by what of the User-Agent.
fn found(claim: &Claim<'_>, user_agent: &[u8]) -> String {
    let by = match claim {
        Claim::Listed(_) => claim.to_string(),
        Claim::Unlisted(unlisted) => {
            let text = user_agent.get(claim.range()).unwrap_or_default();
            format!("{} {:?}", unlisted.sign, String::from_utf8_lossy(text))
        }
    };
    output::clean(&format!("{}, by {by}", claim.id()))
}
