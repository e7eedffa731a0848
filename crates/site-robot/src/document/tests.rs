//! Tests of the page parser, including arbitrary input.

use std::fmt::Write as _;

use proptest::prelude::*;
use url::Url;

use super::*;

/// Returns the blocks of a page; headings are prefixed with their level.
fn blocks(html: &str) -> Vec<String> {
    let page = Page::read(html);
    let shown = page.blocks.iter().map(|block| match block.kind {
        BlockKind::Heading(level) => format!("{level} {}", block.text),
        BlockKind::Text | BlockKind::Code => block.text.clone(),
    });
    shown.collect()
}

fn links(html: &str) -> Vec<String> {
    Page::read(html)
        .links
        .into_iter()
        .map(|link| link.url)
        .collect()
}

macro_rules! blocks {
    ($($name:ident { $($html:expr => [$($block:expr),*];)* })*) => {$(
        #[test]
        fn $name() {
            $(assert_eq!(blocks($html), [$($block),*] as [&str; _], "{}", $html);)*
        }
    )*};
}

blocks! {
    inline_elements_join_and_blocks_do_not {
        "<b>a</b>b" => ["ab"];
        "<p>a <b> b</b>\n c</p>" => ["a b c"];
        "<div>a<div>b</div>c</div>" => ["a", "b", "c"];
        "a<br>b<br/>c" => ["a b c"];
        "a<hr>b" => ["a", "b"];
        "a<unknown>b</unknown>c" => ["abc"];
        "a<img alt=x>b<wbr>c" => ["abc"];
        "a<!-- x -->b" => ["ab"];
        "<pre>\na\n  b</pre>c" => ["a\n  b", "c"];
        "<pre>a<div>b</div><b>c</b>\n\n</pre>d" => ["a\nb\nc", "d"];
    }
    omitted_end_tags_are_implied {
        "<p>a<p>b<ul><li>c<li>d<ul><li>e</ul></ul>f" => ["a", "b", "c", "d", "e", "f"];
        "<table><tr><td>a<td>b<tr><th>c</table>d" => ["a", "b", "c", "d"];
        "<dl><dt>a<dd>b<dt>c</dl>" => ["a", "b", "c"];
        "<p>a</div>b" => ["ab"];
        "a</p>b" => ["a", "b"];
    }
    headings_have_levels {
        "<h1>a</h1><h2>b <i>c</i></h2>d" => ["1 a", "2 b c", "d"];
        "<h1>a</h2>b" => ["1 a", "b"];
        "<h1><div>a</div><div>b</div></h1>c" => ["1 a b", "c"];
        "<h1>a<p>b" => ["1 a", "b"];
        "<h2><p>a</p></h2>b" => ["2 a", "b"];
        "<h1>a<h2>b</h2>c" => ["1 a", "2 b", "c"];
        "<h1></h1><h7>a</h7>" => ["a"];
    }
    references_are_decoded {
        "&lt;b&gt; &amp; &eacute;&#x41;&#66; &copy 2026 &unknown;" => ["<b> & éAB © 2026 &unknown;"];
        "a&nbsp;b" => ["a\u{A0}b"];
    }
    hidden_elements_have_no_text {
        "a<script>x<p>y</script>b<style>z</style>c" => ["abc"];
        "a<template>x<p>y</template>b" => ["ab"];
        "a<svg><title>x</title><text>y</text><style><p></style></svg>b" => ["a", "b"];
        "a<svg><text>x</text></svg>b" => ["ab"];
        "<div>a<svg><g>x</div>b" => ["a", "b"];
        "a<noscript>x<div>y</noscript>b" => ["ab"];
        "<div hidden>x<p>y<div>z</div></div>a" => ["a"];
        "<p hidden>x<p>a" => ["a"];
        "<ul><li hidden>x<li>a</ul>" => ["a"];
        "<p hidden=until-found>x<div>a</div>" => ["a"];
        "a <span data-nosnippet>x</span>b" => ["a b"];
        "<div data-nosnippet=false>x</div><section DATA-NOSNIPPET>x</section>a" => ["a"];
        "<p data-nosnippet>x</p>a<li data-nosnippet>x" => ["a"];
        "<p aria-hidden=TRUE>x</p><p aria-hidden=false>a</p>" => ["a"];
        "<div style='color: red; DISPLAY : none !important'>x</div>a" => ["a"];
        "<div style='display:block'>a</div>" => ["a"];
        "<span hidden>x</span>a" => ["a"];
        "<br hidden>a" => ["a"];
        "a<div hidden>x<p>y</div>b" => ["ab"];
        "a<noscript><nav>x</nav><hr></p><xmp>y</xmp></noscript>b" => ["ab"];
        "<select><option>x<option>y</select>a<textarea><b>z</textarea>b" => ["ab"];
        "<iframe>x<p></iframe>a<object>y</object><video>z</video>" => ["a"];
        "<dialog>x</dialog><dialog open>a</dialog>" => ["a"];
        "<head><title>x</title></head><body>a" => ["a"];
        "<math><mi>a</mi><annotation>x</annotation></math>" => ["a"];
        "<svg><p>a" => ["a"];
        "a<svg/>b<math/>c" => ["abc"];
        "a<ruby>b<rp>(</rp><rt>c</rt><rp>)</rp></ruby>" => ["abc"];
    }
    text_without_tags_is_text {
        "<xmp><b>a</xmp>b" => ["<b>a", "b"];
        "<plaintext>a</plaintext><b>" => ["a</plaintext><b>"];
        "a < b & c" => ["a < b & c"];
        "" => [];
    }
}

