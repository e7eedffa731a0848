//! Tests of functions that change the data of a resource.

use super::*;

#[test]
fn assign_source_copies_another_source_or_a_value() {
    let bench = Bench::new("Data fn=assign-source dst=type src=content-type");
    let mut page = html("");
    page.assign(&Source::from_name("type"), "text/x-other");
    assert!(bench.data(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/html"));
    let bench = Bench::new("MetaData fn=assign-source dst=color value=\"dark red\"");
    let mut page = at("http://h.example/");
    bench.filter.reapply_metadata(&mut page, &bench.around());
    assert_eq!(source(&page, "Color").as_deref(), Some("dark red"));
}

#[test]
fn assign_type_by_extension_is_repaired_from_the_misprint_in_the_reference() {
    let text = format!("{TYPES}\nMetaData fn=assign-type-by-extclear-source");
    let bench = Bench::new(&text);
    let mut page = at("http://h.example/read.me.txt");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "type").as_deref(), Some("text/plain"));
    let repairs = notes(&text, Severity::Repair);
    assert!(
        repairs.contains("with fn=assign-type-by-extension"),
        "{repairs}"
    );
}

#[test]
fn clear_source_removes_the_path() {
    let bench = Bench::new("MetaData fn=clear-source src=path");
    let mut page = at("http://h.example/a");
    assert!(bench.metadata(&mut page).is_allowed());
    assert_eq!(source(&page, "path"), None);
    assert_eq!(source(&page, "host").as_deref(), Some("h.example"));
}

#[test]
fn convert_to_html_converts_known_and_unknown_types() {
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
        "converted once for both clones"
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
fn failed_convert_to_html_leaves_the_resource_unchanged() {
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
fn generate_md5_hashes_the_body() {
    let bench = Bench::new("Data fn=generate-md5");
    let mut page = html("hello world");
    assert!(bench.data(&mut page).is_allowed());
    assert_eq!(
        source(&page, "md5").as_deref(),
        Some("5eb63bbbe01eeed093cb22bb8f5acdc3")
    );
}
