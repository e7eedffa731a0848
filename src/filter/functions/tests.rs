//! A test for each function, with the example that the reference gives for it.

use std::{collections::BTreeMap, sync::Arc, sync::Mutex};

use crate::description::{Attribute, ResourceDescription};
use crate::filter::{
    CommandLine, Commands, Files, Filter, FilterConf, FilterRun, Filters, FoundLink, Functions,
    LogType, Note, Passage, Received, Resource, Severity, Source, Stage, Surroundings,
};

use super::table::BUILT_IN;

/// 2026-11-30, 12:00:00 UTC.
const NOW_MS: i64 = 1_796_040_000_000;

/// Directives that make others possible.
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

/// Programs that note how they were called.
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
    /// Compiles directives as one filter.
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

    fn metadata(&self, resource: &mut Resource) -> Passage {
        self.filter.metadata(resource, &self.around())
    }

    fn data(&self, resource: &mut Resource) -> Passage {
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
    resource.receive(Received {
        status: 200,
        content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
        body: body.to_owned().into(),
        ..Received::default()
    });
    resource
}

fn html(body: &str) -> Resource {
    with("http://h.example/a.html", "text/html; charset=utf-8", body)
}

fn source(resource: &Resource, name: &str) -> Option<String> {
    resource.source(&Source::named(name)).map(Into::into)
}

fn reason(passage: &Passage) -> &str {
    &passage.denial().unwrap().reason
}

#[test]
fn filterrules_setup_reads_the_rules_and_the_type_of_log() {
    let bench =
        Bench::new("Setup fn=filterrules-setup config=./config/filterrules.conf logtype=normal");
    assert_eq!(bench.filter.log_type(), LogType::Normal);
    assert!(bench.filter.setup(&bench.around()).is_allowed());
    let bench =
        Bench::new("Setup fn=filterrules-setup config=./config/filterrules.conf logtype=terse");
    assert_eq!(bench.filter.log_type(), LogType::Terse);
}

#[test]
fn setup_regex_cache_takes_a_size() {
    let bench = Bench::new("Setup fn=setup-regex-cache cache-size=28");
    assert!(bench.filter.has_stage(Stage::Setup));
    assert!(errors("Setup fn=setup-regex-cache cache-size=many").contains("no whole number"));
}

#[test]
fn setup_type_by_extension_reads_the_types() {
    let bench = Bench::new(&format!("{TYPES}\nMetaData fn=assign-type-by-extension"));
    let mut page = at("http://h.example/a/b.HTM?c=d.txt");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/html"));
}

#[test]
fn filter_by_exact_denies_one_type_and_lets_the_others_pass() {
    let bench = Bench::new("Data fn=filter-by-exact src=type deny=text/plain");
    assert!(bench.data(&mut html("")).is_allowed());
    let denied = bench.data(&mut with("http://h.example/", "Text/Plain; charset=x", "a"));
    assert_eq!(reason(&denied), "type \"text/plain\" equals \"text/plain\"");
    let denial = denied.denial().unwrap();
    assert_eq!((denial.line, denial.stage), (2, Stage::Data));
    assert_eq!(&*denial.function, "filter-by-exact");
    let bench = Bench::new("MetaData fn=filter-by-exact src=host deny=all");
    assert!(!bench.metadata(&mut at("http://h.example/")).is_allowed());
}

#[test]
fn filter_by_max_of_content_length_waits_for_the_data() {
    let bench = Bench::new("MetaData fn-filter-by-max src=content-length value=1024");
    let mut small = at("http://h.example/");
    assert!(bench.metadata(&mut small).is_allowed());
    let fits = "x".repeat(1024 * 1024);
    assert!(bench.data(&mut html(&fits)).is_allowed());
    let denied = bench.data(&mut html(&format!("{fits}y")));
    assert_eq!(
        reason(&denied),
        "content-length 1048577 is more than 1024 times 1024 bytes"
    );
}