#[test]
fn head_and_metas_are_read() {
    let page = Page::read(
        "<!DOCTYPE html><HTML LANG=' en '><title> A \n<b>&amp; B</title><title>no</title>\
         <svg><title>no</title></svg><base href='/b/'><base href=/no>\
         <link rel='Canonical' href=' http://h/c '><link rel=canonical href=no>\
         <meta name=' Description ' content=' x &lt; y '><meta property=og:title content=T>\
         <meta http-equiv=Content-Language content=de><meta name=empty content>\
         <meta name=none><meta content=none><template><meta name=no content=no></template>",
    );
    assert_eq!(page.title.as_deref(), Some("A <b>& B"));
    assert_eq!(page.language.as_deref(), Some("en"));
    assert_eq!(page.base.as_deref(), Some("/b/"));
    assert_eq!(page.canonical.as_deref(), Some("http://h/c"));
    assert_eq!(page.meta("description"), Some("x < y"));
    let names: Vec<_> = page.metas.iter().map(|meta| meta.name.as_str()).collect();
    assert_eq!(
        names,
        ["description", "og:title", "content-language", "empty"]
    );
    assert!(page.metas[2].is_http_equiv);
    assert_eq!(page.meta("content-language"), None);
}

#[test]
fn xhtml_elements_may_be_self_closing() {
    let xhtml = "<html><head><title/><script src='x'/></head><p/>a<br/>b<a name='x'/>\
                 <div/>c<hr/><![CDATA[<d>]]></html>";
    let page = Page::read_xhtml(xhtml);
    assert_eq!(page.text(), "a b\nc\n<d>");
    assert_eq!(Page::read("<script/>a").text(), "");
}

#[test]
fn links_are_found_in_many_elements() {
    let page = Page::read(
        "<link rel='stylesheet' href=s><link rel='alternate stylesheet' href=s>\
         <link rel=Next href=n><link rel=alternate type='application/RSS+xml' href=f>\
         <meta http-equiv=Refresh content='0; URL=r'>\
         <a name=x>no</a><a href=' a&amp;b\n'>x</a><a href>empty</a>\
         <A HREF=c REL='noopener NoFollow'>x</a><map><area href=d></map>\
         <frame src=e><iframe src=g></iframe><iframe src></iframe>\
         <noscript><a href=h></a></noscript><template><a href=no></a></template>\
         <svg><a xlink:href=i></a></svg><div hidden><a href=j></a></div>\
         <!-- <a href=no> --><script>'<a href=no>'</script>",
    );
    let found: Vec<_> = page
        .links
        .iter()
        .map(|link| (link.url.as_str(), link.kind))
        .collect();
    let anchor = |url| (url, LinkKind::Anchor);
    assert_eq!(
        found,
        [
            ("n", LinkKind::Relation),
            ("f", LinkKind::Relation),
            ("r", LinkKind::Refresh),
            anchor("a&b"),
            anchor(""),
            anchor("c"),
            anchor("d"),
            ("e", LinkKind::Frame),
            ("g", LinkKind::Frame),
            anchor("h"),
            anchor("i"),
            anchor("j"),
        ]
    );
    let nofollow = page.links.iter().filter(|link| link.is_nofollow);
    assert_eq!(
        nofollow.map(|link| link.url.as_str()).collect::<Vec<_>>(),
        ["c"]
    );
    assert_eq!(
        page.links[1].media_type.as_deref(),
        Some("application/rss+xml")
    );
}

