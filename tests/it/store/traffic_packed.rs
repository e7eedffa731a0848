//! Packed traffic gives the same results as before packing.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use robot_detection::store::{
    ImportProgress, MinuteCounts, Store, StoreErrorKind, TrafficBatch, TrafficCount, TrafficImport,
    TrafficKey, TrafficSpan, TrafficStep,
};
use tokio::task::JoinSet;

use super::{Raw, TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    sums_stay_the_same_whatever_is_packed,
    years_are_packed_in_batches,
    packed_hours_are_pruned_and_days_stay,
    interrupted_packing_loses_nothing,
    undoing_an_import_removes_nothing_else,
}

mod shared {
    use super::*;
    on_shared_engines! {
        concurrent_packing_and_adding_add_up,
        a_damaged_row_is_named_and_hides_no_other_day,
    }
}

const DAY: i64 = 24 * 60;
const MINUTE_MS: i64 = 60_000;
/// A minute of 2024, in the middle of a day.
const NOW: i64 = 20_000 * DAY + 700;

fn key(number: u64) -> TrafficKey {
    TrafficKey {
        site: ["default", "shop"][usize::from(number % 2 == 1)].to_owned(),
        kind: "listed".to_owned(),
        robot: format!("bot-{}", number / 2),
        status: 2,
        ..TrafficKey::default()
    }
}

fn counted(minute: i64, number: u64, requests: u64) -> MinuteCounts {
    MinuteCounts {
        minute,
        key: key(number),
        count: TrafficCount {
            requests,
            bytes: 70_000 * requests + number,
            micros: 123 * requests,
        },
    }
}

async fn add(store: &Store, writer: &str, number: i64, counted: &[MinuteCounts]) {
    let batch = TrafficBatch {
        writer,
        number,
        counted,
        paths: &[],
        live: &[],
    };
    store.traffic().add(&batch, NOW * MINUTE_MS).await.unwrap();
}

async fn import(store: &Store, id: &str, counted: &[MinuteCounts]) {
    let import = TrafficImport {
        import_id: id.to_owned(),
        first_line: "first".to_owned(),
        head_bytes: 1,
        head: "head".to_owned(),
        name: "access.log".to_owned(),
        counted: 0,
        requests: 0,
    };
    let now_ms = NOW * MINUTE_MS;
    store.traffic().begin_import(&import, now_ms).await.unwrap();
    let progress = ImportProgress {
        import: &import,
        head: (1, "head"),
        counted_to: 9,
        counted,
        paths: &[],
    };
    assert!(store.traffic().import(&progress, now_ms).await.unwrap());
}

async fn undoing_an_import_removes_nothing_else(database: TestDatabase) {
    let store = database.store().await;
    let minutes = [NOW - 10, NOW - 3 * DAY, NOW - 3 * DAY + 1, NOW - 400 * DAY];
    let all = |requests| -> Vec<_> {
        let of_minute = |minute| (0..4).map(move |number| counted(minute, number, requests));
        minutes.into_iter().flat_map(of_minute).collect()
    };
    let kept = all(5);
    add(&store, "server", 1, &kept).await;
    pack_all(&store).await;
    for _ in 0..2 {
        import(&store, "ab", &all(3)).await;
        import(&store, "cd", &all(7)).await;
        pack_all(&store).await;
        assert_eq!(store.traffic().undo_import("ab").await.unwrap(), 3 * 16);
        assert_eq!(store.traffic().undo_import("cd").await.unwrap(), 7 * 16);
        check(&store, &kept, NOW - 500 * DAY..NOW).await;
        pack_all(&store).await;
        check(&store, &kept, NOW - 500 * DAY..NOW).await;
    }
    let unknown = store.traffic().undo_import("ab").await.unwrap_err();
    assert_eq!(unknown.kind(), StoreErrorKind::NotFound);
    import(&store, "ab", &all(3)).await;
    store
        .traffic()
        .prune((NOW + 8 * DAY) * MINUTE_MS)
        .await
        .unwrap();
    let old = store.traffic().undo_import("ab").await.unwrap_err();
    assert_eq!(old.kind(), StoreErrorKind::Conflict);
}

