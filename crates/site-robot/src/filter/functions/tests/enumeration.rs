//! Tests of functions that find links.

use super::*;

#[test]
fn enumerate_urls_returns_the_links_of_html() {
    let bench = Bench::new("Enumerate fn=enumerate-urls type=text/html");
    let body = "<a href=b>b</a> <a href=b>again</a> <iframe src=/c></iframe>";
    assert_eq!(bench.links(&mut html(body)), ["b", "/c"]);
    let mut other = with("http://h.example/", "application/xhtml+xml", body);
    assert!(
        bench.links(&mut other).is_empty(),
        "resources of another type have no links"
    );
    let many = (0..2000)
        .map(|at| format!("<a href={at}>x</a>"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(bench.links(&mut html(&many)).len(), 1024);
    let few = Bench::new("Enumerate enable=true fn=enumerate-urls max=3 type=text/html");
    assert_eq!(few.links(&mut html(&many)), ["0", "1", "2"]);
}

#[test]
fn xhtml_script_may_be_self_closing() {
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
fn enumerate_urls_ignores_fragments() {
    let bench = Bench::new("Enumerate fn=enumerate-urls max=2");
    let body = "<a href=#1>1</a><a href=#2>2</a><a href=a#1>a</a><a href=a#2>a</a>\
                <a href=a>a</a><a href=b>b</a><a href=c>c</a>";
    assert_eq!(bench.links(&mut html(body)), ["a#1", "b"]);
    let again = "<a rel=nofollow href=a>a</a><a href=a#top>a</a>";
    assert_eq!(bench.links(&mut html(again)), ["a", "a#top"]);
}

#[test]
fn enumerate_urls_from_text_returns_urls_after_the_label() {
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
