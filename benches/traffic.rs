//! Cost of stored traffic: bytes in the database, and the time of queries.
//!
//! Invents requests of robots and people over simulated days, and adds them minute by minute as a
//! server does. Once an hour, deletes expired traffic and packs old traffic. Prints the size of the
//! file, and the time of queries for sums and courses over some ranges. The last day ends at the
//! coming midnight, so that a server can show a kept file.
//!
//! ```text
//! cargo bench --bench traffic -- [--days 90] [--requests 10000000] [--database URL | --keep FILE]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark may panic, and measures time"
)]

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use robot_detection::{
    clock::Clock,
    store::{
        LiveMinutes, MinuteCounts, Store, TrafficBatch, TrafficCount, TrafficKey, TrafficSpan,
    },
};

const SITES: [&str; 3] = ["shop", "docs", "blog"];
const ROBOTS: usize = 200;
const DAY: i64 = 24 * 60;
/// Seed, for the same requests in each run.
const SEED: u64 = 20_261_124;
/// Number of reads; the fastest and the median are printed.
const READS: usize = 5;

struct Arguments {
    days: i64,
    requests: u64,
    database: Option<String>,
    keep: Option<PathBuf>,
    /// First minute, counted from 1970.
    began: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some(arguments) = Arguments::read() else {
        println!(
            "usage: cargo bench --bench traffic -- [--days N] [--requests N] \
             [--database URL | --keep FILE]"
        );
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("traffic.db");
    let file = arguments.keep.clone().unwrap_or(file);
    let url = arguments.database.clone();
    let url = url.unwrap_or_else(|| format!("sqlite://{}", file.display()));
    let store = Store::connect(&url).await.unwrap();
    let empty = size(&file);
    let writing = Instant::now();
    let requests = fill(&store, &arguments).await;
    let elapsed = writing.elapsed();
    println!("requests            {requests}");
    println!("days                {}", arguments.days);
    println!("added in            {:.1} s", elapsed.as_secs_f64());
    let batches = f64::from(u32::try_from(arguments.days * DAY).unwrap());
    println!(
        "a minute's batch    {:.2} ms",
        1e3 * elapsed.as_secs_f64() / batches
    );
    if let Some((empty, full)) = empty.zip(size(&file)) {
        let mib = |bytes: u64| f64::from(u32::try_from(bytes >> 10).unwrap()) / 1_024.0;
        println!(
            "database            {:.1} MiB, {:.1} MiB of it empty",
            mib(full),
            mib(empty)
        );
    }
    read(&store, &arguments, requests).await;
}

impl Arguments {
    /// Parses the arguments; returns `None` if one is invalid.
    fn read() -> Option<Self> {
        let mut read = Self {
            days: 90,
            requests: 10_000_000,
            database: None,
            keep: None,
            began: 0,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo passes this argument to each benchmark.
                "--bench" => {}
                "--days" => read.days = arguments.next()?.parse().ok()?,
                "--requests" => read.requests = arguments.next()?.parse().ok()?,
                "--database" => read.database = Some(arguments.next()?),
                "--keep" => read.keep = Some(arguments.next()?.into()),
                _ => return None,
            }
        }
        let today = TrafficSpan::Day.start(Clock::system().now_ms() / 60_000);
        read.began = today - read.days * DAY;
        Some(read)
    }
}

/// Adds all minutes; returns their number of requests.
async fn fill(store: &Store, arguments: &Arguments) -> u64 {
    let mut random = fastrand::Rng::with_seed(SEED);
    let minutes = arguments.days * DAY;
    let a_minute = arguments.requests / minutes.unsigned_abs();
    let mut left = arguments.requests;
    let (mut added, mut packing) = (0, Duration::ZERO);
    for at in 0..minutes {
        let requests = if at + 1 == minutes {
            left
        } else {
            a_minute.min(left)
        };
        left -= requests;
        let minute = arguments.began + at;
        let counted = invented(minute, requests, &mut random);
        added += counted.iter().map(|one| one.count.requests).sum::<u64>();
        let live = SITES.map(|site| LiveMinutes {
            site: site.to_owned(),
            minutes: arguments.began..=minute,
        });
        let batch = TrafficBatch {
            writer: "bench",
            number: at + 1,
            counted: &counted,
            paths: &[],
            live: &live,
        };
        let now_ms = minute * 60_000;
        store.traffic().add(&batch, now_ms).await.unwrap();
        if minute % 60 == 0 {
            store.traffic().prune(now_ms).await.unwrap();
            let begun = Instant::now();
            while !store.traffic().pack(now_ms).await.unwrap() {}
            packing = packing.max(begun.elapsed());
        }
    }
    println!(
        "packed in           {:.1} ms at most",
        1e3 * packing.as_secs_f64()
    );
    added
}

