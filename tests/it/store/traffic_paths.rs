//! Counts of requested paths add up, exactly once, within the promised space.

use robot_detection::store::{
    CountedPaths, DeletionFilter, PathCount, PathKey, PathOmissions, PathSums, Store, TrafficBatch,
    parent_pattern,
};
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    paths_of_hours_and_days_add_up_and_a_batch_counts_once,
    the_paths_of_a_site_are_limited_and_cut_counts_stay_exact,
    old_paths_are_pruned_and_others_can_be_deleted,
}

mod shared {
    use super::*;
    on_shared_engines! {
        concurrent_adding_and_trimming_lose_no_request,
    }
}

const DAY: i64 = 24 * 60;
/// A minute of 2024, in the middle of a day.
const NOW: i64 = 20_000 * DAY + 700;
const NOW_MS: i64 = NOW * 60_000;

fn row(robot: &str, path: &str, requests: u64) -> (PathKey, PathCount) {
    let key = PathKey {
        site: "shop".to_owned(),
        robot: robot.to_owned(),
        path: path.to_owned(),
    };
    let count = PathCount {
        requests,
        client_errors: requests / 2,
        ..PathCount::default()
    };
    (key, count)
}

fn counted(minute: i64, rows: &[(&str, &str, u64)]) -> CountedPaths {
    CountedPaths {
        minute,
        rows: rows
            .iter()
            .map(|(robot, path, n)| row(robot, path, *n))
            .collect(),
        cuts: Vec::new(),
    }
}

async fn add(store: &Store, writer: &str, number: i64, paths: &[CountedPaths]) {
    let batch = TrafficBatch {
        writer,
        number,
        counted: &[],
        paths,
        live: &[],
    };
    store.traffic().add(&batch, NOW_MS).await.unwrap();
}

async fn read(store: &Store, minutes: std::ops::Range<i64>) -> PathSums {
    store.traffic().paths(minutes, None, NOW_MS).await.unwrap()
}

fn requests(sums: &PathSums) -> u64 {
    sums.rows.iter().map(|row| row.count.requests).sum()
}

async fn paths_of_hours_and_days_add_up_and_a_batch_counts_once(database: TestDatabase) {
    let store = database.store().await;
    let mut batch = counted(NOW, &[("bot", "/a/b/c", 4), ("", "/a/b/*", 2)]);
    batch.cuts = vec![(
        "shop".to_owned(),
        PathOmissions {
            paths: 3,
            patterns: 1,
            skipped: 2,
        },
    )];
    for _ in 0..2 {
        add(&store, "writer", 1, &[batch.clone()]).await;
    }
    add(&store, "another", 1, &[batch.clone()]).await;
    add(
        &store,
        "writer",
        2,
        &[counted(NOW - 5 * DAY, &[("bot", "/a/b/c", 1)])],
    )
    .await;
    let hour = read(&store, NOW..NOW + 1).await;
    assert_eq!(hour.minutes, NOW - NOW % 60..NOW - NOW % 60 + 60);
    let mut told: Vec<_> = hour
        .rows
        .iter()
        .map(|row| (&*row.key.robot, row.count.requests, row.count.client_errors))
        .collect();
    told.sort_unstable();
    assert_eq!(told, [("", 4, 2), ("bot", 8, 4)]);
    let cut = hour.cuts["shop"];
    assert_eq!((cut.paths, cut.patterns, cut.skipped), (6, 2, 4));
    assert_eq!(requests(&read(&store, NOW - 6 * DAY..NOW + 1).await), 13);
    let nobody = store.traffic().paths(NOW..NOW + 1, Some("blog"), NOW_MS);
    assert_eq!(nobody.await.unwrap().rows, []);
}

