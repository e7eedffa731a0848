//! `robots-txt preferences`: shows which preferences about its use apply to a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use url::Url;

use super::run::read;
use crate::cli::output::{self, WrongUsage};
use crate::licensing::PageSources;
use crate::operations::preferences::PreferencesView;
use crate::robots_txt::{Dialect, RobotsTxt};

/// Arguments of the `robots-txt preferences` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct PreferencesArgs {
    /// URL or path of the page
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
struct Contents {
    robots_txt: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
    page: Vec<u8>,
    tdmrep: Vec<u8>,
    licences: Vec<(String, Vec<u8>)>,
}

impl Contents {
    fn read(args: &PreferencesArgs) -> Result<Self, WrongUsage> {
        let optional =
            |file: &Option<PathBuf>| file.as_deref().map(|file| read(Some(file))).transpose();
        let header = |text: &String| {
            let (name, value) = text
                .split_once(':')
                .ok_or_else(|| WrongUsage(format!("--header {text:?}: write NAME: VALUE")))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        let licence = |file: &PathBuf| Ok((Path::display(file).to_string(), read(Some(file))?));
        Ok(Self {
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
}

pub(super) fn preferences(args: &PreferencesArgs) -> anyhow::Result<ExitCode> {
    if args.robot.trim().is_empty() || args.robot == "*" {
        let reason = "--robot needs the product token of a robot, such as GPTBot".to_owned();
        return Err(WrongUsage(reason).into());
    }
    if !args.url.starts_with('/') && Url::parse(&args.url).is_err() {
        let reason = format!(
            "{:?} is neither a URL nor a path; a path begins with /",
            args.url
        );
        return Err(WrongUsage(reason).into());
    }
    if !has_sources(args) {
        let reason =
            "there is nothing to read: add --file, --page, --header, --tdmrep or --licence";
        return Err(WrongUsage(reason.to_owned()).into());
    }
    let contents = Contents::read(args)?;
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

fn has_sources(args: &PreferencesArgs) -> bool {
    let files = [&args.file, &args.page, &args.tdmrep];
    files.iter().any(|file| file.is_some()) || !args.header.is_empty() || !args.licence.is_empty()
}
