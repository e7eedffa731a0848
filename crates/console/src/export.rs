//! Downloads of the robots as files for other programs.

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{fields::Params, problem::Problem, state::AdminState};
use robot_detection_layer::detect;
use robot_detection_layer::registry::ExportFormat;
use robot_detection_operations::robots::{self, ListRobots};

/// Query of a download, beside that of the table.
#[derive(Debug, Deserialize)]
pub(super) struct ExportParams {
    #[serde(default)]
    format: String,
}

/// Returns the robots that a search finds as a file in one of the formats.
pub(super) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<ExportParams>,
    Params(search): Params<ListRobots>,
) -> Result<Response, Problem> {
    let format = ExportFormat::from_word(&params.format).ok_or_else(|| {
        let words = ExportFormat::ALL.iter().map(|format| format.as_str());
        let words: Vec<_> = words.collect();
        Problem::invalid(format!("format: use one of {}", words.join(", ")))
    })?;
    let operations = state.operations();
    let rows = robots::stored(&operations.store).await?;
    let rows = robots::select(rows, &search, &operations.detector.load())?;
    let mut robots: Vec<_> = rows.into_iter().map(|row| row.robot).collect();
    robots.sort_by(|one, other| (&one.source, &one.id).cmp(&(&other.source, &other.id)));
    // Ordering thousands of expressions would hold up other requests on this thread.
    let exported = tokio::task::spawn_blocking(move || detect::export(format, &robots))
        .await
        .map_err(|_| Problem::internal("the export ended early"))?;
    // As an attachment, so that a browser saves a file whose text others have written, not renders it.
    let name = format!("attachment; filename=\"{}\"", format.file_name());
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, exported.text).into_response())
}
