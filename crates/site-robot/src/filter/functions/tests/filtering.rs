//! Tests of functions that deny resources.

use super::*;

#[test]
fn filter_by_exact_denies_one_type_only() {
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
fn filter_by_max_tests_content_length_after_retrieval() {
    let bench = Bench::new("MetaData fn-filter-by-max src=content-length value=1024");
    let mut small = at("http://h.example/");
    assert!(bench.metadata(&mut small).is_allowed());
    let fits = "x".repeat(1024 * 1024);
    assert!(bench.data(&mut html(&fits)).is_allowed());
    let denied = bench.data(&mut html(&format!("{fits}y")));
    assert_eq!(reason(&denied), "content-length 1048577 exceeds 1024 KiB");
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
fn filter_by_md5_passes_the_best_of_several_copies() {
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
        "the same URL passes again after a crash"
    );
    assert!(
        bench.data(&mut at("http://h.example/")).is_allowed(),
        "a better URL passes later"
    );
    assert!(bench.data(&mut html("another")).is_allowed());
}

#[test]
fn filter_by_prefix_passes_all_text_types() {
    let bench = Bench::new("MetaData fn=filter-by-prefix src=type allow=text");
    let mut unknown = at("http://h.example/");
    assert!(
        bench.metadata(&mut unknown).is_allowed(),
        "the type is unknown before retrieval"
    );
    assert!(bench.data(&mut html("")).is_allowed());
    let denied = bench.data(&mut with("http://h.example/", "image/png", ""));
    assert_eq!(
        reason(&denied),
        "type \"image/png\" is denied: only a value that begins with \"text\" is allowed"
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
fn filterrules_process_applies_the_rules_at_both_stages() {
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
        "rule on line 3: path \"/secret/a\" begins-with \"/secret/\" (\"a\")"
    );
    let mut image = with("http://h.example/i", "image/png", "");
    assert!(reason(&bench.data(&mut image)).contains("rule on line 4: type"));
}