#[test]
fn first_text_comes_from_the_main_part() {
    let page = Page::read(
        "<header><h1>Site</h1><p>Log in</p></header><nav><p>Menu</p></nav>\
         <p>Loose</p><main><header><p>By me</p></header><h2>Head</h2><p>The text\
         <aside>Aside</aside></main><div role=navigation>Next</div><footer>Foot</footer>",
    );
    let places: Vec<_> = page
        .blocks
        .iter()
        .map(|it| (it.text.as_str(), it.place))
        .collect();
    assert_eq!(
        places,
        [
            ("Site", PagePart::Around),
            ("Log in", PagePart::Around),
            ("Menu", PagePart::Around),
            ("Loose", PagePart::Body),
            ("By me", PagePart::Main),
            ("Head", PagePart::Main),
            ("The text", PagePart::Main),
            ("Aside", PagePart::Around),
            ("Next", PagePart::Around),
            ("Foot", PagePart::Around),
        ]
    );
    assert_eq!(page.first_text(100), "By me\nThe text");
    assert_eq!(page.first_text(10), "By me\nThe");
    assert_eq!(page.first_text_and_headings(100), "By me\nHead\nThe text");
    assert_eq!(
        page.headings(2).collect::<Vec<_>>(),
        [(1, "Site"), (2, "Head")]
    );
    assert_eq!(page.headings(1).count(), 1);
    let page = Page::read("<nav>Menu</nav><p>One</p><p>Two</p>");
    assert_eq!(page.first_text(100), "One\nTwo");
    assert_eq!(Page::read("<nav>Menu</nav>").first_text(100), "Menu");
    assert_eq!(Page::default().first_text(100), "");
}

#[test]
fn only_visible_password_fields_count() {
    for (html, asks) in [
        ("<form><input type=Password></form>", true),
        ("<input type=text>", false),
        ("<div hidden><input type=password></div>", false),
        ("<input type=password style='display: none'>", false),
        ("<template><input type=password></template>", false),
    ] {
        assert_eq!(Page::read(html).asks_password, asks, "{html}");
    }
}

#[test]
fn hostile_pages_are_read_once_within_limits() {
    let many = |part: &str| part.repeat(30_000);
    for html in [
        format!("{}a{}", many("<div>"), many("</div>")),
        format!("{}{}", many("<b>"), many("</i>")),
        format!("<p><button>{}{}", "<i>".repeat(300), many("<div></div>")),
        format!("<a {}", many("x=y ")),
        format!("<a href={}>", many("x")),
        format!("<{}>", many("x")),
        many("<li>"),
        many("<table><tr><td>"),
        many("<svg><p>"),
        many("<h1>a"),
        many("<p hidden>a"),
        many("<!--"),
        many("<title>"),
        many("&amp"),
        many("<a href=x>y"),
        many("<meta name=a content=b>"),
    ] {
        let page = Page::read(&html);
        assert!(page.links.len() <= 10_000 && page.metas.len() <= 1_000);
        assert!(page.blocks.len() <= 50_000);
    }
    assert_eq!(Page::read(&many("<a href=x>y")).links.len(), 10_000);
    assert_eq!(
        blocks(&format!("{}a{}b", many("<div>"), many("</div>"))),
        ["a", "b"]
    );
}

