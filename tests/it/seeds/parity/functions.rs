//! Each of the thirty functions of filter.conf, and its effect on a run.

use std::{collections::BTreeSet, fs};

use robot_detection::filter::Functions;

use crate::seeds::sun::{visit_in, write};
use crate::support::{
    http::{ReceivedRequest, Reply, TestServer},
    program,
};

/// Generates a test for each row: its name, the function, directives of a filter, and texts that
/// the resulting descriptions contain or do not contain.
macro_rules! functions {
    ($($test:ident: $function:literal, $filter:ident $directives:literal => $there:expr, $absent:expr;)*) => {
        const TESTED: &[&str] = &[$($function),*];

        $(
            #[test]
            fn $test() {
                assert!($directives.contains($function), "the row tests another function");
                let soif = described(concat!(stringify!($filter), "-default"), $directives);
                let there: &[&str] = &$there;
                let absent: &[&str] = &$absent;
                assert!(there.iter().all(|text| soif.contains(text)), "{there:?}: {soif}");
                assert!(!absent.iter().any(|text| soif.contains(text)), "{absent:?}: {soif}");
            }
        )*
    };
}

functions! {
    filterrules_setup: "filterrules-setup", generation
        "Setup fn=filterrules-setup config=./rules.conf\nMetaData fn=filterrules-process"
        => ["/\n", "/note.txt\n"], ["/copy\n"];
    setup_regex_cache: "setup-regex-cache", generation
        "Setup fn=setup-regex-cache cache-size=8\nMetaData fn=filter-by-regex src=path deny=/co.*"
        => ["/note.txt\n"], ["/copy\n"];
    setup_type_by_extension: "setup-type-by-extension", generation
        "Setup fn=setup-type-by-extension file=./types\nMetaData fn=assign-type-by-extension\n\
         Generate fn=extract-source src=\"type->kind\""
        => ["kind{11}:\ttext/x-note"], [];
    filter_by_exact: "filter-by-exact", generation
        "MetaData fn=filter-by-exact src=path deny=/copy"
        => ["/second\n"], ["/copy\n"];
    filter_by_max: "filter-by-max", generation
        "MetaData fn=filter-by-max src=depth value=0"
        => ["/\n"], ["/copy\n", "/note.txt\n"];
    filter_by_md5: "filter-by-md5", generation
        "Data fn=generate-md5\nData fn=filter-by-md5"
        => ["/copy\n"], ["/second\n"];
    filter_by_prefix: "filter-by-prefix", generation
        "MetaData fn=filter-by-prefix src=path allow=/co"
        => ["/copy\n"], ["/second\n", "/note.txt\n"];
    filter_by_regex: "filter-by-regex", generation
        "MetaData fn=filter-by-regex src=path deny=[.]txt$"
        => ["/copy\n"], ["/note.txt\n"];
    filterrules_process: "filterrules-process", generation
        "Setup fn=filterrules-setup config=./rules.conf\nData fn=filterrules-process"
        => ["/second\n"], ["/copy\n", "/note.txt\n"];
    assign_source: "assign-source", generation
        "MetaData fn=assign-source dst=colour value=red\nGenerate fn=extract-source src=colour"
        => ["colour{3}:\tred"], [];
    assign_type_by_extension: "assign-type-by-extension", generation
        "Setup fn=setup-type-by-extension file=./types\nMetaData fn=assign-type-by-extension\n\
         MetaData fn=filter-by-exact src=type deny=text/x-note"
        => ["/copy\n"], ["/note.txt\n"];
    clear_source: "clear-source", generation
        "Generate fn=clear-source src=path\nGenerate fn=extract-source src=\"path,host\""
        => ["host{"], ["path{"];
    convert_to_html: "convert-to-html", generation
        "Data fn=convert-to-html type=application/pdf\nGenerate fn=extract-html-meta"
        => ["title{9}:\tConverted"], [];
    copy_attribute: "copy-attribute", generation
        "Generate fn=extract-html-meta\nGenerate fn=copy-attribute src=author dst=writer"
        => ["author{4}:\tAnna", "writer{4}:\tAnna"], [];
    generate_by_exact: "generate-by-exact", generation
        "Generate fn=generate-by-exact src=path match=/copy value=Copies dst=classification"
        => ["classification{6}:\tCopies"], [];
    generate_by_prefix: "generate-by-prefix", generation
        "Generate fn=generate-by-prefix src=protocol match=http value=Web dst=classification"
        => ["classification{3}:\tWeb"], [];
    generate_by_regex: "generate-by-regex", generation
        "Generate fn=generate-by-regex src=path match=[.]txt$ value=Notes dst=classification"
        => ["classification{5}:\tNotes"], [];
    generate_md5: "generate-md5", generation
        "Data fn=generate-md5\nGenerate fn=extract-source src=md5"
        => ["md5{32}:\t"], [];
    generate_rd_expires: "generate-rd-expires", generation
        "Generate fn=generate-rd-expires\nGenerate fn=extract-source src=rd-expires"
        => ["rd-expires{29}:\t"], [];
    generate_rd_last_modified: "generate-rd-last-modified", generation
        "Generate fn=generate-rd-last-modified\nGenerate fn=extract-source src=rd-last-modified"
        => ["rd-last-modified{29}:\t"], [];
    rename_attribute: "rename-attribute", generation
        "Generate fn=extract-html-meta\nGenerate fn=rename-attribute src=\"author->writer\""
        => ["writer{4}:\tAnna"], ["author{"];
    enumerate_urls: "enumerate-urls", enumeration
        "Enumerate fn=enumerate-urls max=1"
        => ["/copy\n"], ["/second\n", "/note.txt\n"];
    enumerate_urls_from_text: "enumerate-urls-from-text", enumeration
        "Enumerate fn=enumerate-urls\nEnumerate fn=enumerate-urls-from-text type=text/plain"
        => ["/far\n"], [];
    extract_full_text: "extract-full-text", generation
        "Generate fn=extract-full-text"
        => ["\tOne\nFirst words of it.\nTwo\nMore"], [];
    extract_html_meta: "extract-html-meta", generation
        "Generate fn=extract-html-meta"
        => ["title{5}:\tStart", "author{4}:\tAnna"], [];
    extract_html_text: "extract-html-text", generation
        "Generate fn=extract-html-text skip-headings=true truncate=11"
        => ["partial-text{11}:\tFirst words"], [];
    extract_html_toc: "extract-html-toc", generation
        "Generate fn=extract-html-toc level=2"
        => ["\tOne\n  Two\n"], ["Three"];
    extract_source: "extract-source", generation
        "Generate fn=extract-source src=\"depth,content-type->media\""
        => ["depth{1}:\t0", "media{9}:\ttext/html"], [];
    harvest_summarizer: "harvest-summarizer", generation
        "Generate fn=harvest-summarizer summarizer=sum"
        => ["summary{5}:\tShort"], [];
    filterrules_shutdown: "filterrules-shutdown", generation
        "Setup fn=filterrules-setup config=./rules.conf\nMetaData fn=filterrules-process\n\
         Shutdown fn=filterrules-shutdown"
        => ["/note.txt\n"], ["/copy\n"];
}

