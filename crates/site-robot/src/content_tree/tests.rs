//! Tests that a content tree survives the conversion to text and marks.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn again(matter: &ContentTree, max_chars: Option<usize>) -> Option<ContentTree> {
    let told = matter.marked('\t', max_chars);
    ContentTree::read(&told.text, &told.marks)
}

/// Generates text runs with styles that occur on pages.
pub(crate) fn line() -> impl Strategy<Value = Line> {
    let links = [
        "https://a.example/b",
        "http://b.example/?a(b)&c*d_e",
        "mailto:me@a.example",
    ];
    let link = prop::option::weighted(0.3, (prop::sample::select(links.to_vec()), any::<bool>()));
    let style = (link, any::<bool>(), any::<bool>(), any::<bool>());
    let style = style.prop_map(|(link, is_strong, is_emphasis, is_code)| Style {
        link: link.map(|(url, is_nofollow)| {
            Arc::new(Link {
                url: url.to_owned(),
                is_nofollow,
            })
        }),
        is_strong,
        is_emphasis,
        is_code,
    });
    let text =
        prop::string::string_regex("([a-z]|[0-9]|日|é| |[*_`\\[\\]()<>&#+.!|~\\\\\"':/=-]){1,8}");
    let text = (text.unwrap(), style.clone()).prop_map(|(text, style)| Run::Text(text, style));
    let image = ("[a-z*\\]]{1,5}", style)
        .prop_map(|(alt, style)| Run::Image("https://a.example/i.png".to_owned(), alt, style));
    let run = prop_oneof![8 => text, 1 => image, 1 => Just(Run::Break)];
    prop::collection::vec(run, 1..6)
        .prop_map(folded)
        .prop_filter("not empty", |line| !line.is_empty())
}

/// Returns a line in its normal form, with single spaces between words.
fn folded(runs: Vec<Run>) -> Line {
    let mut is_spaced = true;
    let mut fold = |run| match run {
        Run::Text(text, style) => {
            let mut folded = String::new();
            for c in text.chars() {
                if c != ' ' || !is_spaced {
                    folded.push(c);
                }
                is_spaced = c == ' ';
            }
            Run::Text(folded, style)
        }
        other => other,
    };
    Line::new(runs.into_iter().map(&mut fold).collect())
}

pub(crate) fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let code = ("(|[a-z+]{1,8})", "[ -~\n\t]{0,40}[!-~]");
    let cell = (
        any::<bool>(),
        prop_oneof![1 => Just(Line::default()), 4 => line()],
    );
    let cell = cell.prop_map(|(is_header, line)| TableCell { is_header, line });
    let rows = (2_usize..4).prop_flat_map(move |width| {
        prop::collection::vec(prop::collection::vec(cell.clone(), width), 1..4)
    });
    let caption = || prop_oneof![Just(Line::default()), line()];
    let leaf = prop_oneof![
        (1_u8..=6, line()).prop_map(|(level, line)| Piece::Heading(level, line)),
        line().prop_map(Piece::Paragraph),
        code.prop_map(|(language, text)| Piece::Code { language, text }),
        (caption(), rows).prop_map(|(caption, rows)| Piece::Table { caption, rows }),
    ];
    let piece = leaf.prop_recursive(3, 24, 3, move |inner| {
        let all = || prop::collection::vec(inner.clone(), 1..3);
        let items = || prop::collection::vec(all(), 1..4);
        let definition = (any::<bool>(), all());
        let definition = definition.prop_map(|(is_term, pieces)| Definition { is_term, pieces });
        prop_oneof![
            all().prop_map(Piece::Quote),
            (prop::option::of(0_u32..1000), items())
                .prop_map(|(start, items)| Piece::List { start, items }),
            prop::collection::vec(definition, 1..3).prop_map(Piece::Definitions),
            (all(), line()).prop_map(|(pieces, caption)| Piece::Figure(pieces, caption)),
        ]
    });
    prop::collection::vec(piece, 1..5)
}

proptest! {
    #[test]
    fn tree_survives_the_round_trip(pieces in pieces()) {
        let matter = ContentTree { pieces };
        // A tree that contains only pictures and no text has no marks.
        if !matter.marked('\t', None).text.is_empty() {
            prop_assert_eq!(again(&matter, None), Some(matter));
        }
    }

    #[test]
    fn truncated_tree_contains_only_its_text(pieces in pieces(), max in 1_usize..60) {
        let matter = ContentTree { pieces };
        let told = matter.marked('\t', Some(max));
        prop_assert!(told.text.chars().count() <= max);
        let whole = matter.marked('\t', None).text;
        prop_assert!(whole.starts_with(&told.text));
        if !told.text.is_empty() {
            prop_assert!(again(&matter, Some(max)).is_some(), "{}", told.marks);
        }
    }

    #[test]
    fn arbitrary_marks_are_parsed(marks in "([0-9]{0,3}[a-zA-Z/]){0,40}", text in ".{0,40}") {
        let _ = ContentTree::read(&text, &format!("{}{marks}", marks::head(&text)));
    }
}

#[test]
fn marks_of_another_text_are_rejected() {
    let plain = |text: &str| Piece::Paragraph(Line::plain(text));
    let pieces = vec![plain("a"), Piece::Quote(vec![plain("b")])];
    let told = ContentTree { pieces }.marked('\t', None);
    assert!(ContentTree::read(&told.text, &told.marks).is_some());
    for text in ["a\nc", "a\nb ", "a", ""] {
        assert_eq!(ContentTree::read(text, &told.marks), None);
    }
    let deep = format!("{}{}", marks::head("a"), "q".repeat(100_000));
    assert_eq!(ContentTree::read("a", &deep), None);
    assert_eq!(
        ContentTree::read(&told.text, &told.marks.replacen('2', "3", 1)),
        None
    );
}

#[test]
fn marks_of_the_previous_version_are_read() {
    // FNV-1a hash of "a", as published by the authors of the algorithm.
    let marks = "1 1 af63dc4c8601ec8c p1t/";
    let read = ContentTree::read("a", marks).unwrap();
    let plain = Piece::Paragraph(Line::plain("a"));
    assert_eq!(read.pieces, [plain]);
    assert_eq!(ContentTree::read("b", marks), None);
}

#[test]
fn marks_cannot_inject_scripts() {
    let marks = |url: &str| format!("{}p{}a{url}1tx/", marks::head("a"), url.len());
    let has_link = |url: &str| {
        let matter = ContentTree::read("a", &marks(url)).unwrap();
        let [Piece::Paragraph(line)] = &matter.pieces[..] else {
            panic!("not a paragraph");
        };
        matches!(&line.runs[..], [Run::Text(_, style)] if style.link.is_some())
    };
    assert!(has_link("https://a.example/"));
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc",
        "https://a.example/\n",
        "",
    ] {
        assert!(!has_link(url), "{url}");
    }
}