#[test]
fn first_source_of_the_encoding_counts() {
    let case = |bytes: &[u8], content_type: Option<&str>, charset: &str, text: &str| {
        let decoded = decode(bytes, content_type, None);
        assert_eq!(
            (decoded.charset, &*decoded.text),
            (charset, text),
            "{bytes:?}"
        );
    };
    let html = Some("text/html");
    case(b"", None, "UTF-8", "");
    case(
        "\u{FEFF}ä".as_bytes(),
        Some("text/html; charset=koi8-r"),
        "UTF-8",
        "ä",
    );
    case(b"\xFF\xFEa\0", None, "UTF-16LE", "a");
    case(b"\xFE\xFF\0a", None, "UTF-16BE", "a");
    case(
        b"\xE4",
        Some("text/html; Charset=\"ISO-8859-1\""),
        "windows-1252",
        "ä",
    );
    case(
        b"\xE4",
        Some("text/plain;charset='latin1';x=y"),
        "windows-1252",
        "ä",
    );
    case(
        "ä".as_bytes(),
        Some("text/html; charset=unknown"),
        "UTF-8",
        "ä",
    );
    case("ä".as_bytes(), html, "UTF-8", "ä");
    case(
        b"\xE4\xF6\xFC und mehr",
        html,
        "windows-1252",
        "äöü und mehr",
    );
}

#[test]
fn declaration_counts_without_a_charset_header() {
    let case = |bytes: &[u8], content_type: Option<&str>, charset: &str, text: &str| {
        let decoded = decode(bytes, content_type, None);
        assert_eq!(
            (decoded.charset, &*decoded.text),
            (charset, text),
            "{bytes:?}"
        );
    };
    let html = Some("text/html");
    let meta = "<META CHARSET = 'koi8-r' >";
    let koi8 = [meta.as_bytes(), b"\xCD"].concat();
    case(&koi8, html, "KOI8-R", &format!("{meta}м"));
    case(&koi8, None, "KOI8-R", &format!("{meta}м"));
    let xml = "<?xml version='1.0' encoding='windows-1251'?>";
    case(
        &[xml.as_bytes(), b"\xEC"].concat(),
        Some("application/rss+xml"),
        "windows-1251",
        &format!("{xml}м"),
    );
    case(
        b"\xFF\xE4",
        Some("text/html;charset=utf-8"),
        "UTF-8",
        "\u{FFFD}\u{FFFD}",
    );
    // A declaration inside an example text is ignored.
    case(
        b"<meta charset=koi8-r> \xE4 gr\xFC\xDFe",
        Some("text/plain"),
        "windows-1252",
        "<meta charset=koi8-r> ä grüße",
    );
}

