//! Cost of parsing a line of an access log.
//!
//! Throughput is in bytes of log, with the lines one after the other as in a file.

use std::hint::black_box;

use divan::{AllocProfiler, Bencher, counter::BytesCount};
use robot_detection::{
    access_log::{Lines, LogReader},
    detect::browsers,
};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Finds the lines without parsing them.
#[divan::bench]
fn lines_alone(bencher: Bencher<'_, '_>) {
    read(bencher, &combined(), false);
}

#[divan::bench]
fn combined_form(bencher: Bencher<'_, '_>) {
    read(bencher, &combined(), true);
}

/// Parses lines in which every User-Agent has escapes.
#[divan::bench]
fn combined_form_escaped(bencher: Bencher<'_, '_>) {
    let log = combined().replace("(KHTML", "\\x22(KHTML");
    read(bencher, &log, true);
}

#[divan::bench]
fn json_form(bencher: Bencher<'_, '_>) {
    read(bencher, &json(), true);
}

fn read(bencher: Bencher<'_, '_>, log: &str, is_parsed: bool) {
    let reader = LogReader::new();
    bencher
        .counter(BytesCount::of_str(log))
        .with_inputs(|| (Lines::new(log.as_bytes()), reader.clone()))
        .bench_refs(|(lines, reader)| {
            while matches!(lines.read_more(), Ok(true)) {
                while let Some(line) = lines.next_line() {
                    if is_parsed {
                        black_box(reader.read(line));
                    } else {
                        black_box(line);
                    }
                }
            }
        });
}

fn combined() -> String {
    let line = |(number, browser): (usize, &str)| {
        format!(
            "198.51.100.{} - - [03/Mar/2026:06:25:01 +0100] \"GET /garden/{number}.html HTTP/1.1\" 200 {} \"https://www.example.com/garden/\" \"{browser}\"\n",
            number % 250,
            number * 7919 % 100_000,
        )
    };
    browsers().enumerate().map(line).collect()
}

fn json() -> String {
    let line = |(number, browser): (usize, &str)| {
        format!(
            "{{\"time\":\"2026-03-03T05:25:01+00:00\",\"remote_addr\":\"198.51.100.{}\",\"request\":\"GET /garden/{number}.html HTTP/1.1\",\"status\":200,\"body_bytes_sent\":{},\"http_user_agent\":\"{browser}\"}}\n",
            number % 250,
            number * 7919 % 100_000,
        )
    };
    browsers().enumerate().map(line).collect()
}
