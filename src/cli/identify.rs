//! `identify`: identifies the robot behind each User-Agent.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;

use crate::access_log::Lines;
use crate::cli::{Cli, context};
use crate::detect::{Claim, Detector, Kind};
use crate::operations::decisions::ClaimView;

/// Arguments of the `identify` command.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Prints the robot's id, or `-` for no robot.

Examples: robot-detection identify 'Mozilla/5.0 (compatible; GPTBot/1.2)'
          robot-detection identify --json < user-agents.txt")]
pub(super) struct IdentifyArgs {
    /// User-Agents to identify; if none are given, reads one from each line of standard input
    #[arg(value_name = "UA")]
    user_agents: Vec<String>,
    /// Print a JSON object for each User-Agent (id, name, purpose, pattern, position)
    #[arg(long)]
    json: bool,
    /// Use the bundled registry instead of the database
    #[arg(long)]
    bundled: bool,
}

pub(super) async fn run(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<ExitCode> {
    let detector = context::chosen_detector(&context::load(cli)?, args.bundled).await?;
    let mut out = BufWriter::new(io::stdout().lock());
    for user_agent in &args.user_agents {
        answer(&detector, user_agent.as_bytes(), args.json, &mut out)?;
    }
    if args.user_agents.is_empty() {
        let mut lines = Lines::new(io::stdin().lock());
        while lines.read_more()? {
            while let Some(line) = lines.next_line() {
                answer(&detector, line, args.json, &mut out)?;
            }
            // The next read may block, so a program that waits for the results must get them now.
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn answer(
    detector: &Detector,
    user_agent: &[u8],
    is_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let claim = detector.claim(user_agent);
    let claim = claim.filter(|claim| claim.kind() != Kind::Nameless);
    if is_json {
        let view = claim
            .as_ref()
            .map(|claim| ClaimView::new(claim, user_agent));
        let answer = serde_json::json!({ "claim": view });
        return writeln!(out, "{answer}");
    }
    writeln!(out, "{}", claim.as_ref().map_or("-", Claim::id))
}