async fn pack_all(store: &Store) {
    while !store.traffic().pack(NOW * MINUTE_MS).await.unwrap() {}
}

async fn requests(store: &Store, minutes: Range<i64>) -> u64 {
    let sums = store
        .traffic()
        .read(minutes, NOW * MINUTE_MS)
        .await
        .unwrap();
    sums.iter().map(|sum| sum.count.requests).sum()
}

/// Returns the number of rows that are not packed, and that are.
async fn rows(raw: &mut Raw) -> [u64; 2] {
    let mut numbers = [0; 2];
    for (number, sql) in numbers.iter_mut().zip([
        "SELECT CAST(COUNT(*) AS TEXT) FROM traffic_counts WHERE span > 0",
        "SELECT CAST(COUNT(*) AS TEXT) FROM traffic_packed",
    ]) {
        *number = raw.text(sql).await.parse().unwrap();
    }
    numbers
}

type Sums = BTreeMap<TrafficKey, (u64, u64, u64)>;

fn put(sums: &mut Sums, key: &TrafficKey, count: TrafficCount) {
    let sum = sums.entry(key.clone()).or_default();
    sum.0 += count.requests;
    sum.1 += count.bytes;
    sum.2 += count.micros;
}

/// Adds up the counts of the given minutes one by one.
fn model(all: &[MinuteCounts], minutes: &Range<i64>, robot: Option<&str>) -> Sums {
    let told = TrafficSpan::covered(&TrafficSpan::cover(minutes.clone(), NOW));
    let told = told.unwrap_or(0..0);
    let mut sums = Sums::new();
    for one in all.iter().filter(|one| told.contains(&one.minute)) {
        if robot.is_none_or(|robot| robot == one.key.robot) {
            put(&mut sums, &one.key, one.count);
        }
    }
    sums
}

async fn check(store: &Store, all: &[MinuteCounts], minutes: Range<i64>) {
    let now_ms = NOW * MINUTE_MS;
    let mut told = Sums::new();
    for sum in store.traffic().read(minutes.clone(), now_ms).await.unwrap() {
        put(&mut told, &sum.key, sum.count);
    }
    assert_eq!(told, model(all, &minutes, None), "{minutes:?}");
    let longest = [None, Some(TrafficSpan::Hour), Some(TrafficSpan::Day)];
    let times = longest.map(|longest| (minutes.clone(), longest));
    for robot in [None, Some("bot-1")] {
        let series = store.traffic().series(&times, robot, now_ms).await.unwrap();
        let expected = model(all, &minutes, robot);
        for (part, longest) in series.parts.iter().zip(longest) {
            let (mut sums, mut course) = (Sums::new(), Sums::new());
            for (key, count) in series.keys.iter().zip(&part.sums) {
                if !count.is_empty() {
                    put(&mut sums, key, *count);
                }
            }
            assert_eq!(sums, expected, "{robot:?} {minutes:?}");
            for step in &part.steps {
                let ends = step.began + step.span.minutes();
                let in_step: u64 = all
                    .iter()
                    .filter(|one| (step.began..ends).contains(&one.minute))
                    .filter(|one| robot.is_none_or(|robot| robot == one.key.robot))
                    .map(|one| one.count.requests)
                    .sum();
                let mut told = 0;
                let same =
                    |other: &&TrafficStep| (other.began, other.span) == (step.began, step.span);
                for cell in part.steps.iter().filter(same).flat_map(|step| &step.cells) {
                    told += cell.requests;
                }
                assert_eq!(told, in_step, "{:?} {}", step.span, step.began);
                for cell in &step.cells {
                    let sum = course.entry(series.keys[cell.key_index()].clone());
                    let sum = sum.or_default();
                    *sum = (sum.0 + cell.requests, sum.1 + cell.bytes, 0);
                }
            }
            let without_time = expected
                .iter()
                .map(|(key, sum)| (key.clone(), (sum.0, sum.1, 0)));
            if longest.is_some() {
                assert_eq!(course, without_time.collect(), "{robot:?} {minutes:?}");
            }
        }
    }
}

