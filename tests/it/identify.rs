//! `identify` as a user runs it.

use std::{
    io::{Read as _, Write as _},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::program::{self, FIREFOX, GOOGLEBOT, eventually, succeed};

#[test]
fn results_are_json_objects_on_demand() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["identify", "--bundled", "--json", GOOGLEBOT, FIREFOX];
    let answers = succeed(directory.path(), &arguments);
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers[0]["claim"]["id"], "googlebot");
    assert_eq!(answers[1], json!({"claim": null}));
}

#[test]
fn closed_pipe_stops_the_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
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
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn results_appear_before_the_input_ends() {
    let directory = tempfile::tempdir().unwrap();
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
