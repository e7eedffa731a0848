use super::{
    sample::{detector, fill},
    *,
};
use crate::detect::{Sign, Unlisted};

fn rows(by: By) -> Vec<(String, u64, u64)> {
    let detector = detector();
    let mut tally = Tally::new(&detector);
    fill(&mut tally);
    let rows = tally.rows(by).rows.into_iter();
    rows.map(|row| {
        let name = row.cells[0].clone().unwrap_or_default();
        (name, row.count.hits, row.count.bytes)
    })
    .collect()
}

#[track_caller]
fn assert_rows(by: By, expected: &[(&str, u64, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, hits, bytes)| ((*name).to_owned(), *hits, *bytes))
        .collect();
    assert_eq!(rows(by), expected);
}

#[test]
fn rows_are_sorted_by_hits_then_bytes_then_name() {
    assert_rows(
        By::Robot,
        &[
            ("alphabot", 4, 400),
            ("gammabot", 2, 0),
            ("betabot", 1, 300),
            ("alphapreview", 1, 10),
        ],
    );
}

#[test]
fn groups_are_sums_of_their_robots() {
    assert_rows(
        By::Operator,
        &[("Alpha", 5, 410), ("", 2, 0), ("=Beta, \"B\"", 1, 300)],
    );
    assert_rows(By::Purpose, &[("search", 7, 700), ("preview", 1, 10)]);
    assert_rows(By::Source, &[("bundled", 8, 710)]);
}

#[test]
fn every_line_has_exactly_one_kind() {
    assert_rows(
        By::Total,
        &[
            ("people", 10, 10_000),
            ("shared", 0, 0),
            ("robots", 8, 710),
            ("unlisted", 0, 0),
            ("no-user-agent", 1, 5),
            ("unreadable", 1, 0),
            ("all", 20, 10_715),
        ],
    );
}

#[test]
fn unlisted_robots_are_counted_by_purpose_and_by_user_agent() {
    let detector = detector();
    let mut tally = Tally::new(&detector);
    for (sign, user_agent) in [
        (Sign::Library, "fetcher/1"),
        (Sign::Word, "x-robot"),
        (Sign::Word, "x-robot"),
    ] {
        let claim = Claim::Unlisted(Unlisted { sign, range: 0..1 });
        tally.claim(&claim, user_agent.as_bytes(), 5);
    }
    let first = |by| -> Vec<_> {
        let rows = tally.rows(by).rows.into_iter();
        rows.map(|row| (row.cells[0].clone(), row.count.hits))
            .collect()
    };
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(
        first(By::Unlisted),
        [(some("x-robot"), 2), (some("fetcher/1"), 1)]
    );
    assert_eq!(first(By::Robot), [(some(UNLISTED), 2), (some(UNLISTED), 1)]);
    assert_eq!(
        first(By::Purpose),
        [(some("unknown"), 2), (some("library"), 1)]
    );
    assert_eq!(first(By::Operator), [(None, 3)]);
    assert_eq!(first(By::Source), [(None, 3)]);
    assert_eq!(tally.totals()[3].1, Count { hits: 3, bytes: 15 });
    assert_eq!(tally.totals()[2].1, Count::default());
}

#[test]
fn omitted_rows_are_counted() {
    let detector = detector();
    let mut tally = Tally::new(&detector);
    fill(&mut tally);
    let mut rows = tally.rows(By::Robot);
    assert_eq!(rows.truncate(0).0, 0);
    assert_eq!(rows.truncate(4).0, 0);
    let (gone, count) = rows.truncate(1);
    assert_eq!((gone, rows.rows.len()), (3, 1));
    assert_eq!(
        count,
        Count {
            hits: 4,
            bytes: 310
        }
    );
}

#[test]
fn bytes_do_not_overflow() {
    let mut count = Count::default();
    count.hit(u64::MAX);
    count.hit(1);
    assert_eq!((count.hits, count.bytes), (2, u64::MAX));
    assert_eq!(Count::default().shares_in(Count::default()), (0.0, 0.0));
}

#[test]
fn number_of_names_is_bounded_without_losing_hits() {
    let mut names = UnlistedUserAgents::default();
    for number in 0..MAX_UNLISTED as u64 + 5 {
        names.hit(format!("robot{number}").as_bytes(), 2);
    }
    names.hit(b"robot7", 1);
    let long = b"x".repeat(2 * MAX_USER_AGENT_BYTES);
    names.hit(&long, 1);
    let rows = names.rows();
    assert_eq!(rows.len(), MAX_UNLISTED + 1);
    let find = |name: Option<&str>| {
        let name = name.map(str::to_owned);
        rows.iter()
            .find(|row| row.cells == [name.clone()])
            .unwrap()
            .count
    };
    assert_eq!(find(Some("robot7")), Count { hits: 2, bytes: 3 });
    assert_eq!(find(None), Count { hits: 6, bytes: 11 });
}

#[test]
fn long_names_are_truncated() {
    let mut names = UnlistedUserAgents::default();
    names.hit(&b"x".repeat(MAX_USER_AGENT_BYTES), 0);
    names.hit(&b"x".repeat(100 * MAX_USER_AGENT_BYTES), 0);
    assert_eq!(names.rows().len(), 1);
}
