//! Sorting and pagination of the registry page.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{
    fields::Params,
    page::encode,
    problem::Problem,
    sorting::{Column, SortColumn, Sorting},
    state::AdminState,
};
use robot_detection_layer::detect;
use robot_detection_layer::detect::Duplicates;
use robot_detection_layer::registry::ExportFormat;
use robot_detection_operations::robots::{self, ListRobots, RobotView};

/// Number of robots on a page.
const PAGE_ROWS: usize = 100;

// The ID is shown below the name and has no separate column.
const COLUMNS: [SortColumn; 5] = [
    SortColumn::name("name", "Robot"),
    SortColumn::name("purpose", "Purpose"),
    SortColumn::name("source", "Source"),
    SortColumn::name("status", "Status"),
    SortColumn::name("modified", "Modified"),
];

/// The query parameters of the registry page, in addition to the parameters of the robots table.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageParams {
    page: String,
    pub(super) note: String,
}

/// One page of the robots table.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) request: ListRobots,
    pub(super) robots: Vec<RobotView>,
    pub(super) total: usize,
    pub(super) pages: usize,
    /// Page number, from 1 to the last page.
    pub(super) number: usize,
}

impl Listing {
    pub(super) async fn load(
        state: &AdminState,
        request: ListRobots,
        params: &PageParams,
    ) -> Result<Self, Problem> {
        let wanted = match params.page.trim() {
            "" => 1,
            page => page
                .parse::<usize>()
                .map_err(|_| Problem::invalid("page must be a number greater than 0"))?,
        };
        let operations = state.operations();
        let detector = operations.detector.load();
        let rows = robots::stored(&operations.store).await?;
        let rows = robots::select(rows, &request, &detector)?;
        let total = rows.len();
        let pages = total.div_ceil(PAGE_ROWS).max(1);
        // Robots may have been removed after the link was created.
        let number = wanted.clamp(1, pages);
        let duplicates = Duplicates::new(&detector);
        let rows = rows.iter().skip((number - 1) * PAGE_ROWS).take(PAGE_ROWS);
        Ok(Self {
            robots: rows
                .map(|row| RobotView::new(row, &duplicates, state.now_ms()))
                .collect(),
            request,
            total,
            pages,
            number,
        })
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        let sorting = Sorting {
            word: COLUMNS
                .iter()
                .find(|column| column.word == self.request.sort())
                .map_or("", |column| column.word),
            is_descending: self.request.is_descending(),
        };
        let link = |sort: &str, dir: &str| {
            let request = ListRobots {
                sort: Some(sort.to_owned()),
                dir: Some(dir.to_owned()),
                ..self.request.clone()
            };
            link(&request, 1)
        };
        COLUMNS.map(|column| sorting.heading(column, link)).into()
    }

    pub(super) fn at(&self, number: usize) -> String {
        link(&self.request, number)
    }

    /// Returns the formats in which the listing can be exported, with their links.
    pub(super) fn exports(&self) -> Vec<(&'static str, String)> {
        let formats = ExportFormat::ALL.iter().map(|format| {
            let word = format.as_str();
            let search = self.at(1);
            let search = search.split_once('?').map_or("", |(_, search)| search);
            let mark = if search.is_empty() { "" } else { "&" };
            (word, format!("robots/export?format={word}{mark}{search}"))
        });
        formats.collect()
    }

    pub(super) fn is_narrowed(&self) -> bool {
        let request = &self.request;
        !request.q.is_empty() || request.source.is_some() || request.status.is_some()
    }

    pub(super) fn has_status(&self, status: &str) -> bool {
        self.request.status.as_deref() == Some(status)
    }

    pub(super) fn first(&self) -> usize {
        self.total.min((self.number - 1) * PAGE_ROWS + 1)
    }

    pub(super) fn last(&self) -> usize {
        (self.number * PAGE_ROWS).min(self.total)
    }
}

/// Returns the link to a page of the registry, relative to the console's root.
fn link(request: &ListRobots, number: usize) -> String {
    let mut link = "registry".to_owned();
    let number = number.to_string();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let parts = [
        ("q", request.q.clone()),
        ("source", text(&request.source)),
        ("status", text(&request.status)),
        ("purpose", text(&request.purpose)),
        ("operator", text(&request.operator)),
        ("sort", text(&request.sort).replace("name", "")),
        ("dir", text(&request.dir).replace("asc", "")),
        ("page", if number == "1" { String::new() } else { number }),
    ];
    let mut mark = '?';
    for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(link, "{mark}{key}={}", encode(&value));
        mark = '&';
    }
    link
}

/// The query parameters of a download, in addition to the parameters of the robots table.
#[derive(Debug, Deserialize)]
pub(super) struct ExportParams {
    #[serde(default)]
    format: String,
}

/// Returns the robots that match a search as a file in one of the export formats.
pub(super) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<ExportParams>,
    Params(search): Params<ListRobots>,
) -> Result<Response, Problem> {
    let format = ExportFormat::from_word(&params.format).ok_or_else(|| {
        let words = ExportFormat::ALL.iter().map(|format| format.as_str());
        let words: Vec<_> = words.collect();
        Problem::invalid(format!("format must be one of {}", words.join(", ")))
    })?;
    let operations = state.operations();
    let rows = robots::stored(&operations.store).await?;
    let rows = robots::select(rows, &search, &operations.detector.load())?;
    let mut robots: Vec<_> = rows.into_iter().map(|row| row.robot).collect();
    robots.sort_by(|one, other| (&one.source, &one.id).cmp(&(&other.source, &other.id)));
    // Sorting thousands of regular expressions would block other requests on this thread.
    let exported = tokio::task::spawn_blocking(move || detect::export(format, &robots))
        .await
        .map_err(|_| Problem::internal("the export task failed"))?;
    // Sent as an attachment, so that browsers save the third-party text instead of rendering it.
    let name = format!("attachment; filename=\"{}\"", format.file_name());
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, exported.text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(request: ListRobots, number: usize) -> Listing {
        Listing {
            request,
            robots: Vec::new(),
            total: 0,
            pages: 1,
            number,
        }
    }

    #[test]
    fn page_link_keeps_the_search() {
        let word = |text: &str| Some(text.to_owned());
        let request = ListRobots {
            q: "a&b=\"<".to_owned(),
            source: word("manual"),
            status: word("active"),
            sort: word("modified"),
            dir: word("desc"),
            ..ListRobots::default()
        };
        assert_eq!(
            listing(request, 1).at(3),
            "registry?q=a%26b%3D%22%3C&source=manual&status=active&sort=modified&dir=desc&page=3"
        );
    }

    #[test]
    fn second_click_on_a_column_reverses_the_order() {
        let request = ListRobots {
            sort: Some("status".to_owned()),
            ..ListRobots::default()
        };
        let columns = listing(request, 1).columns();
        let status = columns.iter().find(|c| c.label == "Status").unwrap();
        assert_eq!(status.order, "ascending");
        assert_eq!(status.link, "registry?sort=status&dir=desc");
        assert_eq!(columns[0].order, "none");
    }
}