async fn the_paths_of_a_site_are_limited_and_cut_counts_stay_exact(database: TestDatabase) {
    let store = database.store().await;
    for (number, minute) in (1..).zip(NOW..NOW + 12) {
        let paths: Vec<_> = (0..400)
            .map(|path| {
                (
                    format!("/shop/items/item-{path}-{number}"),
                    1 + u64::from(path < 5),
                )
            })
            .chain([("/shop/items/best-of-all".to_owned(), 20)])
            .collect();
        let rows: Vec<_> = paths.iter().map(|(path, n)| ("bot", &**path, *n)).collect();
        add(&store, "a", number, &[counted(minute, &rows)]).await;
        store.traffic().trim_paths(minute).await.unwrap();
    }
    let day = NOW - NOW % DAY;
    for (minutes, most) in [(NOW..NOW + 12, 1_000), (day..day + DAY, 500)] {
        let sums = read(&store, minutes).await;
        assert!(sums.rows.len() <= most, "{}", sums.rows.len());
        assert_eq!(requests(&sums), 12 * (400 + 5 + 20));
        let cut = sums.cuts["shop"].paths;
        let best = sums
            .rows
            .iter()
            .find(|row| row.key.path == "/shop/items/best-of-all");
        let best = best.unwrap().count.requests;
        assert!(best <= 240 && 240 <= best + cut, "{best} {cut}");
        assert!(sums.rows.iter().any(|row| row.key.path == "/shop/items/*"));
    }
}

async fn old_paths_are_pruned_and_others_can_be_deleted(database: TestDatabase) {
    let store = database.store().await;
    for (number, days) in (1..).zip([1, 3, 390, 402]) {
        let rows = [("bot", "/a", 1), ("cat", "/a", 1), ("", "/a", 1)];
        add(&store, "a", number, &[counted(NOW - days * DAY, &rows)]).await;
    }
    let all = 0..NOW + 1;
    store.traffic().prune(NOW_MS).await.unwrap();
    assert_eq!(requests(&read(&store, all.clone()).await), 9);
    // Hourly counts exist only for the last two days.
    assert_eq!(
        read(&store, NOW - 3 * DAY..NOW - 3 * DAY + 1)
            .await
            .minutes
            .end
            % DAY,
        0
    );
    // Its hourly and daily counts.
    assert_eq!(forget(&store, Some("bot"), None).await, 4);
    let left = read(&store, all.clone()).await;
    assert!(left.rows.iter().all(|row| row.key.robot != "bot"));
    forget(&store, None, Some(NOW - 2 * DAY)).await;
    assert_eq!(requests(&read(&store, all.clone()).await), 2);
    forget(&store, Some(""), Some(NOW + 1)).await;
    let left = read(&store, all).await;
    assert_eq!(left.rows.len(), 1);
    assert_eq!(left.rows[0].key.robot, "cat");
    assert!(parent_pattern("/*").is_none());
}

/// Deletes paths as the command does, and checks that the announced number is right.
async fn forget(store: &Store, robot: Option<&str>, before_minute: Option<i64>) -> u64 {
    let forgetting = DeletionFilter {
        address: None,
        robot: robot.map(str::to_owned),
        before_ms: before_minute.map(|minute| minute * 60_000),
    };
    let counted = store.evidence().count_matching(&forgetting).await.unwrap();
    let forgotten = store
        .evidence()
        .delete(&forgetting, "test", NOW * 60_000)
        .await;
    let forgotten = forgotten.unwrap();
    assert_eq!(counted.paths, forgotten.paths);
    forgotten.paths
}

async fn concurrent_adding_and_trimming_lose_no_request(database: TestDatabase) {
    let mut instances = JoinSet::new();
    for instance in 0..3 {
        let store = database.store().await;
        instances.spawn(async move {
            for number in 1..8 {
                let paths: Vec<_> = (0..300)
                    .map(|path| format!("/shop/items/item-{}-{number}", path + 100 * instance))
                    .collect();
                let rows: Vec<_> = paths.iter().map(|path| ("bot", &**path, 1)).collect();
                let writer = format!("writer-{instance}");
                add(&store, &writer, number, &[counted(NOW, &rows)]).await;
                store.traffic().trim_paths(NOW).await.unwrap();
            }
        });
    }
    while let Some(done) = instances.join_next().await {
        done.unwrap();
    }
    let store = database.store().await;
    store.traffic().trim_paths(NOW).await.unwrap();
    let day = NOW - NOW % DAY;
    for minutes in [NOW..NOW + 1, day..day + DAY] {
        let sums = read(&store, minutes).await;
        assert_eq!(requests(&sums), 3 * 7 * 300);
        assert!(sums.rows.len() <= 1_000);
    }
}