#[test]
fn every_function_of_filter_conf_has_a_test_of_its_name() {
    let functions = Functions::new();
    let all: BTreeSet<&str> = functions.names().into_iter().collect();
    let tested: BTreeSet<&str> = TESTED.iter().copied().collect();
    assert_eq!((tested.len(), &tested), (30, &all));
}

fn reply(seen: &ReceivedRequest) -> Reply {
    let html = |text: &str| Reply::typed("text/html", text);
    match seen.path.as_str() {
        "/" => html(
            "<title>Start</title><meta name=author content=Anna><h1>One</h1>\
             <p>First words of it.</p><h2>Two</h2><p>More</p><h3>Three</h3>\
             <a href=/copy>c</a><a href=/second>s</a><a href=/note.txt>n</a><a href=/paper>p</a>",
        ),
        "/copy" | "/second" => html("<title>Copy</title><p>The same words.</p>"),
        "/note.txt" => {
            let host = seen.header("host").unwrap();
            Reply::text(format!("A note. URL: http://{host}/far\n"))
        }
        "/far" => html("<title>Far</title><p>Words from afar.</p>"),
        "/paper" => Reply::typed("application/pdf", "a document"),
        _ => Reply::status(404),
    }
}

/// Visits a site with a filter; returns the descriptions as SOIF.
fn described(filter: &str, directives: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let text = format!("<Filter name=\"{filter}\">\n{directives}\n</Filter>\n");
    let server = TestServer::with(reply);
    let rules = format!(
        "<Site name=a>\nStart url={} depth=2\nRule src=path operator=is string=/copy\n\
         Rule src=type operator=is string=text/plain\n</Site>\n",
        server.url("/")
    );
    for (name, text) in [
        ("filter.conf", text.as_str()),
        ("rules.conf", &rules),
        ("types", "text/x-note txt\n"),
    ] {
        fs::write(path.join(name), text).unwrap();
    }
    write(path, "page", "echo '<title>Converted</title><p>Words.</p>'");
    write(path, "sum", "printf 'summary{5}:\\tShort\\n'");
    let more = "filter_conf = 'filter.conf'\nconverters = ['application/pdf=page']";
    let said = visit_in(path, None, &server, &["bindir=."], more);
    let arguments = ["--database", "sqlite://robot.db", "site-robot", "export"];
    let soif = program::succeed(path, &arguments);
    assert!(soif.contains("@DOCUMENT"), "{said}");
    soif
}