#[test]
fn filter_by_max_counts_hosts_objects_and_depth() {
    let bench = Bench::new("MetaData fn=filter-by-max src=hosts value=2");
    let pass = |url: &str| bench.metadata(&mut at(url)).is_allowed();
    assert!(pass("http://a.example/1") && pass("http://b.example/") && pass("http://a.example/2"));
    assert!(!pass("http://c.example/"));
    let bench = Bench::new("MetaData fn=filter-by-max src=objects value=2");
    let passes = [1, 2, 3].map(|_| bench.metadata(&mut at("http://a.example/")).is_allowed());
    assert_eq!(passes, [true, true, false]);
    let bench = Bench::new("MetaData fn=filter-by-max src=depth value=3");
    for (depth, is_allowed) in [(3, true), (4, false)] {
        let mut resource = Resource::new("http://a.example/".parse().unwrap(), depth);
        assert_eq!(
            bench.metadata(&mut resource).is_allowed(),
            is_allowed,
            "{depth}"
        );
    }
}

#[test]
fn filter_by_md5_lets_the_best_of_several_copies_pass() {
    let bench = Bench::new("Data fn=generate-md5\nData fn=filter-by-md5");
    let at = |url: &str| with(url, "text/html", "the same");
    assert!(bench.data(&mut at("http://h.example/a")).is_allowed());
    let denied = bench.data(&mut at("http://h.example/b"));
    assert!(
        reason(&denied).contains("was seen in another resource"),
        "{denied:?}"
    );
    assert!(
        bench.data(&mut at("http://h.example/a")).is_allowed(),
        "once more after a crash"
    );
    assert!(
        bench.data(&mut at("http://h.example/")).is_allowed(),
        "a better URL came later"
    );
    assert!(bench.data(&mut html("another")).is_allowed());
}

#[test]
fn filter_by_prefix_lets_all_kinds_of_text_pass() {
    let bench = Bench::new("MetaData fn=filter-by-prefix src=type allow=text");
    let mut unknown = at("http://h.example/");
    assert!(
        bench.metadata(&mut unknown).is_allowed(),
        "the type is not known yet"
    );
    assert!(bench.data(&mut html("")).is_allowed());
    let denied = bench.data(&mut with("http://h.example/", "image/png", ""));
    assert_eq!(
        reason(&denied),
        "type \"image/png\", allowed is only what begins with \"text\""
    );
    let known = "MetaData fn=assign-source dst=type value=image/png\n\
                 MetaData fn=filter-by-prefix src=type allow=text";
    assert!(!Bench::new(known).metadata(&mut unknown).is_allowed());
}

#[test]
fn filter_by_regex_denies_a_domain() {
    let bench = Bench::new(r"MetaData fn=filter-by-regex src=host deny=\\\\*.gov");
    assert!(
        !bench
            .metadata(&mut at("https://www.example.gov/"))
            .is_allowed()
    );
    assert!(
        bench
            .metadata(&mut at("https://www.example.org/"))
            .is_allowed()
    );
    let all = Bench::new(r"MetaData fn=filter-by-regex src=host allow=\\\\*");
    assert!(
        all.metadata(&mut at("https://www.example.gov/"))
            .is_allowed()
    );
}

#[test]
fn filterrules_process_follows_the_rules_at_both_stages() {
    let bench = Bench::new(
        "Setup fn=filterrules-setup config=./config/filterrules.conf\n\
         MetaData fn=filterrules-process\nData fn=filterrules-process",
    );
    assert!(
        bench
            .metadata(&mut at("http://h.example/open/"))
            .is_allowed()
    );
    let denied = bench.metadata(&mut at("http://h.example/secret/a"));
    assert_eq!(
        reason(&denied),
        "rule of line 3: path \"/secret/a\" begins-with \"/secret/\" (\"a\")"
    );
    let mut image = with("http://h.example/i", "image/png", "");
    assert!(reason(&bench.data(&mut image)).contains("rule of line 4: type"));
}