/// Invents the requests of a minute: six of ten are people's, and few robots send most others.
fn invented(minute: i64, requests: u64, random: &mut fastrand::Rng) -> Vec<MinuteCounts> {
    let mut counts = BTreeMap::<TrafficKey, TrafficCount>::new();
    for _ in 0..requests {
        let bytes = random.u64(500..60_000);
        *counts.entry(key(random)).or_default() += TrafficCount {
            requests: 1,
            bytes,
            micros: random.u64(300..90_000),
        };
    }
    let counted = |(key, count)| MinuteCounts { minute, key, count };
    counts.into_iter().map(counted).collect()
}

fn key(random: &mut fastrand::Rng) -> TrafficKey {
    let site = SITES[random.usize(..SITES.len())].to_owned();
    let status = *random
        .choice([2, 2, 2, 2, 2, 2, 2, 3, 4, 4].iter())
        .unwrap();
    if random.u8(..10) < 6 {
        return TrafficKey {
            site,
            kind: "person".to_owned(),
            verdict: "none".to_owned(),
            decision: "pass".to_owned(),
            cause: "not-a-robot".to_owned(),
            status,
            ..TrafficKey::default()
        };
    }
    // The product of two random numbers favours the first robots, as real traffic does.
    let lean = random.f64() * random.f64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "between zero and the number of robots"
    )]
    let robot = (lean * ROBOTS as f64) as usize;
    let verdict = ["verified", "verified", "unverifiable", "spoofed"][random.usize(..4)];
    let (decision, cause) = [
        ("pass", "not-filtered"),
        ("pass", "not-filtered"),
        ("redirect", "filter-pattern"),
        ("refuse", "rule \"no training\""),
    ][(robot + random.usize(..2)) % 4];
    TrafficKey {
        site,
        kind: "listed".to_owned(),
        robot: format!("robot-{robot}"),
        verdict: verdict.to_owned(),
        decision: decision.to_owned(),
        cause: cause.to_owned(),
        status: if decision == "redirect" { 3 } else { status },
    }
}

/// Prints the time of queries for sums over some ranges.
async fn read(store: &Store, arguments: &Arguments, requests: u64) {
    let now = arguments.began + arguments.days * DAY;
    for days in [1, 7, 30, 90, arguments.days] {
        let minutes = now - days * DAY..now;
        let (mut sums_took, mut course_took) = (Vec::new(), Vec::new());
        let mut sum = 0;
        for _ in 0..READS {
            let begun = Instant::now();
            let sums = store.traffic().read(minutes.clone(), now * 60_000).await;
            sums_took.push(begun.elapsed());
            sum = sums.unwrap().iter().map(|one| one.count.requests).sum();
            // As for a page: the range, and the sums of an equally long range before.
            let times = [
                (minutes.clone(), Some(TrafficSpan::Day)),
                (minutes.start - days * DAY..minutes.start, None),
            ];
            let begun = Instant::now();
            let course = store.traffic().series(&times, None, now * 60_000).await;
            course_took.push(begun.elapsed());
            assert!(!course.unwrap().parts[0].steps.is_empty());
        }
        println!(
            "{days:>4} days, {sum:>10} requests: sums {}, course {}",
            times(&mut sums_took),
            times(&mut course_took)
        );
        assert!(
            days < arguments.days || sum == requests,
            "requests are missing"
        );
    }
}

/// Returns the median and the shortest of some times.
fn times(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let ms = |time: Duration| 1e3 * time.as_secs_f64();
    format!("{:.1} ms (at best {:.1})", ms(took[READS / 2]), ms(took[0]))
}

/// Returns the bytes of the database, if it is a file.
fn size(file: &std::path::Path) -> Option<u64> {
    let parts = ["", "-wal"].map(|end| format!("{}{end}", file.display()));
    let sizes = parts.iter().filter_map(|part| std::fs::metadata(part).ok());
    file.exists().then(|| sizes.map(|part| part.len()).sum())
}
