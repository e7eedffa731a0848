//! Charts over time draw all counted requests.

use std::time::Duration;

use proptest::{prelude::*, test_runner::TestRunner};
use regex::Regex;
use reqwest::StatusCode;
use tokio::runtime::Runtime;

use super::{
    site::{Client, Plan, Site},
    visits::{self, DAY, NOW, USUAL, minute_of},
};

/// Height of the drawing; the highest sum fills the drawing.
const HEIGHT: u64 = 178;

/// 2026-04-10T12:00Z: most of the zones change their clocks in the months before.
const APRIL: i64 = NOW + 40 * DAY;

/// Zones with whole, half and quarter hours, and with a clock change of half an hour.
const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
];

/// Chart of a page: each layer's legend and the drawn value of each step.
struct Chart {
    most: u64,
    layers: Vec<(u64, Vec<u64>)>,
    /// Figures of each table row, by layer.
    rows: Vec<Vec<u64>>,
}

fn numbers(pattern: &str, text: &str) -> Vec<u64> {
    let found = Regex::new(pattern).unwrap();
    let found = found.captures_iter(text);
    found.map(|found| found[1].parse().unwrap()).collect()
}

impl Chart {
    fn read(page: &str) -> Self {
        let legend = numbers(r#"<span class="total">(\d+)</span></li>"#, page);
        let path = Regex::new(r#"<path class="layer-\d" d="M([^Z]+)Z">"#).unwrap();
        let drawn = path.captures_iter(page).map(|path| heights(&path[1]));
        let table = page.split("<tbody>").nth(1).unwrap_or_default();
        let table = table.split("</tbody>").next().unwrap_or_default();
        let cells = numbers(r#"<td class="number">(\d+)</td>"#, table);
        Self {
            most: numbers(r#"y="12" text-anchor="end">(\d+)<"#, page)[0],
            rows: cells.chunks(legend.len()).map(<[u64]>::to_vec).collect(),
            layers: legend.into_iter().zip(drawn).collect(),
        }
    }

    /// Checks that drawing, table and legend have the same figures.
    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert!(!self.layers.is_empty());
        for (layer, (total, drawn)) in self.layers.iter().enumerate() {
            let figures: Vec<u64> = self.rows.iter().map(|row| row[layer]).collect();
            prop_assert_eq!(figures.iter().sum::<u64>(), *total);
            prop_assert_eq!(drawn.len(), figures.len(), "a step is not drawn");
            for (height, figure) in drawn.iter().zip(figures) {
                // Both edges are rounded to a unit of the picture.
                prop_assert!((figure * HEIGHT / self.most).abs_diff(*height) <= 1);
            }
        }
        let sums = self.rows.iter().map(|row| row.iter().sum::<u64>());
        prop_assert_eq!(sums.max(), Some(self.most));
        Ok(())
    }
}

/// Returns the height of an area at each step.
fn heights(path: &str) -> Vec<u64> {
    let line = Regex::new(r"H\d+L\d+ (\d+)").unwrap();
    // With a single step, the line goes to the right edge and back.
    let path = line.replace(path, "");
    let edge = numbers(r"\d+ (\d+)", &path);
    let (above, below) = edge.split_at(edge.len() / 2);
    let sides = above.iter().zip(below.iter().rev());
    sides.map(|(above, below)| below - above).collect()
}

/// Returns a site in a time zone with little traffic for months and more of it recently.
async fn visited(zone: &'static str) -> (Site, Client) {
    let plan = Plan {
        time_zone: zone,
        ..Plan::open()
    };
    let site = plan.start().await;
    let mut counted = Vec::new();
    for number in 0..120_i64 {
        let minute = APRIL - number * number * number * DAY * 100 / (120 * 120 * 120) - number % 7;
        let visits = &USUAL[counted.len() % USUAL.len()];
        counted.push(minute_of(visits, minute, 1 + number.unsigned_abs() % 5));
    }
    visits::add_at(APRIL * 60_000, &site.store, &counted).await;
    site.clock.advance(Duration::from_hours(40 * 24));
    let client = site.client();
    (site, client)
}

#[test]
fn every_step_counted_in_the_legend_is_drawn_in_all_ranges_and_zones() {
    let runtime = Runtime::new().unwrap();
    let sites: Vec<_> = ZONES.map(|zone| runtime.block_on(visited(zone))).into();
    let words = prop::sample::select(vec!["1h", "24h", "7d", "30d", "90d", "all"]);
    let minutes = (0..100 * DAY, 0..100 * DAY);
    let range = prop_oneof![
        words.prop_map(|word| format!("time={word}")),
        minutes.prop_map(|(ago, length)| format!("since={}m&until={ago}m", ago + length)),
        // From midnight in the zone.
        (1..31).prop_map(|day| format!("since=2026-03-{day:02}")),
    ];
    let page = prop::sample::select(vec!["traffic?by=decision", "overview?by=decision"]);
    let question = (0..ZONES.len(), range, page, 0..60_u64);
    let config = ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let asked = runner.run(&question, |(zone, range, page, minute)| {
        let (site, client) = &sites[zone];
        site.clock.advance(Duration::from_mins(minute));
        let answer = runtime.block_on(client.get(&format!("{page}&{range}")));
        prop_assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        if answer.body.contains("No requests in this period.") {
            return Ok(());
        }
        Chart::read(&answer.body).check()
    });
    asked.unwrap();
}

#[tokio::test]
async fn the_first_screen_shows_the_first_requests() {
    let site = Plan::open().start().await;
    visits::add(&site.store, &[minute_of(&USUAL[4], NOW, 7)]).await;
    let answer = site.client().get("overview").await;
    let chart = Chart::read(&answer.body);
    chart.check().unwrap();
    assert_eq!(chart.layers[0].1.iter().max(), Some(&HEIGHT));
    assert!(
        answer
            .text()
            .contains("Pale areas mark incomplete intervals")
    );
}
