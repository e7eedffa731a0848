//! Tables that reports contain, from the counts of logs or of the database.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::log_report::{Counter, Findings, Hour, Pages, PeopleCounter, REASONS};
use crate::robots_txt::{RobotsTxt, Warning};
use crate::store::AddressNetwork;
use crate::summary::{Count, Row, Rows, Summary as _};
use crate::suspicion::moment;
use crate::traffic::{By, Class, Figures, Parameter, Parameters};

use super::section::{Cell, Section};

/// The number of hours from the first Monday of 1970 to 1970: weeks begin on Mondays.
const MONDAY: i64 = 3 * 24;

/// Returns the tables of visitors by class, robot and operator.
pub(super) fn visitors(figures: &Figures<'_>, top: usize) -> Vec<Section> {
    let all = figures.all();
    let mut classes = figures.rows(By::Class);
    let number = |row: &Row| {
        let word = row.cells.first().cloned().flatten().unwrap_or_default();
        Class::ALL.iter().position(|class| class.as_str() == word)
    };
    classes.rows.sort_by_key(number);
    for row in &mut classes.rows {
        let class = number(row).and_then(|at| Class::ALL.get(at));
        row.cells = vec![class.map(|class| class.label().to_owned())];
    }
    let mut robots = figures.rows(By::Robot);
    let mut ai = Rows {
        columns: robots.columns,
        rows: robots.rows.clone(),
    };
    ai.rows.retain(|row| {
        let purpose = row.cells.get(3).and_then(Option::as_deref);
        purpose.is_some_and(|purpose| purpose.starts_with("ai-"))
    });
    robots.rows.retain(|row| row.count.hits > 0);
    let left_out = ["name", "source"];
    vec![
        Section::new(
            "visitors",
            "Who visits",
            "Each request, also for images and scripts, is counted in the first class that applies. Suspects are the fleets, addresses and networks below. Shares are of all requests.",
        )
        .with_counts(classes, all, 0),
        Section::new(
            "ai",
            "AI robots by purpose",
            "Robots of AI companies, with the purpose that their operators state.",
        )
        .with_counts(ai, all, top)
        .without(&left_out),
        Section::new("robots", "Robots", "All robots that name themselves.")
            .with_counts(robots, all, top)
            .without(&left_out),
        Section::new(
            "operators",
            "Operators",
            "Companies and projects that run the robots.",
        )
        .with_counts(figures.rows(By::Operator), all, top),
    ]
}

/// Returns the tables of the load by hour of the day, by day and by week, in UTC.
pub(super) fn load(hours: &BTreeMap<i64, Hour>) -> Vec<Section> {
    let day = |hour: i64| {
        moment(hour.saturating_mul(3_600))
            .get(..10)
            .unwrap_or_default()
            .to_owned()
    };
    let group = |name: &dyn Fn(i64) -> String| {
        let mut groups = BTreeMap::<String, Hour>::new();
        for (hour, counted) in hours {
            groups.entry(name(*hour)).or_default().add(counted);
        }
        groups
    };
    let section = |id, title, about: &str, column, groups: BTreeMap<String, Hour>| {
        let most = groups.values().map(Hour::requests).max().unwrap_or(0);
        let rows = groups.into_iter().map(|(name, hour)| {
            let count = |hits| Count { hits, bytes: 0 };
            let (share, _) = count(hour.requests()).shares_in(count(most));
            vec![
                Cell::Text(name),
                Cell::Number(hour.people),
                Cell::Number(hour.suspects),
                Cell::Number(hour.robots),
                Cell::Number(hour.requests()),
                Cell::Share(share),
                Cell::Bytes(hour.bytes),
            ]
        });
        Section::new(id, title, about)
            .with_columns(&[
                column,
                "people",
                "suspects",
                "robots",
                "requests",
                "of the busiest",
                "bytes",
            ])
            .with_rows(rows)
    };
    vec![
        section(
            "hours",
            "Load by hour of the day",
            "Sums of all days, in UTC. Robots include requests without a User-Agent.",
            "hour",
            group(&|hour| format!("{:02}:00", hour.rem_euclid(24))),
        ),
        section("days", "Load by day", "", "day", group(&day)),
        section(
            "weeks",
            "Load by week",
            "Weeks are named after their Monday.",
            "week",
            group(&|hour| day(hour - (hour + MONDAY).rem_euclid(168))),
        ),
    ]
}

/// Lists the lines of robots.txt that robots interpret differently than intended.
pub(super) fn robots_txt(file: &RobotsTxt, top: usize) -> Section {
    let warnings = file.warnings();
    let line =
        |warning: &Warning| vec![Cell::Number(warning.line as u64), Cell::text(&warning.text)];
    let about = "Lines of robots.txt that robots interpret differently than probably intended.";
    let mut section = Section::new("warnings", "Warnings about robots.txt", about.to_owned())
        .with_columns(&["line", "warning"])
        .with_rows(warnings.iter().take(top).map(line));
    section.more = warnings.len().saturating_sub(top);
    section
}

