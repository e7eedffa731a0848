//! Tests of all filter functions, based on the examples in Sun's reference.

mod checks;
mod data;
mod enumeration;
mod filtering;
mod generation;
mod setup;

use std::{collections::BTreeMap, sync::Arc, sync::Mutex};

use crate::filter::{
    CommandLine, Commands, Files, Filter, FilterConf, FilterRun, Filters, FoundLink, Functions,
    LogType, Note, ReceivedResource, Resource, Severity, Source, Stage, StageOutcome, Surroundings,
};
use robot_detection_store::description::{Attribute, ResourceDescription};

use super::registry::BUILT_IN;

/// 2026-11-30, 12:00:00 UTC.
const NOW_MS: i64 = 1_796_040_000_000;

/// Directives that other directives require.
const TYPES: &str = "Setup fn=setup-type-by-extension file=./config/mime.types";

#[derive(Default)]
struct Fixtures(BTreeMap<&'static str, &'static str>);

impl Fixtures {
    fn new() -> Self {
        Self(BTreeMap::from([
            (
                "./config/mime.types",
                "text/html html htm\ntext/plain txt\n",
            ),
            (
                "./config/filterrules.conf",
                "<Site name=a>\nStart url=http://h.example/ depth=2\n\
                 Rule src=path operator=begins-with string=/secret/\n\
                 Rule src=type operator=is string=image/png\n</Site>\n",
            ),
        ]))
    }
}

impl Files for Fixtures {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.0.get(path).map(|text| (*text).to_owned()))
    }
}

/// Implementation of `Commands` that records its calls.
#[derive(Default)]
struct Programs {
    calls: Mutex<Vec<(String, usize)>>,
}

impl Commands for Programs {
    fn converter(&self, media_type: &str) -> Option<CommandLine> {
        let program = media_type.strip_prefix("application/")?;
        Some(CommandLine::new(format!("{program}-to-html")).argument("-"))
    }

    fn run(&self, command: &CommandLine, input: &[u8]) -> Result<Vec<u8>, String> {
        let call = (command.program.clone(), input.len());
        self.calls.lock().unwrap().push(call);
        match command.program.as_str() {
            "HTML.sum" => Ok(b"author{4}:\tAnna\nnot an attribute\nTitle{3}:\ta\nb\n".to_vec()),
            "rtf-to-html" => Err("killed after 600 s".to_owned()),
            _ => Ok(b"<title>Converted</title><p>Text".to_vec()),
        }
    }
}

struct Bench {
    filter: Arc<Filter>,
    run: FilterRun,
    programs: Programs,
}

impl Bench {
    /// Compiles directives into one filter.
    fn new(directives: &str) -> Self {
        let text = format!("<Filter name=\"a\">\n{directives}\n</Filter>\n");
        let filters = Filters::compile("f", &text, &Functions::new(), &Fixtures::new());
        Self {
            filter: Arc::clone(filters.unwrap().filter("a").unwrap()),
            run: FilterRun::new(),
            programs: Programs::default(),
        }
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings {
            run: &self.run,
            commands: &self.programs,
            now_ms: NOW_MS,
        }
    }

    fn metadata(&self, resource: &mut Resource) -> StageOutcome {
        self.filter.metadata(resource, &self.around())
    }

    fn data(&self, resource: &mut Resource) -> StageOutcome {
        self.filter.data(resource, &self.around())
    }

    fn links(&self, resource: &mut Resource) -> Vec<String> {
        let (passage, links) = self.filter.enumerate(resource, &self.around());
        assert!(passage.is_allowed());
        links.into_iter().map(|link: FoundLink| link.url).collect()
    }

    fn describe(&self, resource: &mut Resource) -> ResourceDescription {
        let mut description = ResourceDescription::new(resource.url().as_str());
        let around = self.around();
        let passage = self.filter.generate(resource, &mut description, &around);
        assert!(passage.is_allowed());
        description
    }
}

fn at(url: &str) -> Resource {
    Resource::new(url.parse().unwrap(), 1)
}

fn with(url: &str, content_type: &str, body: &str) -> Resource {
    let mut resource = at(url);
    resource.receive(ReceivedResource {
        status: 200,
        content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
        body: body.to_owned().into(),
        ..ReceivedResource::default()
    });
    resource
}

fn html(body: &str) -> Resource {
    with("http://h.example/a.html", "text/html; charset=utf-8", body)
}

fn source(resource: &Resource, name: &str) -> Option<String> {
    resource.source(&Source::from_name(name)).map(Into::into)
}

fn reason(passage: &StageOutcome) -> &str {
    &passage.denial().unwrap().reason
}

fn errors(directives: &str) -> String {
    notes(directives, Severity::Error)
}

/// Returns the notes about directives that have a given severity, one per line.
fn notes(directives: &str, severity: Severity) -> String {
    let text = format!("<Filter name=a>\n{directives}\n</Filter>\n");
    let conf = FilterConf::parse(&text);
    let notes = Filters::check(&conf, &Functions::new(), &Fixtures::new());
    let notes = notes.iter().filter(|it| it.severity == severity);
    notes.map(Note::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_function_has_a_test_with_its_name() {
    let tests = [
        include_str!("tests/data.rs"),
        include_str!("tests/enumeration.rs"),
        include_str!("tests/filtering.rs"),
        include_str!("tests/generation.rs"),
        include_str!("tests/setup.rs"),
    ]
    .concat();
    for function in &BUILT_IN {
        let name = function.name.replace('-', "_");
        let has_test = tests.contains(&format!("fn {name}_"));
        assert!(has_test, "{name}");
    }
}

/// Compiles a bundled filter.
fn shipped(name: &str) -> Bench {
    let filters = Filters::shipped(&Functions::new(), &Fixtures::new()).unwrap();
    Bench {
        filter: Arc::clone(filters.filter(name).unwrap()),
        run: FilterRun::new(),
        programs: Programs::default(),
    }
}

#[test]
fn bundled_filters_describe_a_page_once() {
    let bench = shipped(Filters::GENERATION);
    let mut page = html(
        "<html lang=en><title>T</title><meta name=author content=Anna>\
         <h1>A</h1><p>First words.</p><h2>B</h2><p>More.</p>",
    );
    assert!(bench.metadata(&mut page).is_allowed() && bench.data(&mut page).is_allowed());
    let description = bench.describe(&mut page);
    for (name, value) in [
        ("title", "T"),
        ("author", "Anna"),
        ("description", "First words."),
        ("full-text", "A\nFirst words.\nB\nMore."),
        ("table-of-contents", "A\n  B"),
        ("language", "en"),
        ("content-type", "text/html"),
        ("content-charset", "UTF-8"),
        ("depth", "1"),
        ("rd-expires", "Sun, 28 Feb 2027 12:00:00 GMT"),
    ] {
        assert_eq!(description.value(name), Some(value), "{name}");
    }
    let denied = bench.data(&mut with("http://h.example/i", "image/png", "x"));
    assert!(reason(&denied).contains("image/png"), "{denied:?}");
    assert!(
        !bench
            .metadata(&mut at("http://h.example/secret/"))
            .is_allowed()
    );
}

#[test]
fn bundled_filters_return_all_links_of_a_long_index() {
    let links = (0..9_000).map(|at| format!("<a href={at}>x</a>"));
    let mut index = html(&links.collect::<String>());
    let bench = shipped(Filters::ENUMERATION);
    assert_eq!(bench.links(&mut index).len(), 9_000);
}