async fn sums_stay_the_same_whatever_is_packed(database: TestDatabase) {
    let store = database.store().await;
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut all: Vec<MinuteCounts> = Vec::new();
        // Each seed has its own years.
        let newest = NOW - i64::try_from(seed).unwrap() * 400 * DAY;
        for number in 0..30 {
            let batch: Vec<_> = (0..random.usize(1..30))
                .map(|_| {
                    let days = [3, 40, 70][random.usize(..3)];
                    let ago = random.i64(0..days * DAY);
                    let many = [3, 200, 5_000_000_000][random.usize(..3)];
                    counted(newest - ago, random.u64(..9), random.u64(1..many))
                })
                .collect();
            add(&store, &format!("{seed}"), number, &batch).await;
            all.extend(batch);
            if random.bool() {
                store.traffic().pack(NOW * MINUTE_MS).await.unwrap();
            }
            if number % 10 == 9 {
                for _ in 0..4 {
                    let (a, b) = (random.i64(0..80 * DAY), random.i64(0..80 * DAY));
                    let minutes = newest - a.max(b)..(newest - a.min(b) + 1).min(NOW + 1);
                    check(&store, &all, minutes).await;
                }
            }
        }
        let first = all.iter().map(|one| one.minute).min().unwrap();
        pack_all(&store).await;
        check(&store, &all, first..newest + 1).await;
        let told = store.traffic().first_day().await.unwrap();
        assert_eq!(told, Some(TrafficSpan::Day.start(first)));
    }
}

async fn years_are_packed_in_batches(database: TestDatabase) {
    let store = database.store().await;
    let counted: Vec<_> = (0..60)
        .map(|days| counted(NOW - days * DAY, 1, 1))
        .collect();
    add(&store, "a", 1, &counted).await;
    // The first call packs only a few days, so that a server's batches do not wait.
    assert!(!store.traffic().pack(NOW * MINUTE_MS).await.unwrap());
    assert_eq!(requests(&store, 0..NOW + 1).await, 60);
    pack_all(&store).await;
    assert_eq!(requests(&store, 0..NOW + 1).await, 60);
    assert!(store.traffic().pack(NOW * MINUTE_MS).await.unwrap());
    let old = NOW - 50 * DAY..NOW - 49 * DAY;
    let expected = requests(&store, old.clone()).await;
    // Counts from an old log are unpacked rows again, and then packed with the others.
    add(&store, "a", 2, &[counted[50].clone(), counted[3].clone()]).await;
    assert_eq!(requests(&store, old.clone()).await, expected + 1);
    pack_all(&store).await;
    assert_eq!(requests(&store, old).await, expected + 1);
    assert_eq!(requests(&store, 0..NOW + 1).await, 62);
}

async fn packed_hours_are_pruned_and_days_stay(database: TestDatabase) {
    let store = database.store().await;
    for (number, days) in (1..).zip([3, 30, 40]) {
        add(&store, "a", number, &[counted(NOW - days * DAY, 0, 1)]).await;
    }
    pack_all(&store).await;
    store.traffic().prune(NOW * MINUTE_MS).await.unwrap();
    for (days, after) in [(3, 60), (30, 60), (40, DAY)] {
        let at = NOW - days * DAY;
        assert_eq!(requests(&store, at..at + 1).await, 1, "{days} days");
        assert_eq!(requests(&store, at + after..at + after + 1).await, 0);
    }
    let later = (NOW + 90 * DAY) * MINUTE_MS;
    store.traffic().prune(later).await.unwrap();
    let sums = store.traffic().read(0..NOW + 1, later).await.unwrap();
    assert_eq!(sums.iter().map(|sum| sum.count.requests).sum::<u64>(), 3);
}

