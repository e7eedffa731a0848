//! Tests of functions that describe a resource.

use super::*;

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
fn generate_rd_expires_uses_the_resource_date_or_three_months() {
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
    page.receive(ReceivedResource {
        expires: expired,
        ..received
    });
    assert_eq!(expires(page), "Sun, 28 Feb 2027 12:00:00 GMT");
}

#[test]
fn generate_rd_last_modified_is_now_also_under_its_short_name() {
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
fn rename_attribute_renames_the_author() {
    let bench = Bench::new(
        "Generate fn=extract-html-meta\nGenerate fn=rename-attribute src=\"author->author-name\"",
    );
    let description = bench.describe(&mut html("<meta name=author content=Anna>"));
    assert_eq!(description.value("author-name"), Some("Anna"));
    assert_eq!(description.value("author"), None);
}

#[test]
fn extract_full_text_returns_all_text() {
    let bench = Bench::new("Generate fn=extract-full-text");
    let page = "<title>T</title><h1>A</h1><p>b <b>c</b></p><script>no</script>";
    let description = bench.describe(&mut html(page));
    assert_eq!(description.value("full-text"), Some("A\nb c"));
    let cut = Bench::new("Generate fn=extract-full-text truncate=2 dst=body");
    let mut text = with("http://h.example/", "text/plain; charset=utf-8", "äöü");
    assert_eq!(cut.describe(&mut text).value("body"), Some("äö"));
}

#[test]
fn extract_full_text_can_be_limited_to_the_main_part() {
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
fn extract_html_meta_returns_title_and_tags() {
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
        "pages cannot set their own checksum"
    );
    assert_eq!(description.value("refresh"), None);
    let mut other = with("http://h.example/", "application/xhtml+xml", &body);
    assert_eq!(bench.describe(&mut other).title(), "");
}

#[test]
fn extract_html_text_can_skip_headings() {
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
fn extract_html_toc_returns_headings_down_to_a_level() {
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
fn extract_source_accepts_a_list_of_sources() {
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
fn harvest_summarizer_adds_the_program_output() {
    let bench = Bench::new("Generate fn-harvest-summarizer summarizer=HTML.sum");
    let description = bench.describe(&mut html("x"));
    assert_eq!(description.value("author"), Some("Anna"));
    assert_eq!(description.title(), "a\nb");
    // The robot processes other pages while waiting for the program.
    assert!(bench.filter.waits());
    assert!(!Bench::new("Generate fn=extract-full-text").filter.waits());
}