#[test]
fn assign_source_copies_another_source_or_a_value() {
    let bench = Bench::new("Data fn=assign-source dst=type src=content-type");
    let mut page = html("");
    page.assign(&Source::named("type"), "text/x-other");
    assert!(bench.data(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/html"));
    let bench = Bench::new("MetaData fn=assign-source dst=color value=\"dark red\"");
    let mut page = at("http://h.example/");
    bench.filter.recall_metadata(&mut page, &bench.around());
    assert_eq!(source(&page, "Color").as_deref(), Some("dark red"));
}

#[test]
fn assign_type_by_extension_stands_in_the_reference_with_two_lines_run_together() {
    let text = format!("{TYPES}\nMetaData fn=assign-type-by-extclear-source");
    let bench = Bench::new(&text);
    let mut page = at("http://h.example/read.me.txt");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/plain"));
    let repairs = notes(&text, Severity::Repair);
    assert!(
        repairs.contains("read as fn=assign-type-by-extension"),
        "{repairs}"
    );
}

#[test]
fn clear_source_takes_the_path_away() {
    let bench = Bench::new("MetaData fn=clear-source src=path");
    let mut page = at("http://h.example/a");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "path"), None);
    assert_eq!(source(&page, "host").as_deref(), Some("h.example"));
}

#[test]
fn convert_to_html_converts_types_and_what_has_none() {
    let bench = Bench::new(
        "Data fn=convert-to-html type=application/pdf\n\
         Data fn=convert-to-html type=application/rtf\n\
         Data fn=convert-to-html type=application/x-mif\n\
         Data fn=convert-to-html type=unknown",
    );
    let mut pdf = with("http://h.example/a", "application/pdf", "%PDF-1.4 …");
    let mut other = pdf.clone();
    for resource in [&mut pdf, &mut other] {
        assert!(bench.data(resource).is_allowed());
        assert_eq!(resource.page().unwrap().title.as_deref(), Some("Converted"));
        assert_eq!(
            source(resource, "content-type").as_deref(),
            Some("application/pdf")
        );
    }
    let mut sniffed = with("http://h.example/b", "", "<MIFFile 5.0>");
    assert!(bench.data(&mut sniffed).is_allowed());
    let calls = bench.programs.calls.lock().unwrap().clone();
    let programs: Vec<_> = calls.iter().map(|(program, _)| program.as_str()).collect();
    assert_eq!(
        programs,
        ["pdf-to-html", "x-mif-to-html"],
        "once for both clones"
    );
    let mut page = with(
        "http://h.example/c",
        "",
        "\n<!DOCTYPE html><title>A</title>",
    );
    assert!(bench.data(&mut page).is_allowed());
    assert_eq!(page.page().unwrap().title.as_deref(), Some("A"));
}

#[test]
fn convert_to_html_that_fails_leaves_the_resource_as_it_is() {
    let bench = Bench::new("Data fn=convert-to-html type=application/rtf");
    let mut rtf = with("http://h.example/a", "application/rtf", "{\\rtf");
    assert!(bench.data(&mut rtf).is_allowed());
    assert!(rtf.page().is_none());
    assert!(
        rtf.troubles()[0].contains("killed after 600 s"),
        "{:?}",
        rtf.troubles()
    );
}

#[test]
fn copy_attribute_copies_whole_words() {
    let bench = Bench::new(
        "Generate fn=extract-html-text truncate=1000\n\
         Generate fn=copy-attribute \\\\\nsrc=partial-text dst=description truncate=200 clean=true",
    );
    let body = "word and ".repeat(100);
    let description = bench.describe(&mut html(&body));
    let copied = description.value("description").unwrap();
    assert!(
        copied.len() <= 200 && copied.len() > 190,
        "{}",
        copied.len()
    );
    assert!(
        copied.ends_with("word") || copied.ends_with("and"),
        "{copied}"
    );
    let cut = Bench::new(
        "Generate fn=extract-html-text\nGenerate fn=copy-attribute src=partial-text dst=d truncate=3",
    );
    assert_eq!(cut.describe(&mut html(&body)).value("d"), Some("wor"));
}

