//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::robots_txt::Dialect;

/// Commands of `robots-txt`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RobotsTxtCommand {
    /// Tells whether a robot may fetch URLs, and by which line
    #[command(
        after_help = "Exit code: 0 all allowed, 1 one is refused, 2 wrong usage or unreadable file

Example: robot-detection robots-txt check --file robots.txt --user-agent Googlebot /private/a
Example: curl -s https://shop.example/robots.txt | robot-detection robots-txt check --user-agent ExampleBot/1.0 /"
    )]
    Check(CheckArgs),
    /// Warns of what robots will read in another way than it is meant
    #[command(
        after_help = "Exit code: 0 nothing to warn of, 1 warnings, 2 wrong usage or unreadable file

Example: robot-detection robots-txt lint robots.txt
Example: curl -s https://shop.example/robots.txt | robot-detection robots-txt lint --dialect google"
    )]
    Lint(LintArgs),
    /// Answers questions for programs: a JSON object a line in, one a line out
    #[command(after_help = eval_help())]
    Eval,
}

/// Arguments of `robots-txt check`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// URLs, or paths that begin with a slash
    #[arg(value_name = "URL", required = true)]
    pub(super) urls: Vec<String>,
    /// File to read; `-` is standard input [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Robot's name, or the whole User-Agent that it sends
    #[arg(long, value_name = "UA")]
    pub(super) user_agent: String,
    /// Where the file came from; it then is about that site only
    #[arg(long, value_name = "URL")]
    pub(super) robots_url: Option<String>,
    #[arg(long, value_name = "DIALECT", default_value_t, help = dialects("Dialect"))]
    pub(super) dialect: Dialect,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `robots-txt lint`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct LintArgs {
    /// File to read; `-` is standard input [default: standard input]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    #[arg(long, value_name = "DIALECT", default_value_t, help = dialects("Dialect of the readers"))]
    pub(super) dialect: Dialect,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Returns the help of a dialect.
fn dialects(title: &str) -> String {
    format!("{title}: {}", Dialect::names().join(", "))
}

/// Returns the protocol of `robots-txt eval` with the names of the dialects.
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

/// Start of each further line of a field's help.
const INDENT: &str = "\n                             ";

/// Most characters on a line of it.
const MAX_CHARS: usize = 66;

/// The protocol of `robots-txt eval`.
const EVAL_HELP: &str = "In, all optional:
  dialect                    {dialects}
  robots_txt, robots_txt_b64 the file, as text or base64; robots_url: where it came from
  user_agent, url            the question; or queries: a list of [user_agent, url]
  status, redirects          how robots.txt was answered (0: no answer), redirects followed
  html, headers              a page, and a list of [name, value] of its response
  want                       a list of the fields below [default: those that are asked about]

Out:
  allowed                    true, false, or null for a URL of another site; a list for queries
  crawl_delay, request_rate  seconds; [requests, seconds]; or null
  sitemaps, host             a list; text or null
  effective_url, clean_url   the URL after Host, after Clean-param
  access                     rules, allow_all or disallow_all, from the status
  index, follow, archive, snippet, translate, imageindex, indexifembedded, max_snippet,
  max_video_preview, max_image_preview, unavailable_after
                             META tags and X-Robots-Tag
  unsupported                true where a dialect or a field is not known
  error                      what is wrong with the line; the next one is read all the same

Example: echo '{\"robots_txt\": \"User-agent: *\\nDisallow: /a\", \"user_agent\": \"x\", \"url\": \"/a\"}' | robot-detection robots-txt eval";
