//! Counts of visits add up, exactly once, whichever instance adds them and however old they are.

use robot_detection::store::{
    LiveMinutes, MinuteCounts, Store, TrafficBatch, TrafficCount, TrafficKey, TrafficSpan,
};
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    minutes_hours_and_days_have_the_same_sums,
    a_batch_is_added_once,
    old_minutes_and_hours_are_pruned_and_days_stay,
    minutes_counted_live_are_recorded,
    the_course_of_any_range_adds_up_to_its_sums,
    visitors_of_any_name_are_counted,
}

mod shared {
    use super::*;
    on_shared_engines! {
        concurrent_additions_add_up,
    }
}

const DAY: i64 = 24 * 60;
const MINUTE_MS: i64 = 60_000;
/// A minute of 2024, in the middle of a day.
const NOW: i64 = 20_000 * DAY + 700;

fn key(robot: &str) -> TrafficKey {
    TrafficKey {
        site: "default".to_owned(),
        kind: "listed".to_owned(),
        robot: robot.to_owned(),
        verdict: "verified".to_owned(),
        decision: "pass".to_owned(),
        cause: "no-filter-pattern".to_owned(),
        status: 2,
    }
}

fn counted(minute: i64, robot: &str, requests: u64) -> MinuteCounts {
    MinuteCounts {
        minute,
        key: key(robot),
        count: TrafficCount {
            requests,
            bytes: 1_000 * requests,
            micros: 7 * requests,
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

/// Returns the requests of all robots in a range of minutes.
async fn requests(store: &Store, minutes: std::ops::Range<i64>) -> u64 {
    let sums = store
        .traffic()
        .read(minutes, NOW * MINUTE_MS)
        .await
        .unwrap();
    sums.iter().map(|sum| sum.count.requests).sum()
}

async fn minutes_hours_and_days_have_the_same_sums(database: TestDatabase) {
    let store = database.store().await;
    let counted: Vec<_> = (0..3 * DAY)
        .step_by(7)
        .map(|ago| counted(NOW - ago, &format!("bot-{}", ago % 5), 3))
        .collect();
    for (number, counted) in (1..).zip(counted.chunks(100)) {
        add(&store, "a", number, counted).await;
    }
    let all: u64 = counted.iter().map(|one| one.count.requests).sum();
    assert_eq!(requests(&store, 0..NOW + 1).await, all);
    // Minute by minute and hour by hour, however the sums are stored.
    let mut by_hour = 0;
    for hour in (NOW - 3 * DAY..=NOW).step_by(60) {
        let start = TrafficSpan::Hour.start(hour);
        by_hour += requests(&store, start..start + 60).await;
    }
    assert_eq!(by_hour, all);
    assert_eq!(requests(&store, NOW..NOW + 1).await, 3);
    assert_eq!(requests(&store, NOW - 6..NOW).await, 0);
    let sums = store
        .traffic()
        .read(NOW..NOW + 1, NOW * MINUTE_MS)
        .await
        .unwrap();
    assert_eq!(sums[0].key, key("bot-0"));
    assert_eq!((sums[0].count.bytes, sums[0].count.micros), (3_000, 21));
    let first = store.traffic().first_day().await.unwrap();
    assert_eq!(first, Some(TrafficSpan::Day.start(NOW - 3 * DAY + 7)));
}

async fn the_course_of_any_range_adds_up_to_its_sums(database: TestDatabase) {
    let store = database.store().await;
    let counted: Vec<_> = (0..4 * DAY)
        .step_by(11)
        .map(|ago| counted(NOW - ago, &format!("bot-{}", ago % 3), 2))
        .collect();
    add(&store, "a", 1, &counted).await;
    let times = [NOW - 30..NOW + 1, NOW - 3 * DAY - 5..NOW - 7, 0..NOW + 1];
    let asked: Vec<_> = times
        .iter()
        .flat_map(|time| TrafficSpan::ALL.map(|longest| (time.clone(), Some(longest))))
        .filter(|(time, longest)| time.start > 0 || *longest == Some(TrafficSpan::Day))
        .chain([(NOW - 3 * DAY..NOW, None)])
        .collect();
    let now_ms = NOW * MINUTE_MS;
    for robot in [None, Some("bot-1"), Some("nobody")] {
        let series = store.traffic().series(&asked, robot, now_ms).await.unwrap();
        assert_eq!(series.parts.len(), asked.len());
        for (part, (minutes, longest)) in series.parts.iter().zip(&asked) {
            let sums = store.traffic().read(minutes.clone(), now_ms).await.unwrap();
            let is_asked = |name: &str| robot.is_none_or(|robot| robot == name);
            let sums = sums.iter().filter(|sum| is_asked(&sum.key.robot));
            let mut told = (0, 0);
            for step in &part.steps {
                assert!(part.minutes.contains(&step.began));
                assert!(Some(step.span) <= *longest || step.began < NOW - 2 * DAY);
                for cell in &step.cells {
                    assert!(is_asked(&series.keys[cell.key_index()].robot));
                    told = (told.0 + cell.requests, told.1 + cell.bytes);
                }
            }
            let expected = sums.fold((0, 0), |all, sum| {
                (all.0 + sum.count.requests, all.1 + sum.count.bytes)
            });
            if longest.is_some() {
                assert_eq!(told, expected, "{robot:?} {minutes:?} {longest:?}");
            } else {
                assert!(part.steps.is_empty());
            }
            let of_sums = part.sums.iter().fold((0, 0), |told, sum| {
                (told.0 + sum.requests, told.1 + sum.bytes)
            });
            assert_eq!(of_sums, expected, "{robot:?} {minutes:?} {longest:?}");
        }
    }
}

async fn a_batch_is_added_once(database: TestDatabase) {
    let store = database.store().await;
    let batch = [counted(NOW, "a", 5)];
    add(&store, "writer", 1, &batch).await;
    add(&store, "writer", 1, &batch).await;
    assert_eq!(requests(&store, NOW..NOW + 1).await, 5);
    add(&store, "writer", 2, &batch).await;
    add(&store, "another", 1, &batch).await;
    // An older batch that was delayed.
    add(&store, "writer", 1, &batch).await;
    assert_eq!(requests(&store, NOW..NOW + 1).await, 15);
}

async fn old_minutes_and_hours_are_pruned_and_days_stay(database: TestDatabase) {
    let store = database.store().await;
    for (number, days) in (1..).zip([1, 3, 40]) {
        add(&store, "a", number, &[counted(NOW - days * DAY, "a", 1)]).await;
    }
    store.traffic().prune(NOW * MINUTE_MS).await.unwrap();
    assert_eq!(requests(&store, 0..NOW + 1).await, 3);
    // By the minute, by the hour, by the day.
    for (days, before, within) in [(1, 1, 1), (3, 60, 60), (40, DAY, DAY)] {
        let at = NOW - days * DAY;
        assert_eq!(requests(&store, at..at + 1).await, 1, "{days} days");
        assert_eq!(requests(&store, at - before..at - before + 1).await, 0);
        assert_eq!(requests(&store, at + within..at + within + 1).await, 0);
    }
    // Pruned as if three months later: only the days remain.
    store
        .traffic()
        .prune((NOW + 90 * DAY) * MINUTE_MS)
        .await
        .unwrap();
    let later = (NOW + 90 * DAY) * MINUTE_MS;
    let sums = store.traffic().read(0..NOW + 1, later).await.unwrap();
    assert_eq!(sums.iter().map(|sum| sum.count.requests).sum::<u64>(), 3);
}

async fn minutes_counted_live_are_recorded(database: TestDatabase) {
    let store = database.store().await;
    for (writer, minutes) in [
        ("a", 10..=20),
        ("a", 10..=25),
        ("a", 10..=22),
        ("b", 40..=40),
    ] {
        let live = ["default", "shop"].map(|site| LiveMinutes {
            site: site.to_owned(),
            minutes: minutes.clone(),
        });
        let batch = TrafficBatch {
            writer,
            number: *minutes.end(),
            counted: &[],
            paths: &[],
            live: &live,
        };
        store.traffic().add(&batch, NOW * MINUTE_MS).await.unwrap();
    }
    let of = async |minutes| store.traffic().live_minutes("shop", minutes).await.unwrap();
    assert_eq!(of(0..100).await, [10..26, 40..41]);
    assert_eq!(of(26..40).await, []);
    assert_eq!(of(25..26).await.first(), Some(&(10..26)));
    assert_eq!(
        store
            .traffic()
            .live_minutes("elsewhere", 0..100)
            .await
            .unwrap(),
        []
    );
}

async fn visitors_of_any_name_are_counted(database: TestDatabase) {
    let store = database.store().await;
    let names = [
        "",
        "' OR 1=1 --",
        "<script>",
        "=1+1",
        "\u{202e}a",
        "名",
        "a\0b",
    ];
    let counted: Vec<_> = names.iter().map(|name| counted(NOW, name, 1)).collect();
    add(&store, "a", 1, &counted).await;
    let sums = store
        .traffic()
        .read(NOW..NOW + 1, NOW * MINUTE_MS)
        .await
        .unwrap();
    let mut found: Vec<_> = sums.iter().map(|sum| &*sum.key.robot).collect();
    found.sort_unstable();
    let mut expected = names.map(|name| if name == "a\0b" { "ab" } else { name });
    expected.sort_unstable();
    assert_eq!(found, expected);
}

async fn concurrent_additions_add_up(database: TestDatabase) {
    database.store().await.close().await;
    let mut instances = JoinSet::new();
    for instance in 0..3 {
        let store = database.store().await;
        instances.spawn(async move {
            for number in 1..=20 {
                // The same keys in another order: locking rows in arrival order could deadlock.
                let counted: Vec<_> = (0..40)
                    .map(|key| {
                        counted(
                            NOW - key % 3,
                            &format!("bot-{}", (key * (instance + 1)) % 40),
                            1,
                        )
                    })
                    .collect();
                add(&store, &instance.to_string(), number, &counted).await;
            }
            store.close().await;
        });
    }
    while let Some(ended) = instances.join_next().await {
        ended.unwrap();
    }
    let store = database.store().await;
    assert_eq!(requests(&store, 0..NOW + 1).await, 3 * 20 * 40);
}
