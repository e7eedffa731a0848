//! `identify` on logs as a user runs it: results, figures, memory, exit codes.

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::support::program::{self, CHROME, FIREFOX, GOOGLEBOT, eventually, run, succeed};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";
const GPTBOT: &str = "GPTBot/1.2 (+https://openai.com/gptbot)";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs")
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
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
        let _ = writeln!(
            log,
            "198.51.100.{} - - [03/Mar/2026:06:25:01 +0100] \"GET /{number} HTTP/1.1\" 200 {bytes} \"-\" \"{user_agent}\"",
            number % 250
        );
    }
    log
}

#[test]
fn every_line_of_every_format_gets_its_result() {
    let directory = directory();
    let mut logs = 0;
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let format = match path.extension().unwrap().to_str().unwrap() {
            "log" => "combined",
            "jsonl" => "json",
            _ => continue,
        };
        let expected = fs::read_to_string(path.with_extension("expected")).unwrap();
        let file = path.to_str().unwrap();
        let arguments = ["identify", "--bundled", "--format", format, "--input", file];
        assert_eq!(succeed(directory.path(), &arguments), expected, "{file}");
        logs += 1;
    }
    assert_eq!(logs, 7);
}

#[test]
fn results_are_json_objects_on_demand() {
    let file = data().join("nginx-combined.log");
    let arguments = [
        "identify",
        "--bundled",
        "--json",
        "--format",
        "combined",
        "--input",
        file.to_str().unwrap(),
    ];
    let answers = succeed(directory().path(), &arguments);
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 9);
    assert_eq!(answers[0]["claim"]["id"], "googlebot");
    assert_eq!(answers[1], serde_json::json!({"claim": null}));
    assert_eq!(
        answers[7],
        serde_json::json!({"claim": null, "unreadable": true})
    );
}

#[test]
fn field_and_bytes_field_name_any_field() {
    let lines = format!(
        "{}\n{}\n",
        serde_json::json!({"ua": {"full": GOOGLEBOT}, "out": "70", "agent": FIREFOX}),
        serde_json::json!({"ua": {"full": FIREFOX}, "out": 5, "agent": GOOGLEBOT}),
    );
    let arguments = [
        "identify",
        "--bundled",
        "--format",
        "json",
        "--field",
        "ua.full",
        "--bytes-field",
        "out",
        "--summary=csv",
        "--by",
        "total",
    ];
    let output = fed(directory().path(), &arguments, lines.into_bytes());
    let csv = text(&output.stdout);
    assert!(csv.contains("\npeople,1,0.500000,5,0.066667\n"), "{csv}");
    assert!(csv.contains("\nrobots,1,0.500000,70,0.933333\n"), "{csv}");
}

#[test]
fn figures_are_exact_in_every_format_and_from_every_input() {
    let directory = directory();
    let (plain, packed) = (log(4_000), gzip(log(4_000).as_bytes()));
    fs::write(directory.path().join("a.log"), &plain).unwrap();
    fs::write(directory.path().join("b.log.gz"), &packed).unwrap();
    for (inputs, input) in [
        (&["--input", "a.log", "b.log.gz"][..], Vec::new()),
        (&["--input", "a.log", "--input", "-"], packed.clone()),
        (&["--input", "-", "b.log.gz"], plain.clone().into_bytes()),
        (&[], [plain.as_bytes(), plain.as_bytes()].concat()),
        (&[], [&packed[..], &packed[..]].concat()),
    ] {
        let summary = |more: &[&str]| {
            let mut arguments = vec!["identify", "--bundled", "--format", "combined"];
            arguments.extend(inputs.iter().chain(more));
            let output = fed(directory.path(), &arguments, input.clone());
            assert!(output.status.success());
            assert_eq!(text(&output.stderr), "", "neither progress bar nor hint");
            text(&output.stdout)
        };
        assert_csv(&summary(&["--summary=csv"]));
        assert_json(&summary(&["--summary", "--json"]));
        assert_table(&summary(&["--summary"]));
    }
}

fn assert_csv(csv: &str) {
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("robot,name,operator,purpose,source,hits,hits_share,bytes,bytes_share")
    );
    let robots: Vec<_> = lines
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            assert_eq!(cells.len(), 9, "{line}");
            format!("{},{}", cells[0], cells[5..].join(","))
        })
        .collect();
    assert_eq!(
        robots,
        [
            "googlebot,1600,0.200000,880000,0.244444",
            "gptbot,800,0.100000,640000,0.177778",
            "bingbot,800,0.100000,560000,0.155556",
        ]
    );
}

