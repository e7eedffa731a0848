//! `heaven preview`: shows the heaven page for an HTML file.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use url::Url;

use crate::description::ResourceDescription;
use crate::filter::{
    FilterRun, Filters, Functions, NoCommands, NoFiles, ReceivedResource, Resource, StageOutcome,
    Surroundings,
};
use crate::heaven::{self, CatalogueBuilder, HeavenSettings};

use super::output::{self, WrongUsage};

/// Arguments of the `heaven preview` command.
#[derive(Args, Clone, Debug)]
pub(super) struct PreviewArgs {
    /// HTML file that contains the page
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// URL of the page, used for resolving links
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://www.example.com/page"
    )]
    url: String,
    /// Media type of the page, including the character set if the page does not declare it
    #[arg(long = "type", value_name = "TYPE", default_value = "text/html")]
    media_type: String,
    /// Print HTML instead of Markdown
    #[arg(long)]
    html: bool,
}

pub(super) fn run(args: &PreviewArgs) -> anyhow::Result<ExitCode> {
    let url: Url = args.url.parse().map_err(|error| {
        let url = output::clean(&args.url);
        WrongUsage(format!("--url: {url:?} is not a URL: {error}"))
    })?;
    let body = fs::read(&args.file);
    let body = body.with_context(|| format!("cannot read {}", args.file.display()))?;
    let site = url.origin().ascii_serialization();
    let settings = HeavenSettings::new(&site)?;
    let description = match described(url, args, body)? {
        Ok(description) => description,
        Err(reason) => {
            output::note(&format!("error: {}", output::clean(&reason)));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut pages = CatalogueBuilder::default();
    pages.add(&description);
    let catalogue = pages.build(&settings);
    if catalogue.is_empty() {
        output::note("note: heaven does not contain this page, because the page is marked noindex");
    }
    let told = if args.html {
        heaven::page(&description, &catalogue, &settings)
    } else {
        heaven::markdown(&description, &catalogue, &settings)
    };
    output::line(told.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the description that the filter generates, or the reason why the filter rejects the
/// page.
fn described(
    url: Url,
    args: &PreviewArgs,
    body: Vec<u8>,
) -> anyhow::Result<Result<ResourceDescription, String>> {
    let filters = Filters::shipped(&Functions::new(), &NoFiles)?;
    let filter = filters.filter(Filters::GENERATION);
    let filter = filter.context("the generation filter is missing")?;
    let run = FilterRun::new();
    let around = Surroundings {
        run: &run,
        commands: &NoCommands,
        now_ms: 0,
    };
    let mut description = ResourceDescription::new(url.as_str());
    let mut resource = Resource::new(url, 0);
    resource.receive(ReceivedResource {
        status: 200,
        content_type: Some(args.media_type.clone()),
        body: body.into(),
        ..ReceivedResource::default()
    });
    let denied = |outcome: &StageOutcome| outcome.denial().map(ToString::to_string);
    let denial = denied(&filter.data(&mut resource, &around))
        .or_else(|| denied(&filter.generate(&mut resource, &mut description, &around)));
    Ok(denial.map_or(Ok(description), Err))
}