/// Returns the table of the query parameters that robots use.
pub(super) fn parameters(parameters: &Parameters, top: usize) -> Section {
    let all = parameters.sorted();
    let top = if top == 0 { all.len() } else { top };
    let row = |one: &Parameter<'_>| {
        vec![
            Cell::text(one.robot),
            Cell::text(one.path),
            Cell::text(if one.name.is_empty() {
                "(other)"
            } else {
                one.name
            }),
            Cell::Number(one.requests),
            Cell::Share(one.share),
            Cell::Number(one.values),
            Cell::Number(one.pages),
        ]
    };
    let about = "Robots only. Many values on few pages: a rule with a condition on the query, such as \
                 query = [\"tags\"], selects these requests. Numbers of values and pages are approximate.";
    let mut section = Section::new("parameters", "Query parameters of robots", about)
        .with_columns(&[
            "robot",
            "path",
            "parameter",
            "requests",
            "share",
            "values",
            "pages",
        ])
        .with_rows(all.iter().take(top).map(row));
    section.more = all.len().saturating_sub(top);
    section
}

/// Returns the table of the most requested pages.
pub(super) fn pages(pages: &Pages, top: usize, robots_txt: Option<&RobotsTxt>) -> Section {
    let (counts, all) = pages.top(top);
    let more = all - counts.len();
    let rules = robots_txt.map(|file| file.for_header(""));
    let rows = counts.into_iter().map(|(path, count)| {
        let mut row = vec![
            Cell::bytes(path),
            Cell::Number(count.people),
            Cell::Number(count.suspects),
            Cell::Number(count.robots),
            Cell::Number(count.requests()),
            Cell::Bytes(count.bytes),
        ];
        row.extend(rules.as_ref().map(|rules| {
            let is_allowed = rules.check(&String::from_utf8_lossy(path)).allowed();
            Cell::text(if is_allowed { "allowed" } else { "disallowed" })
        }));
        row
    });
    let mut about = "Pages only, without queries.".to_owned();
    if rules.is_some() {
        about += " The column robots.txt applies to robots that the file does not name.";
    }
    if pages.missing > 0 {
        about += " Each number may be too low by up to ";
        about += &pages.missing.to_string();
        about.push('.');
    }
    let columns = [
        "page",
        "people",
        "suspects",
        "robots",
        "requests",
        "bytes",
        "robots.txt",
    ];
    let columns = if rules.is_some() {
        &columns[..]
    } else {
        columns.split_last().map_or(&[][..], |(_, rest)| rest)
    };
    let mut section = Section::new("pages", "Most requested pages", about)
        .with_columns(columns)
        .with_rows(rows);
    section.more = more;
    section
}

/// Returns the table of fleets, from their JSON values.
pub(super) fn fleets(fleets: Vec<Value>, top: usize) -> Section {
    let row = |one: &Value| {
        let [requests, addresses] = ["requests", "addresses"].map(|name| number(one, name));
        let [from, until] = ["since", "until"].map(|name| minute(one, name));
        let samples = joined(one, "samples", Value::as_str);
        let user_agent = text(one, "user_agent");
        vec![
            user_agent,
            requests,
            addresses,
            from,
            until,
            reasons(one),
            samples,
        ]
    };
    let about = "Many addresses that act as one robot and claim to be a browser.";
    Section::new("fleets", "Fleets", about)
        .with_columns(&[
            "user agent",
            "requests",
            "addresses",
            "flagged from",
            "flagged until",
            "reasons",
            "samples",
        ])
        .with_values(fleets, top, row)
}

/// Returns the table of addresses and networks that behave like robots, from their JSON values.
pub(super) fn conduct(mut all: Vec<Value>, top: usize, is_full: bool) -> Section {
    for network in all.iter_mut().filter_map(|one| one.get_mut("network")) {
        let known = network
            .as_str()
            .and_then(|network| network.parse::<AddressNetwork>().ok());
        if let Some(known) = known.filter(|_| !is_full) {
            *network = known.widened().to_string().into();
        }
    }
    let row = |one: &Value| {
        let numbers = ["requests", "pages", "paths", "not_found"].map(|name| number(one, name));
        let [from, until] = ["since", "until"].map(|name| minute(one, name));
        let cells = [text(one, "network")].into_iter().chain(numbers);
        cells.chain([from, until, reasons(one)]).collect()
    };
    let title = "Addresses and networks that behave like robots";
    let about = "Their requests claim to be from a browser. Addresses are cut to /24 and /48.";
    Section::new("conduct", title, about)
        .with_columns(&[
            "network",
            "requests",
            "pages",
            "paths",
            "not found",
            "flagged from",
            "flagged until",
            "reasons",
        ])
        .with_values(all, top, row)
}

fn text(one: &Value, name: &str) -> Cell {
    Cell::text(one.get(name).and_then(Value::as_str).unwrap_or_default())
}

/// Returns a time as `2026-03-01 10:15`, in UTC.
fn minute(one: &Value, name: &str) -> Cell {
    let time = one.get(name).and_then(Value::as_str).unwrap_or_default();
    Cell::text(&time.get(..16).unwrap_or_default().replace('T', " "))
}

