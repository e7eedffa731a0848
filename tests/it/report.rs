//! `report` on access logs as a user runs it: figures, formats, copies, hostile values, exit codes.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::support::program::{self, CHROME, FIREFOX, GOOGLEBOT, run, succeed};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";
const GPTBOT: &str = "GPTBot/1.2 (+https://openai.com/gptbot)";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs")
}

fn fed(directory: &Path, arguments: &[&str], input: Vec<u8>) -> Output {
    let mut child = program::command(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns lines of a log with known figures and their size.
fn log(lines: usize) -> String {
    let mut log = String::new();
    for number in 0..lines {
        let user_agent = match number % 10 {
            0..=4 => CHROME,
            5 | 6 => GOOGLEBOT,
            7 => BINGBOT,
            8 => GPTBOT,
            _ => "-",
        };
        let bytes = 100 * (number % 10);
        let (minute, second) = (number / 60 % 60, number % 60);
        let _ = writeln!(
            log,
            "198.51.100.{} - - [03/Mar/2026:06:{minute:02}:{second:02} +0100] \"GET /{number} HTTP/1.1\" 200 {bytes} \"-\" \"{user_agent}\"",
            number % 250
        );
    }
    log
}

/// Returns the number of requests in a row of a table in a JSON report.
fn requests(report: &Value, table: &str, name: &str) -> u64 {
    let rows = report[table].as_array().unwrap().iter();
    let mut rows = rows.filter(|row| row.as_object().unwrap().values().any(|cell| cell == name));
    rows.next()
        .map_or(0, |row| row["requests"].as_u64().unwrap())
}

fn reported(directory: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["report", "--bundled", "--json"], arguments].concat();
    serde_json::from_str(&succeed(directory, &arguments)).unwrap()
}

#[test]
fn log_of_every_server_is_counted_or_rejected_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut logs = 0;
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let is_log = path
            .extension()
            .is_some_and(|kind| kind == "log" || kind == "jsonl");
        if !is_log {
            continue;
        }
        logs += 1;
        let file = path.to_str().unwrap();
        let output = run(directory.path(), &["report", "--bundled", "--json", file]);
        let told = text(&output.stderr);
        if file.ends_with("common.log") {
            assert_eq!(output.status.code(), Some(1));
            assert!(
                told.contains("the common format does not contain it"),
                "{told}"
            );
            continue;
        }
        // One line for each robot's id, `-` for people, `?` for a line that is in no format.
        let expected = fs::read_to_string(path.with_extension("expected")).unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let count = |word: &str| expected.lines().filter(|line| *line == word).count() as u64;
        assert_eq!(
            requests(&report, "robots", "googlebot"),
            count("googlebot"),
            "{file}"
        );
        assert_eq!(report["unreadable"], count("?"), "{file}");
    }
    assert_eq!(logs, 7);
}

#[test]
fn figures_are_exact_from_every_input_and_copies_count_once() {
    let directory = tempfile::tempdir().unwrap();
    let plain = log(3_000);
    let packed = gzip(plain.as_bytes());
    fs::write(directory.path().join("a.log"), &plain).unwrap();
    fs::write(directory.path().join("b.log.gz"), &packed).unwrap();
    let (first, second) =
        plain.split_at(plain.lines().take(1_000).map(|line| line.len() + 1).sum());
    fs::write(directory.path().join("old.log"), first).unwrap();
    fs::write(directory.path().join("new.log"), second).unwrap();
    for (inputs, input) in [
        (&["a.log"][..], Vec::new()),
        (&["a.log", "b.log.gz"], Vec::new()),
        (&["new.log", "a.log", "old.log"], Vec::new()),
        (&["-"], packed),
        (&["-", "new.log"], first.as_bytes().to_vec()),
    ] {
        let arguments = [&["report", "--bundled", "--json"], inputs].concat();
        let output = fed(directory.path(), &arguments, input);
        assert!(output.status.success());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for (table, name, expected) in [
            ("visitors", "People", 1_500),
            ("visitors", "Search engines", 900),
            ("visitors", "AI training", 300),
            ("visitors", "Without a User-Agent", 300),
            ("robots", "googlebot", 600),
            ("ai", "gptbot", 300),
            ("operators", "Google", 600),
        ] {
            assert_eq!(
                requests(&report, table, name),
                expected,
                "{inputs:?} {name}"
            );
        }
        let rows = report["visitors"].as_array().unwrap().iter();
        assert_eq!(
            rows.map(|row| row["requests"].as_u64().unwrap())
                .sum::<u64>(),
            3_000
        );
        let told = text(&output.stderr);
        assert!(told.contains("combined with "), "no progress bar: {told}");
        assert_eq!(told.lines().count(), 1);
    }
}

