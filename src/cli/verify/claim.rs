//! Verifies a single claim.

use std::io;
use std::net::IpAddr;
use std::process::ExitCode;

use serde_json::json;

use super::lists;
use crate::app::ClaimProver;
use crate::cli::args::VerifyArgs;
use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, output};
use crate::detect::{Claim, Detector, Verdict};
use crate::operations::decisions::ClaimView;
use crate::verify::{Evidence, Method, Proof};

async fn prove(
    prover: &ClaimProver,
    detector: &Detector,
    address: IpAddr,
    user_agent: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let claim = detector.identify(user_agent.as_bytes());
    let proof = match claim.as_ref().and_then(Claim::robot) {
        Some(robot) => Some(prover.prove(robot, address).await),
        None => None,
    };
    if as_json {
        let view = claim
            .as_ref()
            .map(|claim| ClaimView::new(claim, user_agent.as_bytes()));
        print_json(view.as_ref(), address, proof.as_ref())?;
    } else {
        print(claim.as_ref(), address, proof.as_ref())?;
    }
    // For scripts, the exit code is 0 only if the claim is verified.
    let is_verified = proof.is_some_and(|proof| proof.verdict == Verdict::Verified);
    Ok(ExitCode::from(u8::from(!is_verified)))
}

fn print(claim: Option<&Claim<'_>>, address: IpAddr, proof: Option<&Proof>) -> io::Result<()> {
    match claim {
        Some(claim) => row("claim", &format!("{}, by {claim}", claim.id()))?,
        None => row("claim", "none: the User-Agent does not match any robot")?,
    }
    row("address", &address.to_string())?;
    for Evidence { method, text, .. } in proof.iter().flat_map(|proof| &proof.evidence) {
        row(method.as_str(), text)?;
    }
    let verdict = match (claim, proof) {
        (None, _) => return Ok(()),
        (_, None) => format!(
            "{}: no registry lists the robot, or no verification method is known for it",
            Verdict::Unverifiable
        ),
        (_, Some(proof)) => match proof.by {
            Some(method) => format!("{} by {method}", proof.verdict),
            None => proof.verdict.to_string(),
        },
    };
    row("verdict", &verdict)
}

fn print_json(claim: Option<&ClaimView>, address: IpAddr, proof: Option<&Proof>) -> io::Result<()> {
    let evidence = proof.iter().flat_map(|proof| &proof.evidence);
    let evidence =
        evidence.map(|evidence| json!({"method": evidence.method.as_str(), "text": evidence.text}));
    let verdict = proof.map(|proof| proof.verdict);
    let unlisted = claim.map(|_| Verdict::Unverifiable);
    output::json(&json!({
        "claim": claim,
        "address": address.to_string(),
        "verdict": verdict.or(unlisted).map(Verdict::as_str),
        "by": proof.and_then(|proof| proof.by).map(Method::as_str),
        "evidence": evidence.collect::<Vec<_>>(),
    }))
}

fn row(name: &str, text: &str) -> io::Result<()> {
    output::line(&format!("{name:<12}  {}", output::clean(text)))
}

pub(in crate::cli) async fn run(cli: &Cli, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let settings = ClaimProver::settings(&loaded.settings().verify, args.offline);
    let prover = ClaimProver::new(settings, context::store(&loaded).await?).await?;
    let prover = prover.offline(args.offline);
    if args.ranges {
        let robots = context::robots(&loaded).await?;
        return lists::run(&prover, &robots, args).await;
    }
    let (Some(address), Some(user_agent)) = (args.ip, &args.user_agent) else {
        let usage = "specify the claim: --ip and --user-agent";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    let detector = context::detector(&loaded).await?;
    prove(&prover, &detector, address, user_agent, args.json).await
}
