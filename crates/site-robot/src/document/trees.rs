//! Tests of the content tree of a page.

use super::{ContentSelection, Page};
use crate::content_tree::{ContentTree, Definition, Line, Piece, Run, TableCell};

fn matter(html: &str) -> ContentTree {
    let own = "https://a.example/d/p".parse().unwrap();
    Page::read(html).content_tree(ContentSelection::Main, &own)
}

/// Returns a page's content tree in a short notation.
fn told(html: &str) -> String {
    all(&matter(html).pieces)
}

fn all(pieces: &[Piece]) -> String {
    pieces.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn one(piece: &Piece) -> String {
    match piece {
        Piece::Heading(level, line) => format!("h{level}({})", runs(line)),
        Piece::Paragraph(line) => format!("p({})", runs(line)),
        Piece::Code { language, text } => format!("{language}`{text}`"),
        Piece::Quote(pieces) => format!("q({})", all(pieces)),
        Piece::List { start, items } => {
            let mark = start.map_or("u".to_owned(), |start| format!("o{start}"));
            let items: Vec<_> = items.iter().map(|item| all(item)).collect();
            format!("{mark}({})", items.join(" / "))
        }
        Piece::Definitions(list) => {
            let mark = |it: &Definition| if it.is_term { "T" } else { "D" };
            let list: Vec<_> = list
                .iter()
                .map(|it| format!("{}({})", mark(it), all(&it.pieces)))
                .collect();
            list.join(" ")
        }
        Piece::Table { caption, rows } => {
            let cell = |cell: &TableCell| {
                let mark = if cell.is_header { "!" } else { "" };
                format!("{mark}{}", runs(&cell.line))
            };
            let row = |row: &Vec<TableCell>| row.iter().map(cell).collect::<Vec<_>>().join("|");
            let rows: Vec<_> = rows.iter().map(row).collect();
            format!("t[{}]({})", runs(caption), rows.join(" / "))
        }
        Piece::Figure(pieces, caption) => format!("f({})[{}]", all(pieces), runs(caption)),
    }
}

fn runs(line: &Line) -> String {
    let run = |run: &Run| match run {
        Run::Text(text, style) => {
            let mut text = text.clone();
            for (is, mark) in [
                (style.is_code, "`"),
                (style.is_emphasis, "_"),
                (style.is_strong, "*"),
            ] {
                if is {
                    text = format!("{mark}{text}{mark}");
                }
            }
            match &style.link {
                Some(link) if link.is_nofollow => format!("<{}!{text}>", link.url),
                Some(link) => format!("<{} {text}>", link.url),
                None => text,
            }
        }
        Run::Image(url, alt, _) => format!("img({url} {alt})"),
        Run::Break => "\\".to_owned(),
    };
    line.runs.iter().map(run).collect()
}

macro_rules! trees {
    ($($name:ident { $($html:expr => $told:expr;)* })*) => {$(
        #[test]
        fn $name() {
            $(assert_eq!(told($html), $told, "{}", $html);)*
        }
    )*};
}

trees! {
    lists_nest_and_keep_their_order {
        "<ul><li>a<li>b<ul><li>c</ul></ul>d" => "u(p(a) / p(b) u(p(c))) p(d)";
        "<ol start=3><li><p>a<p>b<li>c</ol>" => "o3(p(a) p(b) / p(c))";
        "<ul><li>a</li><ul><li>b</ul><li>c</ul>" => "u(p(a) u(p(b)) / p(c))";
        "<li>a<li>b" => "u(p(a) / p(b))";
        "<ul><li></ul>a" => "p(a)";
        "<dl><dt>a<dd>b<p>c<dt>d<dd><ul><li>e</ul></dl>" => "T(p(a)) D(p(b) p(c)) T(p(d)) D(u(p(e)))";
        "<dl><dd>a</dl>" => "p(a)";
    }
    tables_have_headers_and_captions {
        "<table><caption>C</caption><tr><th>a<th>b<tr><td>c<td><b>d</b></table>"
            => "t[C](!a|!b / c|*d*)";
        "<table><tr><td>a<td>b<tr><td><td>c</table>" => "t[](a|b / |c)";
        "<table><tr><td colspan=2>a<td>b<tr><td>c<td>d<td>e</table>" => "t[](a||b / c|d|e)";
        "<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d<td>e</table>" => "t[](a|b / |c / d|e)";
        "<table><tr><td>a<td><p>b<p>c</table>" => "t[](a|b\\c)";
        "<table><tr><td>a<td><ul><li>b<li>c</ul></table>" => "t[](a|b\\c)";
        "<table><tr><td>a<td><h2>b</h2></table>" => "p(a) h2(b)";
        "<table><tr><td>a<tr><td>b</table>" => "p(a) p(b)";
        "<table role=presentation><tr><td>a<td>b</table>" => "p(a) p(b)";
        "<table><tr><td>a<td><pre>b c</pre></table>" => "t[](a|`b c`)";
        "<table><tr><td>a<td><pre>b\nc</pre></table>" => "p(a) `b\nc`";
        "<table><tr><td><h3>a</h3><tr><td>b<td>c<tr><td>d<td>e<tr><td>f<td>g</table>"
            => "t[](a| / b|c / d|e / f|g)";
    }
    code_keeps_its_lines {
        "<pre><code class='language-rust'>fn a() {\n    b\n}\n</code></pre>x" => "rust`fn a() {\n    b\n}` p(x)";
        "<pre class='prettyprint lang-config'>a <b>b</b>\n\tc</pre>" => "config`a b\n\tc`";
        "<div class='highlight-python notranslate'><pre>a</pre></div><pre>b</pre>" => "python`a` `b`";
        "<pre>\n\na<br>b</pre>" => "`\na\nb`";
        "<pre> \n</pre>a" => "p(a)";
        "<ul><li>a<pre>b</pre></ul>" => "u(p(a) `b`)";
    }
    styles_exclude_surrounding_white_space {
        "a<b> b </b>c <em><strong>d</strong></em>" => "a *b* c *_d_*".replace('a', "p(a") + ")";
        "<code>a <i>b</i></code>" => "p(`a` _`b`_)";
        "<b>a</b><b>b</b>" => "p(*ab*)";
        "a<br>b<br>" => "p(a\\b)";
        "<b><p>a</p></b>b" => "p(*a*) p(b)";
    }
    links_are_absolute_and_safe {
        "<a href=../x>a <b>b</b></a> c" => "p(<https://a.example/x a ><https://a.example/x *b*> c)";
        "<a rel=nofollow href=//b.example>a</a>" => "p(<https://b.example/!a>)";
        "<a href='javascript:x'>a</a><a href='#b'>b</a><a name=c>c</a><a href='data:,x'>d</a>" => "p(abcd)";
        "<base href=http://c.example/><a href=x>a</a>" => "p(<http://c.example/x a>)";
        "<a href='MAILTO:me@a.example'>a</a>" => "p(<mailto:me@a.example a>)";
        "<a href=x><p>a</p></a>" => "p(<https://a.example/d/x a>)";
    }
    pictures_have_alternative_text_and_captions {
        "<figure><img src=i.png alt='A  b'><figcaption>C</figcaption></figure>"
            => "f(p(img(https://a.example/d/i.png A b)))[C]";
        "a <img src=i alt> b" => "p(a b)";
        "<img src='data:x' alt=a>" => "p(img( a))";
        "<div hidden><img alt=a src=x></div><img alt=b src=x hidden>c<img alt=d src=x aria-hidden=true>" => "p(c)";
    }
    style_that_ends_after_its_words_is_preserved {
        "<b>a </b> <p>b" => "p(*a*) p(b)";
        "<ol><li><strong>a?\n</strong>\n<p>b</ol>" => "o1(p(*a?*) p(b))";
        "<a href=/x>a </a> <ul><li>b</ul>" => "p(<https://a.example/x a>) u(p(b))";
    }
    quotations_and_headings_keep_their_order {
        "<h1>a</h1><blockquote><p>b<h2>c</h2></blockquote>d" => "h1(a) q(p(b) h2(c)) p(d)";
        "<h2>a<a class=headerlink href='#a'>¶</a></h2>b" => "h2(a) p(b)";
        "<p>&nbsp;<p>a" => "p(a)";
    }
}

#[test]
fn hostile_nesting_is_bounded() {
    for part in [
        "<ul><li>",
        "<blockquote>",
        "<table><tr><td>",
        "<dl><dd>",
        "<figure>",
        "<b><i>",
    ] {
        let html = format!("{}a", part.repeat(30_000));
        let tree = matter(&html);
        let told = tree.marked('\t', None);
        assert_eq!(
            ContentTree::read(&told.text, &told.marks),
            Some(tree),
            "{part}"
        );
    }
    let wide = "<table><tr>".to_owned() + &"<td colspan=1000000 rowspan=9999999>a".repeat(500);
    let told = matter(&wide).marked('\t', None);
    assert!(ContentTree::read(&told.text, &told.marks).is_some());
}