#[test]
fn every_compression_is_read_and_a_bomb_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let plain = log(1_000);
    for kind in ["gz", "zst", "xz", "bz2"] {
        let compress = |text: &[u8]| match kind {
            "gz" => gzip(text),
            "zst" => zstandard(text),
            "xz" => xz(text),
            _ => bzip2(text),
        };
        let name = format!("a.log.{kind}");
        fs::write(directory.path().join(&name), compress(plain.as_bytes())).unwrap();
        let report = reported(directory.path(), &[&name]);
        assert_eq!(requests(&report, "visitors", "People"), 500, "{kind}");
        // gzip compresses no text a thousand times.
        if kind == "gz" {
            continue;
        }
        let bomb = [plain.as_bytes(), &vec![b'x'; 1 << 26]].concat();
        fs::write(directory.path().join(&name), compress(&bomb)).unwrap();
        let output = run(directory.path(), &["report", "--bundled", &name]);
        assert_eq!(output.status.code(), Some(1), "{kind}");
        let told = text(&output.stderr);
        assert!(told.contains("more than 1,000 times"), "{told}");
    }
}

fn zstandard(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn selected_tables_equal_those_of_the_database() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.log"), log(1_000)).unwrap();
    let report = |more: &[&str]| {
        succeed(
            directory.path(),
            &[&["report", "--bundled", "a.log"], more].concat(),
        )
    };
    let table = report(&["--by", "robot", "--top", "1"]);
    assert!(
        table.contains("(2 more;") && !table.contains("gptbot"),
        "{table}"
    );
    let all = report(&["--by", "robot", "--top", "0"]);
    assert!(all.contains("gptbot") && !all.contains("more;"), "{all}");
    let csv = report(&["--csv", "--by", "class"]);
    assert!(csv.starts_with("class,hits,"), "{csv}");
    assert!(csv.contains("\nai-training,100,0.100000,80000,"), "{csv}");
    let json: Value = serde_json::from_str(&report(&["--json", "--by", "operator,total"])).unwrap();
    assert_eq!(json["totals"]["people"]["hits"], 500);
    assert_eq!(json["operators"][0]["operator"], "Google");
    assert_eq!(json["since"], "2026-03-03T05:00:00Z");
    let filtered = report(&["--csv", "--class", "search", "--since", "2026-03-03T05:10Z"]);
    assert!(
        filtered.contains("googlebot") && !filtered.contains("gptbot"),
        "{filtered}"
    );
    assert!(filtered.contains(",80,"), "{filtered}");
}

#[test]
fn field_and_log_format_describe_any_lines() {
    let directory = tempfile::tempdir().unwrap();
    let time = "2026-03-03T05:00:00Z";
    let json = format!(
        "{}\n{}\n",
        serde_json::json!({"time": time, "ua": {"full": GOOGLEBOT}, "out": "70", "agent": FIREFOX}),
        serde_json::json!({"time": time, "ua": {"full": FIREFOX}, "out": 5, "agent": GOOGLEBOT}),
    );
    fs::write(directory.path().join("a.json"), json).unwrap();
    let fields = [
        "a.json",
        "--field",
        "ua.full",
        "--bytes-field",
        "out",
        "--by",
        "total",
    ];
    let totals = &reported(directory.path(), &fields)["totals"];
    assert_eq!(
        (&totals["people"]["bytes"], &totals["robots"]["bytes"]),
        (&5.into(), &70.into())
    );
    fs::write(
        directory.path().join("own.log"),
        format!("{time} | GET / | {GPTBOT}\n"),
    )
    .unwrap();
    let format = "$time_iso8601 | $request_method $request_uri | $http_user_agent";
    let report = reported(directory.path(), &["own.log", "--log-format", format]);
    assert_eq!(requests(&report, "robots", "gptbot"), 1);
}

#[test]
fn people_are_counted_without_robots_and_double_clicks() {
    let directory = tempfile::tempdir().unwrap();
    let line = |second: u32, path: &str, status: u32, agent: &str| {
        format!(
            "192.0.2.1 - - [03/Mar/2026:06:00:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} 5 \"-\" \"{agent}\"\n"
        )
    };
    let lines = [
        line(0, "/a?secret=1", 200, FIREFOX),
        line(29, "/a?secret=1", 200, FIREFOX),
        line(30, "/b", 200, FIREFOX),
        line(31, "/c.css", 200, FIREFOX),
        line(32, "/gone", 404, FIREFOX),
        line(33, "/b", 200, GOOGLEBOT),
    ];
    fs::write(directory.path().join("a.log"), lines.concat()).unwrap();
    let report = reported(directory.path(), &["a.log", "--people"]);
    assert_eq!(requests(&report, "counted", "2026-03"), 2);
    for (reason, expected) in [("Search engines", 1), ("all requests", 6)] {
        assert_eq!(
            requests(&report, "left-out", reason),
            expected,
            "{report:#}"
        );
    }
    let rows = report["left-out"].as_array().unwrap();
    assert_eq!(
        rows.iter().filter(|row| row["requests"] == 1).count(),
        4,
        "{report:#}"
    );
    assert!(!report.to_string().contains("secret"));
}