#[test]
fn generate_by_exact_classifies_a_host_with_its_port() {
    let bench = Bench::new(
        "Generate fn=\"generate-by-exact\" match=\"www.siroe.com:80\" src=\"host\"\n\
         value=\"Siroe\" dst=\"classification\"",
    );
    let mut page = with("http://www.siroe.com/", "text/html", "");
    assert_eq!(
        bench.describe(&mut page).value("classification"),
        Some("Siroe")
    );
    assert_eq!(source(&page, "classification").as_deref(), Some("Siroe"));
    let mut other = with("https://www.siroe.com/", "text/html", "");
    assert_eq!(bench.describe(&mut other).value("classification"), None);
}

#[test]
fn generate_by_prefix_classifies_a_protocol() {
    let bench = Bench::new(
        "Generate fn=\"generate-by-prefix\" match=\"http\" src=\"protocol\"\n\
         value=\"World Wide Web\" dst=\"classification\"",
    );
    for url in ["http://h.example/", "https://h.example/"] {
        let description = bench.describe(&mut with(url, "text/html", ""));
        assert_eq!(description.value("classification"), Some("World Wide Web"));
    }
    let description = bench.describe(&mut with("file:///a", "text/html", ""));
    assert_eq!(description.value("classification"), None);
}

#[test]
fn generate_by_regex_classifies_all_hosts_of_a_domain() {
    let bench = Bench::new(
        "Generate fn=\"generate-by-regex\" match=\"\\\\\\\\*.siroe.com\"\n\
         src=\"host\" value=\"Siroe\" dst=\"classification\"",
    );
    for (host, class) in [
        ("developer.siroe.com", Some("Siroe")),
        ("home.siroe.com", Some("Siroe")),
        ("h.example", None),
    ] {
        let mut page = with(&format!("http://{host}/"), "text/html", "");
        assert_eq!(
            bench.describe(&mut page).value("classification"),
            class,
            "{host}"
        );
    }
}

#[test]
fn generate_md5_sums_the_body_up() {
    let bench = Bench::new("Data fn=generate-md5");
    let mut page = html("hello world");
    assert!(bench.data(&mut page).is_allowed());
    assert_eq!(
        source(&page, "md5").as_deref(),
        Some("5eb63bbbe01eeed093cb22bb8f5acdc3")
    );
}

#[test]
fn generate_rd_expires_takes_the_date_of_the_resource_or_three_months() {
    let bench = Bench::new("Generate fn=generate-rd-expires");
    let expires = |mut page: Resource| {
        bench.describe(&mut page);
        source(&page, "rd-expires").unwrap()
    };
    assert_eq!(expires(html("")), "Sun, 28 Feb 2027 12:00:00 GMT");
    let said = "Fri, 01 Jan 2027 00:00:00 GMT";
    let tag = format!("<meta http-equiv=expires content=\"{said}\">");
    assert_eq!(expires(html(&tag)), said);
    let mut page = html("");
    let received = page.received().unwrap().clone();
    let expired = Some("Thu, 01 Jan 1970 00:00:00 GMT".to_owned());
    page.receive(Received {
        expires: expired,
        ..received
    });
    assert_eq!(expires(page), "Sun, 28 Feb 2027 12:00:00 GMT");
}

#[test]
fn generate_rd_last_modified_is_now_under_its_short_name_too() {
    let bench = Bench::new(
        "Generate fn=generate-last-modified\nGenerate fn=extract-source src=rd-last-modified",
    );
    let description = bench.describe(&mut html(""));
    assert_eq!(
        description.value("rd-last-modified"),
        Some("Mon, 30 Nov 2026 12:00:00 GMT")
    );
    let bench = Bench::new("Generate fn=generate-rd-last-modified dst=seen");
    let mut page = html("");
    bench.describe(&mut page);
    assert!(source(&page, "seen").is_some());
}

#[test]
fn rename_attribute_gives_the_author_another_name() {
    let bench = Bench::new(
        "Generate fn=extract-html-meta\nGenerate fn=rename-attribute src=\"author->author-name\"",
    );
    let description = bench.describe(&mut html("<meta name=author content=Anna>"));
    assert_eq!(description.value("author-name"), Some("Anna"));
    assert_eq!(description.value("author"), None);
}