fn number(one: &Value, name: &str) -> Cell {
    let number = one.get(name).and_then(Value::as_u64);
    number.map_or(Cell::None, Cell::Number)
}

fn joined(one: &Value, name: &str, word: fn(&Value) -> Option<&str>) -> Cell {
    let words = one
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let cut = words
        .filter_map(word)
        .map(|word| Cell::text(word).to_string());
    Cell::Text(cut.collect::<Vec<_>>().join("; "))
}

fn reasons(one: &Value) -> Cell {
    joined(one, "reasons", |reason| reason.get("sentence")?.as_str())
}

/// Returns the tables that only logs can fill: unlisted robots, impostors, and robots.txt.
pub(super) fn from_log(
    counter: &Counter<'_>,
    all: Count,
    args: &super::ReportArgs,
    top: usize,
) -> Vec<Section> {
    let unlisted = counter.unlisted().map(|(name, count)| Row {
        cells: vec![Some(String::from_utf8_lossy(name).into_owned())],
        count,
    });
    let count = |requests: u64| Count {
        hits: requests,
        bytes: 0,
    };
    let disallowed = counter.disallowed.iter().map(|(robot, requests)| Row {
        cells: vec![Some((*robot).to_owned())],
        count: count(*requests),
    });
    let impostors = counter
        .impostors
        .iter()
        .map(|((robot, network), requests)| Row {
            cells: vec![Some((*robot).to_owned()), Some(network.clone())],
            count: count(*requests),
        });
    let sorted = |columns, rows: Vec<Row>| {
        let mut rows = Rows { columns, rows };
        rows.sort();
        rows
    };
    let plain = |section: Section, rows| {
        section
            .with_counts(rows, all, top)
            .without(&["bytes", "share of bytes"])
    };
    vec![
        Section::new(
            "unlisted",
            "Unlisted robots",
            "User-Agents that name a robot of no registry.",
        )
        .with_counts(sorted(&["user agent"], unlisted.collect()), all, top),
        plain(
            Section::new(
                "impostors",
                "Impostors",
                "Networks that claim to be a robot that they are not.",
            )
            .unless(args.verify, "Not examined: use --verify."),
            sorted(&["claimed robot", "network"], impostors.collect()),
        ),
        plain(
            Section::new(
                "disallowed",
                "Requests that robots.txt disallows",
                "Robots that requested pages closed to them.",
            )
            .unless(args.robots_txt.is_some(), "Not examined: use --robots-txt."),
            sorted(&["robot"], disallowed.collect()),
        ),
    ]
}

/// Returns the limits of the evaluation, one sentence each.
pub(super) fn limits(findings: &Findings<'_>, args: &super::ReportArgs) -> Vec<String> {
    let mut limits = Vec::new();
    let mut add = |holds: bool, text: String| {
        if holds {
            limits.push(text);
        }
    };
    add(
        findings.without_client > 0,
        format!(
            "{} requests have no client address and were not evaluated; log the address as the first field or as remote_addr.",
            findings.without_client
        ),
    );
    add(
        findings.late > 0,
        format!(
            "{} requests are older than earlier lines of the same log and were evaluated out of order.",
            findings.late
        ),
    );
    add(findings.judged > 0 && findings.referred == 0,
        "No line contains a referrer, so one reason for fleets cannot be evaluated: log the Referer header.".to_owned());
    add(args.robots_txt.is_none(),
        "Requests for disallowed pages are unknown: specify the site's robots.txt with --robots-txt.".to_owned());
    add(!args.verify,
        "Claims to be a robot were not verified, so impostors are counted as the robots that they claim to be: use --verify.".to_owned());
    add(true, "A log lacks most request headers, so a fleet whose User-Agent many people use cannot be found.".to_owned());
    limits
}

/// Returns the tables of the counted and the omitted requests.
pub(super) fn people(counter: &PeopleCounter<'_>, top: usize) -> Vec<Section> {
    let row = |text: &str, requests| vec![Cell::text(text), Cell::Number(requests)];
    let classes = counter.classes.iter();
    let classes = classes.map(|(class, requests)| row(class.label(), *requests));
    let reasons = REASONS.iter().zip(counter.left_out);
    let reasons = reasons.map(|(reason, requests)| row(reason, requests));
    let left_out = counter.classes.values().chain(&counter.left_out);
    let all = left_out.sum::<u64>() + counter.counted;
    let months = counter.months.iter();
    vec![
        Section::new(
            "counted",
            "Requests of people",
            "Page requests; a double click counts once.",
        )
        .with_columns(&["month", "requests"])
        .with_rows(months.map(|(month, requests)| row(month, *requests))),
        Section::new(
            "left-out",
            "Requests left out",
            "Why the other requests are not counted.",
        )
        .with_columns(&["reason", "requests"])
        .with_rows(classes.chain(reasons).chain([
            row("requests of people that were counted", counter.counted),
            row("all requests", all),
        ])),
        pages(&counter.pages, top, None).without(&["suspects", "robots", "requests"]),
    ]
}
