//! Metrics of the process, named as in Prometheus's client libraries.

use std::{fmt::Write as _, fs};

use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

use super::exposition::float;

/// Indices of fields after the program's name in `/proc/self/stat` (`man 5 proc_pid_stat`).
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const THREADS: usize = 17;
const VIRTUAL_BYTES: usize = 20;
const RESIDENT_PAGES: usize = 21;

/// Returns the metrics in the Prometheus text format; empty on systems without `/proc`.
pub(super) fn process_metrics(started_seconds: u64) -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return String::new();
    };
    let fields: Vec<f64> = fields
        .split_ascii_whitespace()
        .map(|field| field.parse().unwrap_or_default())
        .collect();
    let field = |number: usize| fields.get(number).copied().unwrap_or_default();
    let cpu = (field(USER_TICKS) + field(SYSTEM_TICKS)) / float(clock_ticks_per_second());
    let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let max_files = getrlimit(Resource::Nofile).current;
    let mut text = String::new();
    let resident = field(RESIDENT_PAGES) * float(page_size() as u64);
    let max_files = max_files.map_or(f64::INFINITY, float);
    for (name, help, value) in [
        ("cpu_seconds_total", "CPU time", cpu),
        (
            "start_time_seconds",
            "Start time of the process, as Unix time",
            float(started_seconds),
        ),
        ("threads", "Threads", field(THREADS)),
        ("resident_memory_bytes", "Resident memory", resident),
        (
            "virtual_memory_bytes",
            "Size of the address space",
            field(VIRTUAL_BYTES),
        ),
        ("open_fds", "Number of open files", float(files as u64)),
        ("max_fds", "Maximum number of open files", max_files),
    ] {
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        // Writing to a string never fails.
        let _ = write!(
            text,
            "# HELP process_{name} {help}\n# TYPE process_{name} {kind}\nprocess_{name} {value}\n"
        );
    }
    text
}