fn assert_json(json: &str) {
    let summary: Value = serde_json::from_str(json).unwrap();
    let count = |value: &Value| {
        (
            value["hits"].as_u64().unwrap(),
            value["bytes"].as_u64().unwrap(),
        )
    };
    let totals = &summary["totals"];
    assert_eq!(count(&totals["all"]), (8_000, 3_600_000));
    assert_eq!(count(&totals["people"]), (4_000, 800_000));
    assert_eq!(count(&totals["robots"]), (3_200, 2_080_000));
    assert_eq!(count(&totals["unlisted"]), (0, 0));
    assert_eq!(count(&totals["no_user_agent"]), (800, 720_000));
    assert_eq!(count(&totals["unreadable"]), (0, 0));
    assert_eq!(totals["people"]["hits_share"], 0.5);
    assert_eq!(summary["robots"][0]["robot"], "googlebot");
    assert_eq!(count(&summary["robots"][0]), (1_600, 880_000));
    assert_eq!(summary["operators"][0]["operator"], "Google");
    assert_eq!(summary["purposes"][0]["purpose"], "search");
    assert_eq!(count(&summary["purposes"][0]), (2_400, 1_440_000));
    assert_eq!(count(&summary["sources"][0]), (3_200, 2_080_000));
}

fn assert_table(table: &str) {
    let squeezed: Vec<_> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "TOTAL HITS SHARE BYTES SHARE",
        "people 4,000 50.0 % 781.25 KiB 22.2 %",
        "all 8,000 100.0 % 3.43 MiB 100.0 %",
        "ROBOT OPERATOR PURPOSE HITS SHARE BYTES SHARE",
        "gptbot OpenAI ai-training 800 10.0 % 625.00 KiB 17.8 %",
        "OPERATOR HITS SHARE BYTES SHARE",
        "Google 1,600 20.0 % 859.38 KiB 24.4 %",
        "PURPOSE HITS SHARE BYTES SHARE",
        "search 2,400 30.0 % 1.37 MiB 40.0 %",
    ] {
        assert!(
            squeezed.iter().any(|found| found == line),
            "{line}: {table}"
        );
    }
}

#[test]
fn top_and_by_select_rows_and_tables() {
    let directory = directory();
    fs::write(directory.path().join("a.log"), log(1_000)).unwrap();
    let summary = |more: &[&str]| {
        let mut arguments = vec![
            "identify",
            "--bundled",
            "--format",
            "combined",
            "--input",
            "a.log",
        ];
        arguments.extend(more);
        succeed(directory.path(), &arguments)
    };
    let table = summary(&["--summary", "--by", "robot", "--top", "1"]);
    assert!(table.contains("(2 more)"), "{table}");
    assert!(
        !table.contains("gptbot") && !table.contains("\nPURPOSE"),
        "{table}"
    );
    let all = summary(&["--summary", "--by", "robot", "--top", "0"]);
    assert!(all.contains("gptbot") && !all.contains("more)"), "{all}");
    let csv = summary(&["--summary=csv", "--by", "purpose", "--top", "1"]);
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.starts_with("purpose,hits"), "{csv}");
    let json = summary(&["--summary=json", "--by", "operator,source"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["operators"].is_array() && json["sources"].is_array());
    assert_eq!(json.get("robots"), None);
}

#[test]
fn plain_user_agents_are_summarised_too() {
    let lines = format!("{GOOGLEBOT}\n{FIREFOX}\n\n{GOOGLEBOT}");
    let arguments = ["identify", "--bundled", "--summary"];
    let output = fed(directory().path(), &arguments, lines.into_bytes());
    let table = text(&output.stdout);
    assert!(table.contains("googlebot"), "{table}");
    assert!(!table.contains("BYTES"), "no bytes to show: {table}");
    assert!(table.contains("no-user-agent     1   25.0 %"), "{table}");
}

