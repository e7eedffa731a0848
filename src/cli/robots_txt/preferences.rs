//! `robots-txt preferences`: shows which preferences about its use apply to a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use http::{HeaderMap, Method};
use url::Url;

use super::run::read;
use crate::cli::output::{self, WrongUsage};
use crate::fetch::{DirectClient, DirectSettings};
use crate::licensing::{PageSources, TDMREP_PATH};
use crate::operations::preferences::PreferencesView;
use crate::robots_txt::{Dialect, RobotsTxt};

/// The maximum number of licences that are requested.
const MAX_LICENCES: usize = 5;

/// Arguments of the `robots-txt preferences` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct PreferencesArgs {
    /// URL of the page. Without any of the files below, the page, robots.txt, tdmrep.json and
    /// licences are requested from the site
    #[arg(value_name = "URL")]
    url: String,
    /// Product token of the robot
    #[arg(long, value_name = "NAME")]
    robot: String,
    /// robots.txt file of the site
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// HTML file of the page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Response header of the page; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// tdmrep.json file of the site
    #[arg(long, value_name = "FILE")]
    tdmrep: Option<PathBuf>,
    /// RSL document of the site; may be repeated
    #[arg(long, value_name = "FILE")]
    licence: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The content of all sources.
#[derive(Default)]
struct Contents {
    robots_txt: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
    page: Vec<u8>,
    tdmrep: Vec<u8>,
    licences: Vec<(String, Vec<u8>)>,
}

pub(super) fn preferences(args: &PreferencesArgs) -> anyhow::Result<ExitCode> {
    if args.robot.trim().is_empty() || args.robot == "*" {
        let reason = "--robot needs the product token of a robot, such as GPTBot".to_owned();
        return Err(WrongUsage(reason).into());
    }
    let contents = if is_local(args) {
        if !args.url.starts_with('/') && Url::parse(&args.url).is_err() {
            let reason = format!(
                "{:?} is neither a URL nor a path; a path begins with /",
                args.url
            );
            return Err(WrongUsage(reason).into());
        }
        local(args)?
    } else {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(requested(args))?
    };
    let file = contents.robots_txt.as_ref();
    let file = file.map(|text| RobotsTxt::parse(text, Dialect::default()));
    let tdmrep = String::from_utf8_lossy(&contents.tdmrep);
    let licences: Vec<_> = contents
        .licences
        .iter()
        .map(|(url, text)| (url, String::from_utf8_lossy(text)))
        .collect();
    let sources = PageSources {
        robots_txt: file.as_ref(),
        headers: contents
            .headers
            .iter()
            .map(|(name, value)| ("", name.as_str(), value.as_str()))
            .collect(),
        html: &contents.page,
        tdmrep: &tdmrep,
        licences: licences
            .iter()
            .map(|(url, text)| (url.as_str(), &**text))
            .collect(),
    };
    let view = PreferencesView::new(&sources, &args.robot, &args.url);
    if args.json {
        output::json(&view)?;
    } else {
        print(&view, file.as_ref(), args)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(
    view: &PreferencesView,
    file: Option<&RobotsTxt>,
    args: &PreferencesArgs,
) -> std::io::Result<()> {
    if file.is_some_and(|file| !file.for_robot(&args.robot).check(&args.url).allowed()) {
        output::note(
            "note: robots.txt does not allow the robot to fetch the page, so Content-Usage and Content-Signal lines do not apply",
        );
    }
    for one in &view.uses {
        output::line(&output::clean(&format!(
            "{:<12}  {}",
            one.name(),
            one.text()
        )))?;
    }
    for one in &view.statements {
        if let Some(remark) = &one.remark {
            let note = format!("note: {} ({}): {remark}", one.text, one.source);
            output::note(&output::clean(&note));
        }
    }
    Ok(())
}

/// Returns `true` if the sources are on the command line.
fn is_local(args: &PreferencesArgs) -> bool {
    let files = [&args.file, &args.page, &args.tdmrep];
    files.iter().any(|file| file.is_some()) || !args.header.is_empty() || !args.licence.is_empty()
}

fn local(args: &PreferencesArgs) -> Result<Contents, WrongUsage> {
    let optional =
        |file: &Option<PathBuf>| file.as_deref().map(|file| read(Some(file))).transpose();
    let header = |text: &String| {
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| WrongUsage(format!("--header {text:?}: write NAME: VALUE")))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let licence = |file: &PathBuf| Ok((Path::display(file).to_string(), read(Some(file))?));
    Ok(Contents {
        robots_txt: optional(&args.file)?,
        headers: args
            .header
            .iter()
            .map(header)
            .collect::<Result<_, WrongUsage>>()?,
        page: optional(&args.page)?.unwrap_or_default(),
        tdmrep: optional(&args.tdmrep)?.unwrap_or_default(),
        licences: args
            .licence
            .iter()
            .map(licence)
            .collect::<Result<_, WrongUsage>>()?,
    })
}

/// Requests all sources from the site; sources that the site does not have remain empty.
async fn requested(args: &PreferencesArgs) -> anyhow::Result<Contents> {
    let url = Url::parse(&args.url).ok().filter(Url::has_host);
    let url = url.ok_or_else(|| {
        WrongUsage(format!(
            "{:?} is not an absolute URL; add https:// and the host, or use --file",
            args.url
        ))
    })?;
    let client = DirectClient::new(DirectSettings::default())?;
    let get = async |url: Url| {
        let answer = client.send(Method::GET, &url, HeaderMap::new()).await?;
        if answer.status != 200 && answer.status != 404 {
            let note = format!("note: the status of {url} is {}", answer.status);
            output::note(&output::clean(&note));
        }
        anyhow::Ok(if answer.status == 200 {
            answer.body.to_vec()
        } else {
            Vec::new()
        })
    };
    let robots_txt = get(url.join("/robots.txt")?).await?;
    let page = client.send(Method::GET, &url, HeaderMap::new()).await?;
    if page.status != 200 {
        output::note(&format!("note: the status of the page is {}", page.status));
    }
    let mut contents = Contents {
        headers: page
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect(),
        page: page.body.to_vec(),
        tdmrep: get(url.join(TDMREP_PATH)?).await?,
        ..Contents::default()
    };
    let file = RobotsTxt::parse(&robots_txt, Dialect::default());
    for licence in file
        .licenses()
        .take(MAX_LICENCES)
        .filter_map(|licence| Url::parse(&licence).ok())
    {
        match get(licence.clone()).await {
            Ok(text) => contents.licences.push((licence.to_string(), text)),
            Err(error) => output::note(&output::clean(&format!("note: {licence}: {error}"))),
        }
    }
    contents.robots_txt = Some(robots_txt);
    Ok(contents)
}
