//! Tests of the error messages for invalid directives.

use super::*;

#[test]
#[expect(clippy::too_many_lines, reason = "table of cases")]
fn errors_contain_the_line_and_the_nearest_valid_name() {
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
            "cannot be combined",
        ),
        (
            "Setup fn=enumerate-urls",
            "enumerate-urls is not allowed at Setup; use it at Enumerate",
        ),
        (
            "MetaData fn=filter-by-md5",
            "use it at Data, Enumerate, Generate",
        ),
        (
            "MetaData fn=filter-by-max src=host value=1",
            "did you mean \"hosts\"",
        ),
        (
            "Generate fn=extract-html-toc level=7",
            "level=7 is not between 1 and 6",
        ),
        (
            "Generate fn=extract-full-text part=half",
            "part=\"half\" is neither all nor main",
        ),
        (
            "Generate fn=rename-attribute src=author",
            "contains no new name",
        ),
        (
            "Data fn=filter-by-regex src=host deny=(",
            "is not a valid regular expression",
        ),
        (
            "Data fn=generate-md5 enable=maybe",
            "not one of true, false, on, off",
        ),
        ("Data fn=generate-md5 level=3", "the function accepts none"),
        ("Data", "Data has no fn="),
        (
            "Setup fn=filterrules-setup config=x logtype=quiet",
            "is not a valid logtype",
        ),
        (
            "Data fn=assign-source dst=a value=b src=c",
            "cannot be combined",
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
        twice.contains("line 3: error: filter-by-md5 may be used only once"),
        "{twice}"
    );
    assert_eq!(errors("Data fn=no-such-function enable=off"), "");
}
