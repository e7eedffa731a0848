//! Arguments of the `robots-txt` command.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::preferences::PreferencesArgs;
use crate::robots_txt::Dialect;

/// Subcommands of the `robots-txt` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RobotsTxtCommand {
    /// Check whether a robot may fetch URLs, and show the matching line of robots.txt
    #[command(
        after_help = "Exit code: 0 all URLs are allowed, 1 a URL is disallowed, 2 wrong usage or unreadable file

Example: robot-detection robots-txt check --file robots.txt --user-agent Googlebot /private/a
Example: curl -s https://shop.example/robots.txt | robot-detection robots-txt check --user-agent ExampleBot/1.0 /"
    )]
    Check(CheckArgs),
    /// Find lines in a robots.txt file that robots will not interpret as intended
    #[command(
        after_help = "Exit code: 0 no warnings, 1 warnings, 2 wrong usage or unreadable file

Example: robot-detection robots-txt lint robots.txt
Example: curl -s https://shop.example/robots.txt | robot-detection robots-txt lint --dialect google"
    )]
    Lint(LintArgs),
    /// Print a robots.txt file in its standard spelling, without comments and ignored lines
    #[command(
        after_help = "Example: robot-detection robots-txt fmt --inherit robots.txt > robots.new"
    )]
    Fmt(FmtArgs),
    /// Show which preferences about AI training and other uses apply to a page, and which line decides
    #[command(
        after_help = "Where the sources contradict each other, the stricter one is shown. Nothing is enforced.

Example: robot-detection robots-txt preferences /a --robot GPTBot --file robots.txt --header 'Content-Usage: train-ai=n'"
    )]
    Preferences(PreferencesArgs),
    /// Evaluate queries from other programs: read one JSON object per line, and print one per line
    #[command(after_help = eval_help())]
    Eval,
}

/// Arguments of the `robots-txt check` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// URLs to check, or paths that begin with a slash
    #[arg(value_name = "URL", required = true)]
    pub(super) urls: Vec<String>,
    /// robots.txt file; `-` reads standard input [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Name of the robot, or its whole User-Agent
    #[arg(long, value_name = "UA")]
    pub(super) user_agent: String,
    /// URL of the robots.txt file; the result for URLs of other sites is then unknown
    #[arg(long, value_name = "URL")]
    pub(super) robots_url: Option<String>,
    #[arg(long, value_name = "DIALECT", default_value_t, help = dialects("Dialect"))]
    pub(super) dialect: Dialect,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `robots-txt lint` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct LintArgs {
    /// robots.txt file; `-` reads standard input [default: standard input]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    #[arg(long, value_name = "DIALECT", default_value_t, help = dialects("robots.txt dialect"))]
    pub(super) dialect: Dialect,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `robots-txt fmt` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct FmtArgs {
    /// robots.txt file; `-` reads standard input [default: standard input]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Keep the file as it is, and add the rules for all robots to each group that lost-rules
    /// warnings are about
    #[arg(long)]
    pub(super) inherit: bool,
    #[arg(long, value_name = "DIALECT", default_value_t, help = dialects("robots.txt dialect"))]
    pub(super) dialect: Dialect,
}

/// Returns the help text of a dialect argument.
fn dialects(title: &str) -> String {
    format!("{title}: {}", Dialect::names().join(", "))
}

/// Returns the description of the `robots-txt eval` protocol, with the names of the dialects.
fn eval_help() -> String {
    let [first, others @ ..] = Dialect::names();
    let mut text = format!("{first} (default)");
    let mut chars = text.len();
    for name in others {
        chars += ", ".len() + name.len();
        let space = if chars < MAX_CHARS { " " } else { INDENT };
        if space == INDENT {
            chars = name.len();
        }
        text.push(',');
        text.push_str(space);
        text.push_str(name);
    }
    EVAL_HELP.replace("{dialects}", &text)
}

/// Indentation of continuation lines in the help of a field.
const INDENT: &str = "\n                             ";

/// The maximum line length in the help of a field, in characters.
const MAX_CHARS: usize = 66;

/// The description of the `robots-txt eval` protocol.
const EVAL_HELP: &str = "Input fields, all optional:
  dialect                    {dialects}
  robots_txt, robots_txt_b64 the file, as text or base64; robots_url: its URL
  user_agent, url            the query; or, for several queries, queries: a list of [user_agent, url]
  status, redirects          status of robots.txt (0: no response), redirects followed
  html, headers              a page, and its response headers as a list of [name, value]
  want                       a list of output fields [default: those that the input allows]

Output fields:
  allowed                    true, false, or null for a URL of another site; a list for queries
  crawl_delay, request_rate  seconds; [requests, seconds]; or null
  sitemaps, host             a list; text or null
  effective_url, clean_url   the URL after applying Host; after applying Clean-param
  access                     rules, allow_all or disallow_all, from the status
  index, follow, archive, snippet, translate, imageindex, indexifembedded, max_snippet,
  max_video_preview, max_image_preview, unavailable_after
                             META tags and X-Robots-Tag
  unsupported                true if a dialect or a field is unknown
  error                      error found in the line; the next line is still read

Example: echo '{\"robots_txt\": \"User-agent: *\\nDisallow: /a\", \"user_agent\": \"x\", \"url\": \"/a\"}' | robot-detection robots-txt eval";