#[test]
fn hostile_values_are_shown_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    for value in [
        "bot</style><script>alert(1)</script>/1",
        "bot\\x1B[2J\\x07/1",
        "bot\u{202e}\u{2066}\u{200b}\u{2028}/1",
        "bot' onload='x/1",
    ] {
        lines.extend(
            format!("192.0.2.1 - - [03/Mar/2026:06:00:00 +0000] \"GET /{value} HTTP/1.1\" 200 5 \"-\" \"{value}\"\n")
                .bytes(),
        );
    }
    lines.extend(b"192.0.2.1 - - [03/Mar/2026:06:00:00 +0000] \"GET /\xff\0 HTTP/1.1\" 200 5 \"-\" \"bot\xff\0/1\"\n");
    let long = "bot/1 ".to_owned() + &"x".repeat(1 << 20);
    lines.extend(
        format!(
            "192.0.2.1 - - [03/Mar/2026:06:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"{long}\"\n"
        )
        .bytes(),
    );
    fs::write(directory.path().join("a.log"), lines).unwrap();
    let arguments = ["report", "--bundled", "a.log"];
    let terminal = succeed(directory.path(), &arguments);
    let is_hidden = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_odd = |c: char| c.is_control() && c != '\n' || is_hidden(c);
    assert!(!terminal.contains(is_odd), "{terminal:?}");
    succeed(
        directory.path(),
        &[&arguments[..], &["--html", "report.html"]].concat(),
    );
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(
        page.contains("&#60;script&#62;") && !page.contains("<script"),
        "{page}"
    );
    assert!(
        page.contains("default-src 'none'; style-src 'sha256-"),
        "{page}"
    );
    assert!(
        !page.contains(is_odd) && page.matches("</style>").count() == 1,
        "{page}"
    );
    assert!(page.len() < 100_000);
}

#[test]
fn unreadable_logs_are_reported_and_the_rest_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let packed = gzip(log(1_000).as_bytes());
    fs::write(
        directory.path().join("cut.log.gz"),
        &packed[..packed.len() - 9],
    )
    .unwrap();
    fs::write(directory.path().join("odd.log"), "GET /\n".repeat(10)).unwrap();
    fs::write(directory.path().join("empty.log"), "").unwrap();
    fs::write(directory.path().join("a.log"), log(10)).unwrap();
    let files = [
        "none.log",
        ".",
        "cut.log.gz",
        "odd.log",
        "empty.log",
        "a.log",
    ];
    let output = run(
        directory.path(),
        &[&["report", "--bundled"], &files[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("googlebot"));
    let errors = text(&output.stderr);
    for name in ["none.log", ".", "cut.log.gz", "odd.log"] {
        let start = format!("error: cannot read {name}: ");
        assert!(
            errors.lines().any(|line| line.starts_with(&start)),
            "{name}: {errors}"
        );
    }
    assert!(
        errors.contains("--log-format") && !errors.contains("read empty"),
        "{errors}"
    );
    let empty = reported(directory.path(), &["empty.log"]);
    assert_eq!(
        (&empty["days"], &empty["lines"]),
        (&Value::Array(Vec::new()), &0.into())
    );
}

#[test]
fn incompatible_arguments_are_wrong_usage() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["--json", "--csv"][..],
        &["--csv", "--by", "robot,purpose"],
        &["--by", "word"],
        &["a.log", "--by", "path"],
        &["a.log", "--field", "a..b"],
        &["a.log", "--log-format", "%h %s"],
        &["--verify"],
        &["--people"],
        &["a.log", "--html", "a.html", "--json"],
    ] {
        let arguments = [&["report"], arguments].concat();
        let output = run(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn memory_does_not_grow_with_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut block = log(4_000).into_bytes();
    // An endless line, as long as all others together.
    block.extend(vec![b'x'; block.len()]);
    block.push(b'\n');
    let peak_kib = |times: u64| -> u64 {
        let log = directory.path().join("a.log");
        fs::write(&log, block.repeat(usize::try_from(times).unwrap())).unwrap();
        let mut child = program::command(directory.path())
            .args(["report", "--bundled", "--json", "a.log", "--follow"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut values = serde_json::Deserializer::from_reader(child.stdout.take().unwrap())
            .into_iter::<Value>();
        let report = values.next().unwrap().unwrap();
        assert_eq!(requests(&report, "visitors", "People"), 2_000 * times);
        assert_eq!(report["unreadable"], times);
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut lines = status.lines();
        let line = lines.find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let (before, after) = (peak_kib(1), peak_kib(40));
    assert!(after < before + 8 * 1_024, "from {before} to {after} KiB");
    assert!(after < 256 * 1_024, "{after} KiB");
}