#[test]
fn enumerate_urls_takes_the_links_of_html() {
    let bench = Bench::new("Enumerate fn=enumerate-urls type=text/html");
    let body = "<a href=b>b</a> <a href=b>again</a> <iframe src=/c></iframe>";
    assert_eq!(bench.links(&mut html(body)), ["b", "/c"]);
    let mut other = with("http://h.example/", "application/xhtml+xml", body);
    assert!(bench.links(&mut other).is_empty(), "another type");
    let many = (0..2000)
        .map(|at| format!("<a href={at}>x</a>"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(bench.links(&mut html(&many)).len(), 1024);
    let few = Bench::new("Enumerate enable=true fn=enumerate-urls max=3 type=text/html");
    assert_eq!(few.links(&mut html(&many)), ["0", "1", "2"]);
}

#[test]
fn of_xhtml_an_empty_script_is_its_own_end() {
    let bench = Bench::new("Enumerate fn=enumerate-urls");
    let body = "<html><head><script src='a.js'/></head><body><a href='b'>b</a></body></html>";
    let mut page = with(
        "http://h.example/",
        "Application/XHTML+XML; charset=utf-8",
        body,
    );
    assert_eq!(bench.links(&mut page), ["b"]);
    assert!(bench.links(&mut html(body)).is_empty());
}

#[test]
fn parts_of_a_page_are_one_url_to_enumerate_urls() {
    let bench = Bench::new("Enumerate fn=enumerate-urls max=2");
    let body = "<a href=#1>1</a><a href=#2>2</a><a href=a#1>a</a><a href=a#2>a</a>\
                <a href=a>a</a><a href=b>b</a><a href=c>c</a>";
    assert_eq!(bench.links(&mut html(body)), ["a#1", "b"]);
    let again = "<a rel=nofollow href=a>a</a><a href=a#top>a</a>";
    assert_eq!(bench.links(&mut html(again)), ["a", "a#top"]);
}

#[test]
fn enumerate_urls_from_text_takes_what_stands_after_url() {
    let bench = Bench::new("Enumerate fn=enumerate-urls-from-text");
    let text = "See <URL:http://h.example/a> and URL: http://h.example/b.\nURL: see below\n";
    let mut page = with("http://h.example/", "text/plain", text);
    assert_eq!(
        bench.links(&mut page),
        ["http://h.example/a", "http://h.example/b"]
    );
    let off = "Enumerate enable=false fn=enumerate-urls-from-text max=1024 type=text/plain";
    assert!(Bench::new(off).links(&mut page).is_empty());
}

#[test]
fn extract_full_text_takes_all_text() {
    let bench = Bench::new("Generate fn=extract-full-text");
    let page = "<title>T</title><h1>A</h1><p>b <b>c</b></p><script>no</script>";
    let description = bench.describe(&mut html(page));
    assert_eq!(description.value("full-text"), Some("A\nb c"));
    let cut = Bench::new("Generate fn=extract-full-text truncate=2 dst=body");
    let mut text = with("http://h.example/", "text/plain; charset=utf-8", "äöü");
    assert_eq!(cut.describe(&mut text).value("body"), Some("äö"));
}

#[test]
fn extract_full_text_takes_the_main_part_where_it_is_told_to() {
    let bench = Bench::new(
        "Generate fn=extract-full-text part=main\nGenerate fn=extract-html-toc part=main",
    );
    let page = "<nav>Menu<h2>Around</h2></nav><main><h1>A</h1><p>b</main><footer>Foot</footer>";
    let description = bench.describe(&mut html(page));
    assert_eq!(description.value("full-text"), Some("A\nb"));
    assert_eq!(description.value("table-of-contents"), Some("A"));
    let mut text = with("http://h.example/", "text/plain", "a\tb");
    assert_eq!(bench.describe(&mut text).value("full-text"), Some("a\tb"));
    let all = Bench::new("Generate fn=extract-full-text part=all").describe(&mut html(page));
    let told = all.value("full-text");
    assert_eq!(told, Some("Menu\nAround\nA\nb\nFoot"));
}

#[test]
fn extract_html_meta_takes_title_and_tags() {
    let bench = Bench::new("Generate fn=extract-html-meta truncate=255 type=text/html");
    let body = format!(
        "<title> A  title </title><meta name=Description content=\"{}\">\
         <meta name=keywords content=a><meta name=keywords content=b>\
         <meta name=md5 content=forged><meta http-equiv=refresh content=1>",
        "word ".repeat(100)
    );
    let description = bench.describe(&mut html(&body));
    assert_eq!(description.title(), "A title");
    assert_eq!(description.value("keywords"), Some("a, b"));
    let cut = description.value("description").unwrap();
    assert!(cut.len() <= 255 && cut.ends_with("word"), "{cut}");
    assert_eq!(
        description.value("md5"),
        None,
        "no page says its own checksum"
    );
    assert_eq!(description.value("refresh"), None);
    let mut other = with("http://h.example/", "application/xhtml+xml", &body);
    assert_eq!(bench.describe(&mut other).title(), "");
}

#[test]
fn extract_html_text_takes_the_first_text_without_headings() {
    let bench =
        Bench::new("Generate fn=extract-html-text truncate=255 type=text/html skip-headings=true");
    let body = format!("<h1>Heading</h1><p>First. {}</p>", "more words ".repeat(50));
    let description = bench.describe(&mut html(&body));
    let text = description.value("partial-text").unwrap();
    assert!(
        text.starts_with("First. more") && text.len() <= 255,
        "{text}"
    );
    let bench = Bench::new("Generate fn=extract-html-text truncate=255");
    let text = bench.describe(&mut html(&body));
    assert!(
        text.value("partial-text")
            .unwrap()
            .starts_with("Heading\nFirst.")
    );
}

#[test]
fn extract_html_toc_takes_headings_down_to_a_level() {
    let bench = Bench::new("Generate fn=extract-html-toc truncate=255 level=3");
    let body = "<h1>One</h1><h2>Two</h2><p>x</p><h3>Three</h3><h4>Four</h4>";
    let description = bench.describe(&mut html(body));
    assert_eq!(
        description.value("table-of-contents"),
        Some("One\n  Two\n    Three")
    );
    let cut = Bench::new("Generate fn=extract-html-toc truncate=10 level=3");
    assert_eq!(
        cut.describe(&mut html(body)).value("table-of-contents"),
        Some("One\n  Two")
    );
}

#[test]
fn extract_source_takes_a_list_of_sources() {
    let bench = Bench::new(
        "Data fn=generate-md5\n\
         Generate fn=generate-rd-expires\nGenerate fn=generate-rd-last-modified\n\
         Generate fn=extract-source src=\"md5,depth,rd-expires,rd-last-modified\"\n\
         Generate fn=extract-source src=\"type->content-type, URL, absent\"",
    );
    let mut page = html("x");
    assert!(bench.data(&mut page).is_allowed());
    let description = bench.describe(&mut page);
    let names: Vec<_> = description
        .attributes()
        .iter()
        .map(Attribute::name)
        .collect();
    assert_eq!(
        names,
        [
            "md5",
            "depth",
            "rd-expires",
            "rd-last-modified",
            "content-type",
            "url"
        ]
    );
    assert_eq!(description.value("content-type"), Some("text/html"));
    assert_eq!(description.value("depth"), Some("1"));
}

#[test]
fn harvest_summarizer_adds_what_the_program_says() {
    let bench = Bench::new("Generate fn-harvest-summarizer summarizer=HTML.sum");
    let description = bench.describe(&mut html("x"));
    assert_eq!(description.value("author"), Some("Anna"));
    assert_eq!(description.title(), "a\nb");
    // Other pages are worked on while it waits for the program.
    assert!(bench.filter.waits());
    assert!(!Bench::new("Generate fn=extract-full-text").filter.waits());
}

#[test]
fn filterrules_shutdown_ends_the_filter() {
    let bench = Bench::new("Shutdown fn=filterrules-shutdown");
    assert!(bench.filter.has_stage(Stage::Shutdown));
    assert!(bench.filter.shutdown(&bench.around()).is_allowed());
}

#[test]
fn every_function_is_tested_here_by_its_name() {
    let tests = include_str!("tests.rs");
    for function in &BUILT_IN {
        let name = function.name.replace('-', "_");
        let has_test = tests.contains(&format!("fn {name}_"));
        assert!(has_test, "{name}");
    }
}

fn errors(directives: &str) -> String {
    notes(directives, Severity::Error)
}

/// Returns the remarks of one kind about directives, a line each.
fn notes(directives: &str, severity: Severity) -> String {
    let text = format!("<Filter name=a>\n{directives}\n</Filter>\n");
    let conf = FilterConf::parse(&text);
    let notes = Filters::check(&conf, &Functions::new(), &Fixtures::new());
    let notes = notes.iter().filter(|it| it.severity == severity);
    notes.map(Note::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_be_used_is_named_with_its_line_and_the_nearest_right_name() {
    for (directive, expected) in [
        ("Meta fn=filterrules-process", "did you mean \"MetaData\""),
        (
            "Data fn=filter-by-exakt src=a deny=b",
            "did you mean \"filter-by-exact\"",
        ),
        ("Data fn=filter-by-exact source=a deny=b", "src= is missing"),
        (
            "Data fn=filter-by-exact src=a denny=b deny=c",
            "did you mean \"deny\"",
        ),
        (
            "Data fn=filter-by-exact src=a",
            "allow= or deny= is missing",
        ),
        (
            "Data fn=filter-by-exact src=a allow=b deny=c",
            "cannot stand together",
        ),
        (
            "Setup fn=enumerate-urls",
            "enumerate-urls cannot stand at Setup; it stands at Enumerate",
        ),
        (
            "MetaData fn=filter-by-md5",
            "it stands at Data, Enumerate, Generate",
        ),
        (
            "MetaData fn=filter-by-max src=host value=1",
            "did you mean \"hosts\"",
        ),
        (
            "Generate fn=extract-html-toc level=7",
            "level=7 is not from 1 to 6",
        ),
        (
            "Generate fn=extract-full-text part=half",
            "part=\"half\" is neither all nor main",
        ),
        (
            "Generate fn=rename-attribute src=author",
            "names no other name",
        ),
        (
            "Data fn=filter-by-regex src=host deny=(",
            "is no regular expression",
        ),
        (
            "Data fn=generate-md5 enable=maybe",
            "none of true, false, on, off",
        ),
        ("Data fn=generate-md5 level=3", "the function takes none"),
        ("Data", "Data without fn="),
        (
            "Setup fn=filterrules-setup config=x logtype=quiet",
            "is no logtype",
        ),
        (
            "Data fn=assign-source dst=a value=b src=c",
            "cannot stand together",
        ),
    ] {
        let errors = errors(directive);
        assert!(
            errors.starts_with("line 2: error: "),
            "{directive}: {errors}"
        );
        assert!(errors.contains(expected), "{directive}: {errors}");
    }
    let twice = errors("Data fn=filter-by-md5\nData fn=filter-by-md5");
    assert!(
        twice.contains("line 3: error: filter-by-md5 may stand once"),
        "{twice}"
    );
    assert_eq!(errors("Data fn=no-such-function enable=off"), "");
}

#[test]
fn shipped_filters_describe_a_page_once() {
    let filters = Filters::shipped(&Functions::new(), &Fixtures::new()).unwrap();
    let bench = Bench {
        filter: Arc::clone(filters.filter(Filters::GENERATION).unwrap()),
        run: FilterRun::new(),
        programs: Programs::default(),
    };
    let mut page = html(
        "<html lang=en><title>T</title><meta name=author content=Anna>\
         <h1>A</h1><p>First words.</p><h2>B</h2><p>More.</p>",
    );
    assert!(bench.metadata(&mut page).is_allowed() && bench.data(&mut page).is_allowed());
    let description = bench.describe(&mut page);
    for (name, value) in [
        ("title", "T"),
        ("author", "Anna"),
        ("description", "First words.\nMore."),
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
