//! A lock-free histogram of durations.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The upper bounds of the buckets: the number of microseconds, and the text in seconds for the
/// output.
const BOUNDS: [(u64, &str); 9] = [
    (1_000, "0.001"),
    (5_000, "0.005"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

/// A histogram of durations, with buckets from a millisecond to a minute.
///
/// The counters use relaxed ordering: under load, a scrape may find a duration in its bucket but
/// not yet in the sum.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Counts per bucket; the last bucket is for durations above all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum_micros: AtomicU64,
}

impl Histogram {
    /// Counts a duration in its bucket, and adds the duration to the sum.
    pub fn record(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bounds = BOUNDS.iter();
        // `le` means "less than or equal": a duration equal to the bound is in its bucket.
        let at = bounds.take_while(|(bound, _)| micros > *bound).count();
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Appends the samples in the Prometheus text format, without a `# TYPE` line.
    ///
    /// `label` contains the name and value of the samples' only label.
    pub fn write(&self, name: &str, label: Option<(&str, &str)>, text: &mut String) {
        let label = label.map(|(name, value)| (name, label_value(value)));
        let before = label
            .as_ref()
            .map_or_else(String::new, |(name, value)| format!("{name}=\"{value}\","));
        // Prometheus buckets are cumulative: each counts all durations up to its bound.
        let mut count = 0;
        let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            count += bucket.load(Ordering::Relaxed);
            // Writing to a string never fails.
            let _ = writeln!(text, "{name}_bucket{{{before}le=\"{bound}\"}} {count}");
        }
        let labels = label.map_or_else(String::new, |(name, value)| {
            format!("{{{name}=\"{value}\"}}")
        });
        let sum = Duration::from_micros(self.sum_micros.load(Ordering::Relaxed));
        let _ = writeln!(text, "{name}_sum{labels} {}", sum.as_secs_f64());
        let _ = writeln!(text, "{name}_count{labels} {count}");
    }
}

/// Escapes backslashes, quotes and newlines in a label value, as the text format requires.
fn label_value(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_by_bucket() {
        let histogram = Histogram::default();
        for micros in [0, 1_000, 1_001, 60_000_000, 60_000_001] {
            histogram.record(Duration::from_micros(micros));
        }
        let mut text = String::new();
        histogram.write("seconds", Some(("site", "a\"b")), &mut text);
        for line in [
            r#"seconds_bucket{site="a\"b",le="0.001"} 2"#,
            r#"seconds_bucket{site="a\"b",le="0.005"} 3"#,
            r#"seconds_bucket{site="a\"b",le="10"} 3"#,
            r#"seconds_bucket{site="a\"b",le="60"} 4"#,
            r#"seconds_bucket{site="a\"b",le="+Inf"} 5"#,
            r#"seconds_sum{site="a\"b"} 120.002002"#,
            r#"seconds_count{site="a\"b"} 5"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let mut text = String::new();
        histogram.write("seconds", None, &mut text);
        assert!(text.starts_with("seconds_bucket{le=\"0.001\"} 2\n"));
        assert!(text.ends_with("seconds_count 5\n"));
    }

    #[test]
    fn bounds_match_their_written_form() {
        for (micros, text) in BOUNDS {
            let seconds: f64 = text.parse().unwrap();
            assert_eq!(
                Duration::from_secs_f64(seconds),
                Duration::from_micros(micros)
            );
        }
        assert!(BOUNDS.is_sorted());
    }
}
