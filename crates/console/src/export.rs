//! Downloads of the robots as files for other programs.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    fields::Params,
    listing::{ListParams, Listing},
    problem::Problem,
    state::AdminState,
};
use robot_detection_layer::detect;
use robot_detection_layer::registry::{ExportFormat, Robot};

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
    Params(search): Params<ListParams>,
) -> Result<Response, Problem> {
    let format = ExportFormat::from_word(&params.format).ok_or_else(|| {
        let words = ExportFormat::ALL.iter().map(|format| format.as_str());
        let words: Vec<_> = words.collect();
        Problem::invalid(format!("format: use one of {}", words.join(", ")))
    })?;
    let robots: Vec<Arc<Robot>> = Listing::parse(&search)?.all(&state).await?;
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
