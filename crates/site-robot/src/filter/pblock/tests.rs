//! Property tests: any input can be parsed, and the normal form is stable.

use proptest::prelude::*;

use crate::filter::{
    ClassificationRules, FilterConf, FilterRules, Filters, Functions, MimeTypes, NoFiles, Note,
    has_error, quoted,
};

/// Generates text by combining typical file content in random order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<Filter name=\"a\">\n"),
        Just("<Filter name=b"),
        Just("</Filter>\n"),
        Just("<Site name=s>\n"),
        Just("</Site>\n"),
        Just("Data fn=generate-md5"),
        Just("Data fn-filter-by-exact src=type deny=\"text/plain\""),
        Just("MetaData fn=filter-by-regex src=host allow="),
        Just("Start url=http://h.example/"),
        Just("Rule src=path operator=regex string="),
        Just("Class name=x src=host operator=is string=a"),
        Just("src=\"a b\""),
        Just("“curly”"),
        Just("\""),
        Just("\\\\*"),
        Just("\\"),
        Just("[[:alpha:]"),
        Just("# comment "),
        Just("enable=off"),
        Just(" = "),
        Just(" "),
        Just("\r\n"),
        Just("\n"),
        Just("\n\n"),
        Just(">"),
        Just("\u{85}"),
        Just("é"),
    ];
    let known = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => known, 1 => "\\PC{0,60}", 1 => any::<String>()]
}

/// Asserts that parsing the normal form yields the same normal form, unless there are errors.
fn is_stable(text: &str, normal: impl Fn(&str) -> (String, Vec<Note>)) {
    let (once, notes) = normal(text);
    if has_error(&notes) {
        return;
    }
    let (twice, notes) = normal(&once);
    assert!(notes.is_empty(), "{text:?}\n{once:?}\n{notes:?}");
    assert_eq!(once, twice, "{text:?}");
}

proptest! {
    #[test]
    fn any_text_is_read_and_its_normal_form_is_stable(text in text()) {
        is_stable(&text, |text| {
            let conf = FilterConf::parse(text);
            let _ = Filters::check(&conf, &Functions::new(), &NoFiles);
            (conf.to_string(), conf.notes().to_vec())
        });
        is_stable(&text, |text| {
            let rules = FilterRules::parse(text);
            (rules.to_string(), rules.notes().to_vec())
        });
        is_stable(&text, |text| {
            let rules = ClassificationRules::parse(text);
            (rules.to_string(), rules.notes().to_vec())
        });
        let types = MimeTypes::parse(&text);
        let _ = types.for_name(&text);
    }
}

#[test]
fn removed_tag_leaves_no_empty_lines() {
    for text in [
        "</Filter>\n\nData fn=generate-md5",
        "Data fn=generate-md5\n\n</Filter>\n\nData fn=generate-md5",
    ] {
        is_stable(text, |text| {
            let conf = FilterConf::parse(text);
            (conf.to_string(), conf.notes().to_vec())
        });
    }
}

#[test]
fn limits_are_enforced() {
    let many = "Data fn=generate-md5\n".repeat(30_000);
    let conf = FilterConf::parse(&many);
    assert!(has_error(conf.notes()));
    let wrong = "x\n".repeat(30_000);
    assert!(FilterConf::parse(&wrong).notes().len() <= 1_001);
    let long = format!(
        "<Filter name=a>\nData fn=a b={}\n</Filter>",
        "x".repeat(70_000)
    );
    assert!(has_error(FilterConf::parse(&long).notes()));
    let large = "#\n".repeat(3 * 1024 * 1024);
    assert!(has_error(FilterConf::parse(&large).notes()));
    assert!(quoted(&"\u{1b}".repeat(1000)).len() < 600);
}

#[test]
fn quotes_may_be_curly_or_missing() {
    for (line, value, notes) in [
        ("Data fn=f a=\"b c\"", "b c", 0),
        ("Data fn=f a=“b c”", "b c", 1),
        ("Data fn=f a=\"b c", "b c", 1),
        ("Data fn=f a=\"b c”", "b c", 1),
        ("Data fn=f a = b", "b", 1),
        ("Data fn=f\na=b", "b", 1),
        ("Data fn=f a=b # c", "b", 0),
    ] {
        let conf = FilterConf::parse(&format!("<Filter name=x>\n{line}\n</Filter>"));
        assert_eq!(conf.notes().len(), notes, "{line}: {:?}", conf.notes());
        let directive = &conf.filters()[0].directives()[0];
        assert_eq!(directive.pairs[1].value, value, "{line}");
    }
}