#[test]
fn declarations_are_parsed_as_in_browsers() {
    for (html, charset) in [
        (
            "<meta http-equiv='content-type' content='text/html; charset=Shift_JIS'>",
            "Shift_JIS",
        ),
        (
            "<meta content='a charset b; charset = \"gb2312\"' http-equiv=Content-Type>",
            "GBK",
        ),
        ("<!-- <meta charset=koi8-r> --><meta charset=big5>", "Big5"),
        ("<!--><meta charset=big5>", "Big5"),
        (
            "<a title='<meta charset=koi8-r>'><meta charset=euc-jp>",
            "EUC-JP",
        ),
        ("</a x='>'><meta charset=euc-kr>", "EUC-KR"),
        ("<?x <meta charset=koi8-r> ?>", "UTF-8"),
        ("<meta charset=utf-16><meta charset=koi8-r>", "UTF-8"),
        ("<meta charset=nonsense><meta charset=koi8-r>", "KOI8-R"),
        ("<meta charset=iso-2022-kr>", "UTF-8"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<meta content='text/html; charset=koi8-r'>", "UTF-8"),
        ("<metacharset=koi8-r>", "UTF-8"),
        ("<meta/charset=koi8-r/>", "UTF-8"),
        ("<meta/charset=koi8-r>", "KOI8-R"),
        ("<meta charset=\"koi8-r", "UTF-8"),
        ("<meta", "UTF-8"),
    ] {
        assert_eq!(
            decode(html.as_bytes(), None, None).charset,
            charset,
            "{html}"
        );
    }
    let late = format!("{}<meta charset=koi8-r>", " ".repeat(1100));
    assert_eq!(decode(late.as_bytes(), None, None).charset, "UTF-8");
    let late = [late.as_bytes(), b"\xCD"].concat();
    assert_eq!(decode(&late, None, None).charset, "KOI8-R");
}

#[test]
fn undeclared_encodings_are_guessed() {
    for (label, text, tld) in [
        (
            "shift_jis",
            "日本語のページです。これは文字コードのテストです。",
            Some("jp"),
        ),
        (
            "euc-jp",
            "日本語のページです。これは文字コードのテストです。",
            None,
        ),
        ("iso-2022-jp", "日本語のページです。", Some("JP")),
        (
            "windows-1251",
            "Это страница на русском языке, без указания кодировки.",
            Some("ru"),
        ),
        (
            "koi8-r",
            "Это страница на русском языке, без указания кодировки.",
            Some("ru"),
        ),
        (
            "gbk",
            "这是一个没有声明编码的中文网页。我们需要猜测它的编码。",
            Some("cn"),
        ),
        (
            "big5",
            "這是一個沒有宣告編碼的中文網頁。我們需要猜測它的編碼。",
            Some("tw"),
        ),
        (
            "iso-8859-2",
            "Příliš žluťoučký kůň úpěl ďábelské ódy",
            Some("cz"),
        ),
        (
            "windows-1253",
            "Αυτή είναι μια σελίδα στα ελληνικά",
            Some("gr"),
        ),
    ] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let (bytes, _, _) = encoding.encode(text);
        assert_eq!(decode(&bytes, Some("text/html"), tld).text, text, "{label}");
    }
    // Unusual host names must not cause a panic.
    for tld in ["", "A.B", "ä", "XN--P1AI", "[::1]"] {
        assert!(!decode(b"\xE4\xF6", None, Some(tld)).text.is_empty());
    }
}

#[test]
fn links_are_normalized() {
    let base = Url::parse("http://h.example/a/b?q#f").unwrap();
    for (link, url) in [
        ("", Some("http://h.example/a/b?q")),
        ("c", Some("http://h.example/a/c")),
        ("?x", Some("http://h.example/a/b?x")),
        ("#x", Some("http://h.example/a/b?q")),
        ("//other.example", Some("http://other.example/")),
        ("../../../../etc", Some("http://h.example/etc")),
        ("%2e%2E/%2E./x", Some("http://h.example/x")),
        (" \n/x\ty\r\nz ", Some("http://h.example/xyz")),
        ("HTTPS://H.Example.:443/", Some("https://h.example/")),
        ("http://h.example:80/", Some("http://h.example/")),
        ("http://h.example:8080/", Some("http://h.example:8080/")),
        ("http://me:secret@h.example/", Some("http://h.example/")),
        (
            "/%7euser/%e4%C3?%3a=%41",
            Some("http://h.example/~user/%E4%C3?%3A=A"),
        ),
        ("/%2fx%252e", Some("http://h.example/%2Fx%252e")),
        ("/100%?%zz%4", Some("http://h.example/100%25?%25zz%254")),
        ("/ä b", Some("http://h.example/%C3%A4%20b")),
        (
            "http://bücher.example/",
            Some("http://xn--bcher-kva.example/"),
        ),
        ("http://0x7f.1/", Some("http://127.0.0.1/")),
        ("http:c", Some("http://h.example/a/c")),
        ("\\c", Some("http://h.example/c")),
        ("mailto:me@h.example", None),
        ("javascript:void(0)", None),
        ("data:text/html,x", None),
        ("file:///etc/passwd", None),
        ("ftp://h.example/", None),
        ("http://", None),
        ("http://./", None),
        ("http://h.example:99999/", None),
    ] {
        let found = resolve(&base, link);
        assert_eq!(found.as_ref().map(Url::as_str), url, "{link:?}");
    }
    let file = Url::parse("file:///srv/a").unwrap();
    let url = |link| resolve(&file, link).map(String::from);
    assert_eq!(url("../../b%41#x").as_deref(), Some("file:///bA"));
    assert_eq!(
        url("http://h.example").as_deref(),
        Some("http://h.example/")
    );
    assert_eq!(url("file://other.example/b"), None);
    assert!(resolve(&base, &"x".repeat(MAX_URL_BYTES)).is_none());
    assert!(resolve(&base, &"x".repeat(MAX_URL_BYTES - 100)).is_some());
}

