//! Renders pages with scripts before they are processed.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::header;
use url::Url;

use crate::render::{Answer, RenderError, Resources};

use super::{
    effect,
    fetched_page::FetchedPage,
    page_result::has_script,
    settings::Rendering,
    source::{PageRequest, PageResponse},
    visitor::PageVisitor,
};

impl PageVisitor {
    /// Replaces a response with the rendered page, if configured. If rendering fails, the response
    /// is kept and the reason is recorded.
    pub(super) async fn render(self: &Arc<Self>, came: &mut FetchedPage) {
        let Some(renderer) = &self.renderer else {
            return;
        };
        if !self.is_rendered(came) {
            return;
        }
        let answer = &mut came.answer;
        let page = Answer {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.clone(),
        };
        let resources: Arc<dyn Resources> = Arc::<Self>::clone(self);
        match renderer.render(&came.judging.url, page, resources).await {
            Ok(rendered) => {
                if !rendered.is_whole {
                    let url = came.judging.url.as_str();
                    tracing::warn!(url, "a rendered page is too large and was truncated");
                }
                replace(answer, rendered.html);
            }
            Err(error) => {
                let url = came.judging.url.as_str();
                if !matches!(error, RenderError::Refused { .. }) {
                    tracing::warn!(url, "cannot render a page: {error}");
                }
                came.judging
                    .set_render_error(format!("the page was not rendered: {error}"));
            }
        }
    }

    fn is_rendered(&self, came: &mut FetchedPage) -> bool {
        let media_type = came.answer.media_type();
        let is_html = matches!(
            media_type.as_deref(),
            Some("text/html" | "application/xhtml+xml")
        );
        let is_page = is_html && came.judging.url.has_host();
        match self.settings().render.0 {
            Rendering::Never => false,
            Rendering::Always => is_page,
            Rendering::Empty => is_page && has_script(&came.answer.body) && came.is_empty(),
        }
    }

    /// Requests a resource used by a page from a server, unless the request may have side effects.
    async fn resource(&self, url: Url, is_head: bool) -> Option<Answer> {
        self.settings().scope.check_host(&url).ok()?;
        if effect(&url).is_some() {
            return None;
        }
        if let Some(kept) = self.kept_files.get(&url).filter(|_| !is_head) {
            return Some(kept);
        }
        let request = if is_head {
            PageRequest::head(&url)
        } else {
            PageRequest::get(&url)
        };
        let answer = self.settings().source.fetch(&request).await.ok()?;
        let media_type = answer.media_type().unwrap_or_default();
        let answer = Answer {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        };
        let is_kept = media_type.ends_with("javascript") || media_type == "text/css";
        if is_kept && answer.status == 200 && !is_head {
            self.kept_files.store(url, &answer);
        }
        Some(answer)
    }
}

impl Resources for PageVisitor {
    fn ask(
        self: Arc<Self>,
        url: Url,
        is_head: bool,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send>> {
        Box::pin(async move { self.resource(url, is_head).await })
    }
}

/// Replaces a body with rendered HTML.
fn replace(answer: &mut PageResponse, html: Bytes) {
    answer.body = html;
    let headers = &mut answer.headers;
    // These headers describe the original response, but the output of scripts can change
    // independently.
    for name in [header::ETAG, header::LAST_MODIFIED, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    let utf8 = header::HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, utf8);
}