#[test]
fn unreadable_lines_are_reported_and_the_rest_is_read() {
    let directory = directory();
    let packed = gzip(log(1_000).as_bytes());
    fs::write(
        directory.path().join("cut.log.gz"),
        &packed[..packed.len() - 9],
    )
    .unwrap();
    fs::write(directory.path().join("a.log"), log(10)).unwrap();
    let arguments = [
        "identify",
        "--bundled",
        "--format",
        "combined",
        "--input",
        "none.log",
        ".",
        "cut.log.gz",
        "a.log",
    ];
    let output = run(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let answers = text(&output.stdout);
    assert!(answers.ends_with("-\n-\n-\n-\n-\ngooglebot\ngooglebot\nbingbot\ngptbot\n-\n"));
    let errors = text(&output.stderr);
    for name in ["none.log", ".", "cut.log.gz"] {
        let start = format!("error: cannot read {name}: ");
        assert!(
            errors.lines().any(|line| line.starts_with(&start)),
            "{errors}"
        );
    }
    assert_eq!(errors.lines().count(), 3, "{errors}");

    let output = run(
        directory.path(),
        &[&arguments[..], &["--summary=json"]].concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("leave out what could not be read"));
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
}

#[test]
fn a_log_of_another_format_is_reported() {
    let directory = directory();
    let hint = |arguments: &[&str], input: &str| {
        let arguments = [&["identify", "--bundled"], arguments].concat();
        let output = fed(directory.path(), &arguments, input.as_bytes().to_vec());
        assert!(output.status.success());
        text(&output.stderr)
    };
    let odd = hint(&["--format", "json", "--summary"], &log(10));
    assert!(
        odd.contains("10 of 10 lines cannot be read as --format json"),
        "{odd}"
    );
    let odd = hint(&["--format", "json"], "{\"ua\": \"x\"}\n");
    assert!(odd.contains("--field"), "{odd}");
    let common = fs::read_to_string(data().join("common.log")).unwrap();
    let odd = hint(&["--format", "combined"], &common);
    assert!(odd.contains("no line has a User-Agent"), "{odd}");
    assert_eq!(hint(&["--format", "combined"], &log(10)), "");
}

#[test]
fn incompatible_arguments_are_wrong_usage() {
    let directory = directory();
    for arguments in [
        &["--summary=csv", "--json"][..],
        &["--summary=csv", "--by", "robot,purpose"],
        &["--summary=xml"],
        &["--by", "robot"],
        &["--top", "5"],
        &["--field", "agent"],
        &["--format", "combined", "--bytes-field", "size"],
        &["--format", "json", "--field", "a..b"],
        &["--format", "common"],
        &["--input", "a.log", "--", "Googlebot/2.1"],
        &["--summary", "Googlebot/2.1"],
    ] {
        let arguments = [&["identify", "--bundled"], arguments].concat();
        let output = run(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn closed_pipe_stops_the_command_quietly() {
    let directory = directory();
    for more in [&[][..], &["--json"]] {
        let mut child = program::command(directory.path())
            .args(["identify", "--bundled"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdin.write_all(b"Googlebot/2.1\n").unwrap();
        let mut first = [0; 1];
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        eventually("the command ends", || {
            let _ = stdin.write_all(
                &b"Googlebot/2.1
"
                .repeat(1_000),
            );
            child.try_wait().unwrap().is_some()
        });
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{more:?}");
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn results_appear_before_the_input_ends() {
    let directory = directory();
    let mut child = program::command(directory.path())
        .args(["identify", "--bundled"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    for _ in 0..3 {
        stdin.write_all(b"Googlebot/2.1\n").unwrap();
        let mut answer = [0; 10];
        stdout.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"googlebot\n");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn memory_does_not_grow_with_the_log() {
    let directory = directory();
    let mut child = program::command(directory.path())
        .args([
            "identify",
            "--bundled",
            "--format",
            "combined",
            "--summary=json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut block = log(4_000).into_bytes();
    // An endless line, as long as all others together.
    block.extend(vec![b'x'; block.len()]);
    block.push(b'\n');
    let peak_kib = |child: &std::process::Child| -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    stdin.write_all(&block).unwrap();
    let before = peak_kib(&child);
    let times = (64 << 20) / block.len();
    for _ in 0..times {
        stdin.write_all(&block).unwrap();
    }
    let after = peak_kib(&child);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(after < before + 2 * 1024, "from {before} to {after} KiB");
    assert!(after < 256 * 1024, "{after} KiB");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hits = |name: &str| summary["totals"][name]["hits"].as_u64().unwrap();
    let blocks = times as u64 + 1;
    assert_eq!(hits("all"), blocks * 4_001);
    assert_eq!(hits("unreadable"), blocks);
    assert_eq!(hits("people"), blocks * 2_000);
}
