//! `site-robot check` and `fmt` as a user runs them.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program,
};

const EXAMPLES: &str = include_str!("../../data/site_robot/examples.conf");

/// Runs a command in a directory; returns exit code, standard output and standard error.
fn run(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let arguments: Vec<_> = [&["site-robot"], arguments].concat();
    let output = program::run(directory, &arguments);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// Returns the output of `check --json` for one file, and the exit code.
fn check(name: &str, text: &str) -> (Option<i32>, Value) {
    let directory = directory(&[(name, text)]);
    let (code, out, _) = run(directory.path(), &["check", "--json", name]);
    let mut files: Value = serde_json::from_str(&out).unwrap();
    (code, files[0].take())
}

/// Returns lines and texts of the notes of one severity.
fn notes(file: &Value, severity: &str) -> Vec<(u64, String)> {
    let notes = file["notes"].as_array().unwrap().iter();
    let notes = notes.filter(|note| note["severity"] == severity);
    notes
        .map(|note| {
            let text = note["text"].as_str().unwrap();
            (note["line"].as_u64().unwrap(), text.to_owned())
        })
        .collect()
}

#[test]
fn all_examples_of_the_reference_load_in_one_filter_and_each_repair_is_reported_by_line() {
    let (code, file) = check("filter.conf", EXAMPLES);
    assert_eq!(code, Some(0), "{file:#}");
    assert_eq!(file["filters"][0]["name"], "enumeration1");
    assert_eq!(file["filters"][0]["directives"], 42);
    assert!(notes(&file, "error").is_empty());
    let repairs = notes(&file, "repair");
    for (line, text) in [
        (2, "added the missing closing quote"),
        (19, "with fn=filter-by-max"),
        (26, "with fn=assign-type-by-extension"),
        (32, "as a line continuation"),
        (35, "joined to the previous line"),
        (37, "joined to the previous line"),
        (39, "joined to the previous line"),
        (42, "with fn=generate-rd-last-modified"),
        (51, "with fn=harvest-summarizer"),
    ] {
        let found = repairs
            .iter()
            .any(|(at, said)| *at == line && said.contains(text));
        assert!(found, "{line} {text}: {repairs:#?}");
    }
    assert_eq!(repairs.len(), 9, "{repairs:#?}");
    let warnings = notes(&file, "warning");
    assert!(warnings.iter().any(|(_, text)| text.contains("mime.types")));
}

#[test]
fn each_example_of_the_reference_loads_alone() {
    let directory = directory(&[]);
    let whole = EXAMPLES
        .replace("\\\\\n", "")
        .replace("\nvalue=", " value=");
    let whole = whole.replace("\nsrc=\"host\"", " src=\"host\"");
    let mut count = 0;
    let mut names = vec!["check".to_owned()];
    for line in whole.lines().filter(|line| !line.starts_with(['#', '<'])) {
        count += 1;
        let name = format!("{count}.conf");
        fs::write(directory.path().join(&name), format!("{line}\n")).unwrap();
        names.push(name);
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (code, out, _) = run(directory.path(), &names);
    assert_eq!((code, count), (Some(0), 42), "{out}");
    assert!(!out.contains("error"), "{out}");
}

#[test]
fn unknown_words_exit_with_1_and_name_line_and_nearest_word() {
    let text = "<Filter name=a>\n\nData fn=generate-md6\n</Filter>\n";
    let directory = directory(&[("filter.conf", text)]);
    let (code, out, _) = run(directory.path(), &["check", "filter.conf"]);
    assert_eq!(code, Some(1));
    let expected = "filter.conf:3: error: \"generate-md6\" is not a valid function; did you mean \"generate-md5\"?";
    assert!(out.contains(expected), "{out}");
}

#[test]
fn robot_conf_shows_31_keys_and_marks_defaults() {
    let text = "depth=3\nOnCompletion=loop\ncommand-timeout=5\nmax-memory=1000\n\
                password=hush\nauto-proxy=”http:// \nproxy_server/proxy.pac”\n\
                enable-robots-txt= \nno\nseed=http://h.example/ depth=2\n";
    let (code, file) = check("robot.conf", text);
    assert_eq!(code, Some(0), "{file:#}");
    let keys = file["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 31);
    for (key, value, is_default) in [
        ("auto-proxy", "http://proxy_server/proxy.pac", false),
        ("depth", "3", false),
        ("onCompletion", "loop", false),
        ("connect-timeout", "5", false),
        ("max-memory-per-url", "1000", false),
        ("enable-robots-txt", "false", false),
        ("password", "********", false),
        ("convert-timeout", "600", true),
        ("email", "user@domain", true),
        ("enable-ip", "true", true),
        ("engine-concurrent", "10", true),
        ("enumeration-filter", "enumeration-default", true),
        ("generation-filter", "generation-default", true),
        ("index-after-ngenerated", "256", true),
        ("loglevel", "1", true),
        ("max-connections", "8", true),
        ("max-filesize-kb", "10240", true),
        ("site-max-connections", "2", true),
        ("username", "anonymous", true),
    ] {
        let row = keys.iter().find(|row| row["key"] == key).unwrap();
        assert_eq!(row["value"], value, "{key}");
        assert_eq!(row["default"], is_default, "{key}");
    }
    assert_eq!(file["starting_points"][0]["depth"], 2);
    let repairs = notes(&file, "repair");
    let lines: Vec<_> = repairs.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [3, 4, 6, 8], "{repairs:#?}");
    let directory = directory(&[("robot.conf", text)]);
    let (_, out, _) = run(directory.path(), &["check", "robot.conf"]);
    assert!(!out.contains("hush"), "{out}");
}

#[test]
fn robot_conf_with_an_unknown_key_or_an_invalid_value_exits_with_1() {
    let (code, file) = check(
        "robot.conf",
        "dept=3\nmax-connections=101\nonCompletion=stop\n",
    );
    assert_eq!(code, Some(1));
    let errors = notes(&file, "error");
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert!(errors[0].1.contains("did you mean \"depth\""), "{errors:?}");
    assert!(errors[1].1.contains("from 1 to 100"), "{errors:?}");
    assert!(errors[2].1.contains("idle, loop, quit"), "{errors:?}");
}

#[test]
fn robot_conf_of_a_command_names_its_database_and_log_contents() {
    let lines = "robot-state-dir=state\nloglevel=3\nenable-robots-txt=true\n";
    let directory = directory(&[
        ("other.conf", lines),
        ("robot-detection.toml", "web_robots_db = ''"),
    ]);
    fs::create_dir(directory.path().join("state")).unwrap();
    let server = TestServer::with(|seen| match &*seen.path {
        "/robots.txt" => Reply::text("User-agent: *\nDisallow: /shut\n"),
        _ => Reply::typed("text/html", "<a href='/shut'>A page of words</a>"),
    });
    let start = server.url("/");
    let (_, _, told) = run(
        directory.path(),
        &["run", &start, "--robot-conf", "other.conf"],
    );
    assert!(told.contains("/shut"), "{told}");
    assert!(directory.path().join("state/robot-detection.db").exists());
    assert!(!directory.path().join("robot-detection.db").exists());
}

#[test]
fn other_files_of_the_robot_are_recognised() {
    let directory = directory(&[
        (
            "a",
            "<Site name=s>\nStart url=http://h.example/ depth=2\n</Site>\n",
        ),
        ("b", "Class name=x src=host operator=is string=h.example\n"),
        ("c", "text/html html\n"),
        ("d", "User-agent: *\n"),
    ]);
    let (code, out, _) = run(directory.path(), &["check", "a", "b", "c"]);
    assert_eq!(code, Some(0), "{out}");
    for line in [
        "a: filterrules.conf, 1 site",
        "  start http://h.example/ depth=2",
        "b: classification.conf, 1 rule",
        "c: mime.types, 1 extension",
    ] {
        assert!(out.lines().any(|it| it == line), "{line}: {out}");
    }
    assert_eq!(run(directory.path(), &["check", "d"]).0, Some(1));
    assert_eq!(run(directory.path(), &["check", "missing"]).0, Some(2));
    assert_eq!(run(directory.path(), &["check"]).0, Some(2));
}

#[test]
fn fmt_repairs_what_check_reports_and_is_idempotent() {
    let directory = directory(&[("filter.conf", EXAMPLES)]);
    let here = directory.path();
    assert_eq!(run(here, &["fmt", "--check", "filter.conf"]).0, Some(1));
    let (code, printed, _) = run(here, &["fmt", "filter.conf"]);
    assert_eq!(code, Some(0));
    assert!(
        printed.contains("<Filter name=\"enumeration1\">\n"),
        "{printed}"
    );
    let line =
        "Generate fn=copy-attribute src=partial-text dst=description truncate=200 clean=true\n";
    assert!(printed.contains(line), "{printed}");
    assert!(printed.contains("# Process the rules\nMetaData fn=filterrules-process\n"));
    assert_eq!(run(here, &["fmt", "--write", "filter.conf"]).0, Some(0));
    assert_eq!(
        fs::read_to_string(here.join("filter.conf")).unwrap(),
        printed
    );
    assert_eq!(run(here, &["fmt", "--check", "filter.conf"]).0, Some(0));
    let (_, again) = check("filter.conf", &printed);
    assert!(notes(&again, "repair").is_empty(), "{again:#}");
}

#[test]
fn fmt_leaves_a_file_with_errors_unchanged() {
    let text = "<Filter name=a>\nData\n</Filter>\n";
    let directory = directory(&[("filter.conf", text)]);
    let (code, _, error) = run(directory.path(), &["fmt", "--write", "filter.conf"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("filter.conf:2: Data has no fn="), "{error}");
    let after = fs::read_to_string(directory.path().join("filter.conf")).unwrap();
    assert_eq!(after, text);
}