async fn interrupted_packing_loses_nothing(database: TestDatabase) {
    let store = database.store().await;
    let mut all = 0;
    for (number, millis) in (1..).zip([0, 1, 2, 3, 5, 8, 13, 21, 34]) {
        let counted: Vec<_> = (0..400)
            .map(|one: u64| counted(NOW - 10 * DAY, one, 1))
            .collect();
        add(&store, "a", number, &counted).await;
        all += 400;
        let packing = store.traffic().pack(NOW * MINUTE_MS);
        drop(tokio::time::timeout(Duration::from_millis(millis), packing).await);
        assert_eq!(requests(&store, 0..NOW + 1).await, all, "{millis} ms");
    }
    pack_all(&store).await;
    assert_eq!(requests(&store, 0..NOW + 1).await, all);
}

async fn concurrent_packing_and_adding_add_up(database: TestDatabase) {
    database.store().await.close().await;
    let mut instances = JoinSet::new();
    for instance in 0..4_u64 {
        let store = database.store().await;
        instances.spawn(async move {
            for number in 1..=15 {
                if instance < 2 {
                    let counted: Vec<_> = (0..40)
                        .map(|one| {
                            let day = i64::try_from(one % 3).unwrap();
                            counted(NOW - (9 - day) * DAY, one * (instance + 1) % 40, 1)
                        })
                        .collect();
                    add(&store, &instance.to_string(), number, &counted).await;
                } else {
                    store.traffic().pack(NOW * MINUTE_MS).await.unwrap();
                }
            }
            store.close().await;
        });
    }
    while let Some(ended) = instances.join_next().await {
        ended.unwrap();
    }
    let store = database.store().await;
    assert_eq!(requests(&store, 0..NOW + 1).await, 2 * 15 * 40);
    pack_all(&store).await;
    assert_eq!(requests(&store, 0..NOW + 1).await, 2 * 15 * 40);
    // Rows of three days, and of one hour of each day.
    assert_eq!(rows(&mut database.raw().await).await, [0, 6]);
}

async fn a_damaged_row_is_named_and_hides_no_other_day(database: TestDatabase) {
    let store = database.store().await;
    let days: Vec<_> = (5..9).map(|days| counted(NOW - days * DAY, 1, 1)).collect();
    add(&store, "a", 1, &days).await;
    pack_all(&store).await;
    let mut raw = database.raw().await;
    let bytes = |hex: &str| match &raw {
        Raw::Sqlite(_) => format!("X'{hex}'"),
        Raw::Postgres(_) => format!("'\\x{hex}'"),
    };
    let began = TrafficSpan::Day.start(NOW - 6 * DAY);
    let damages = [
        (bytes("01"), "damaged"),
        (bytes("010000000001"), "damaged"),
        (bytes("09"), "version 9"),
    ];
    for (damage, word) in damages {
        let which = format!("WHERE span = 2 AND began = {began}");
        raw.execute(&format!(
            "UPDATE traffic_packed SET packed = {damage} {which}"
        ))
        .await;
        let error = store
            .traffic()
            .read(0..NOW + 1, NOW * MINUTE_MS)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        let text = error.to_string();
        assert!(text.contains("the day 2024-09-28 (UTC)"), "{text}");
        assert!(text.contains(word), "{text}");
        assert_eq!(requests(&store, began + DAY..began + 2 * DAY).await, 1);
        let times = [(began..began + DAY, Some(TrafficSpan::Day))];
        let series = store.traffic().series(&times, None, NOW * MINUTE_MS).await;
        assert_eq!(series.unwrap_err().kind(), StoreErrorKind::Corrupt);
    }
    // Later counts of that day stay unpacked, those of other days are packed.
    add(&store, "a", 2, &days).await;
    let error = loop {
        match store.traffic().pack(NOW * MINUTE_MS).await {
            Ok(is_done) => assert!(!is_done),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("2024-09-28"), "{error}");
    assert_eq!(rows(&mut raw).await[0], 1);
    raw.close().await;
}