#[test]
fn links_are_resolved_against_the_base() {
    let own = Url::parse("http://h.example/a/b").unwrap();
    for (html, base) in [
        ("", "http://h.example/a/b"),
        ("<base href=../c/>", "http://h.example/c/"),
        (
            "<base target=x><base href=//o.example/>",
            "http://o.example/",
        ),
        ("<base href=file:///etc/>", "http://h.example/a/b"),
        ("<base href=javascript:x>", "http://h.example/a/b"),
        ("<base href=http://>", "http://h.example/a/b"),
    ] {
        assert_eq!(Page::read(html).base_url(&own).as_str(), base, "{html}");
    }
}

#[test]
fn session_ids_are_removed() {
    for (url, clean) in [
        ("http://h/?PHPSESSID=1", "http://h/"),
        ("http://h/?a=1&PHPSESSID=1&b=2", "http://h/?a=1&b=2"),
        ("http://h/a;jsessionid=1?b", "http://h/a?b"),
        ("http://h/a;JSESSIONID=1;v=2/c", "http://h/a;v=2/c"),
        ("http://h/(S(abc123))/a", "http://h/a"),
        ("http://h/?ASPSESSIONIDABCDEFGH=x", "http://h/"),
        ("http://h/?sid=0123456789abcdef", "http://h/"),
    ] {
        let url: Url = url.parse().unwrap();
        assert_eq!(without_session(&url).as_str(), clean);
        assert!(has_session(&url));
    }
    for url in [
        "http://h/?sid=12",
        "http://h/?side=1&b",
        "http://h/a;b(c)",
        "http://h/?sid",
        "http://h/?",
    ] {
        let url: Url = url.parse().unwrap();
        assert_eq!(without_session(&url), url);
    }
}

proptest! {
    #[test]
    fn arbitrary_html_is_parsed_and_folded(html in "(<[a-z/!]{0,3}[ =\"'a-z]{0,9}>?|&[a-z#0-9]{0,4};?|\\PC{0,9}|[ \\n]){0,40}") {
        let page = Page::read(&html);
        for block in &page.blocks {
            let is_folded = !block.text.contains("  ") && !block.text.contains('\n');
            prop_assert!(is_folded || block.kind == BlockKind::Code);
        }
        let first = page.first_text(20);
        prop_assert!(first.chars().count() <= 20);
        prop_assert!(page.text().contains(first.lines().next().unwrap_or_default()));
    }

    #[test]
    fn arbitrary_bytes_are_decoded(bytes in prop::collection::vec(any::<u8>(), 0..200), tld in "\\PC{0,4}") {
        let decoded = decode(&bytes, None, Some(&tld));
        prop_assert!(encoding_rs::Encoding::for_label(decoded.charset.as_bytes()).is_some());
        let _ = (Sitemap::read(&decoded.text), Feed::read(&decoded.text));
    }

    #[test]
    fn text_of_words_survives_any_markup(words in prop::collection::vec("[a-z]{1,8}", 1..20)) {
        let mut html = String::new();
        for word in &words {
            write!(html, "<p>{word}</p>").unwrap();
        }
        prop_assert_eq!(blocks(&html), words);
    }

    #[test]
    fn normalization_is_idempotent(link in "(%[0-9A-Fa-f]{0,2}|[a-z./?&=;:#@\\\\\\[\\] ]|\\PC){0,30}") {
        let base = Url::parse("http://h.example/a/b").unwrap();
        if let Some(url) = resolve(&base, &link) {
            prop_assert!(matches!(url.scheme(), "http" | "https"));
            prop_assert_eq!(url.fragment(), None);
            prop_assert_eq!(resolve(&base, url.as_str()), Some(url.clone()));
            let clean = without_session(&url);
            prop_assert_eq!(&without_session(&clean), &clean);
            prop_assert!(!has_session(&clean));
        }
    }
}

#[test]
fn long_page_keeps_its_first_links() {
    let found = links(&"<a href=a><a href=b>".repeat(6_000));
    assert_eq!((found.len(), found[1].as_str()), (10_000, "b"));
}
