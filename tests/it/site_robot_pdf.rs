//! PDF documents are described by their text, if `pdftotext` is installed.

use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program,
};

/// Returns a document of one page with author and date.
pub(crate) fn pdf() -> Vec<u8> {
    let text = "BT /F1 18 Tf 20 100 Td (Salt of the members) Tj ET";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 144] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        "<< /Title (About salt) /Author (A. Miner) /CreationDate (D:20240302120000Z) >>".to_owned(),
    ];
    let (mut out, mut table) = ("%PDF-1.4\n".to_owned(), String::new());
    for (number, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", out.len()).unwrap();
        writeln!(out, "{} 0 obj\n{object}\nendobj", number + 1).unwrap();
    }
    let (start, size) = (out.len(), objects.len() + 1);
    writeln!(
        out,
        "xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R \
         /Info 6 0 R >>\nstartxref\n{start}\n%%EOF"
    )
    .unwrap();
    out.into_bytes()
}

fn site() -> TestServer {
    let pdf = pdf();
    TestServer::with(move |seen| match seen.path.as_str() {
        "/" => Reply::typed(
            "text/html",
            "<title>Start</title><p>Words.</p><a href=/salt.pdf>a</a> <a href=/torn.pdf>b</a> \
             <a href=/empty>c</a>",
        ),
        "/salt.pdf" => Reply::typed("application/pdf", pdf.clone()),
        "/torn.pdf" => Reply::typed("application/pdf", "%PDF-1.4 and no more"),
        "/empty" => Reply::typed(
            "text/html",
            "<title>App</title><div id=app></div><script src=/app.js></script>",
        ),
        _ => Reply::status(404),
    })
}

/// Visits the site; returns the summary and the descriptions. `path` replaces `PATH`.
fn visit(site: &TestServer, directory: &Path, path: Option<&str>) -> (Value, String) {
    let start = site.url("/");
    let mut command = program::command(directory);
    command.args([
        "--database",
        "sqlite://robot.db",
        "site-robot",
        "run",
        &start,
        "--json",
    ]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.env("ROBOT_SECRET", "geheim");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let export = ["--database", "sqlite://robot.db", "site-robot", "export"];
    let soif = program::succeed(directory, &export);
    (serde_json::from_str(&out).unwrap(), soif)
}

fn without_words(summary: &Value) -> Vec<(String, String)> {
    let pages = summary["without_words"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    pages
        .map(|page| (text(&page["url"]), text(&page["reason"])))
        .collect()
}

#[test]
fn a_pdf_is_described_by_its_text_and_one_without_text_is_listed() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let (summary, soif) = visit(&site, directory.path(), None);
    assert!(soif.contains("/salt.pdf\n"), "{soif}");
    assert!(soif.contains("About salt"), "{soif}");
    assert!(soif.contains("Salt of the members"), "{soif}");
    let without = without_words(&summary);
    assert_eq!(without.len(), 2, "{without:?}");
    assert!(
        without[0].0.ends_with("/empty") && without[0].1.contains("scripts"),
        "{without:?}"
    );
    assert!(without[1].0.ends_with("/torn.pdf"), "{without:?}");
    assert!(without[1].1.contains("\"pdftotext\" failed"), "{without:?}");
    assert!(
        !soif.contains("/torn.pdf\n") && !soif.contains("/empty\n"),
        "{soif}"
    );
}

#[test]
fn without_a_converter_a_run_names_the_package_to_install() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let (summary, soif) = visit(&site, directory.path(), Some("/nowhere"));
    assert!(!soif.contains(".pdf\n"), "{soif}");
    let without = without_words(&summary);
    assert!(
        without[1].1.contains("install pdftotext (poppler-utils)"),
        "{without:?}"
    );
}

#[test]
fn a_converter_gets_nothing_of_our_environment() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let program = directory.path().join("env-page");
    fs::write(
        &program,
        "#!/bin/sh\ncat > /dev/null\necho \"<p>Told: $(env)</p>\"\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "web_robots_db = ''\nsite_robot.converters = ['application/pdf={}']",
        program.display()
    );
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let (_, soif) = visit(&site, directory.path(), None);
    assert!(soif.contains("Told: "), "{soif}");
    assert!(!soif.contains("geheim"), "{soif}");
}
