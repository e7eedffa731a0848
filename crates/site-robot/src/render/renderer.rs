//! Renderer that renders several pages in parallel in one browser.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::{Answer, RenderError, Resources, browser::Browser, tab::Tab};

/// Maximum number of browser starts per run.
const MAX_STARTS: u32 = 100;

/// Limits of the page renderer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RenderLimits {
    /// Name or path of the browser; if empty, an installed Chromium is searched for.
    pub program: PathBuf,
    /// Number of pages rendered in parallel.
    pub tabs: usize,
    /// Maximum time for a page to settle; after that, the page is used as it is.
    pub timeout: Duration,
    /// Maximum memory used by the browser and all its processes, in bytes.
    pub max_memory: u64,
    /// Maximum size of a rendered page, in bytes.
    pub max_html_bytes: u64,
}

impl Default for RenderLimits {
    fn default() -> Self {
        Self {
            program: PathBuf::new(),
            tabs: 4,
            timeout: Duration::from_secs(10),
            max_memory: 600 * 1024 * 1024,
            max_html_bytes: 10 * 1024 * 1024,
        }
    }
}

/// An HTML page after its scripts have run.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    /// HTML of the page, in UTF-8.
    pub html: Bytes,
    /// Whether the HTML is complete.
    pub is_whole: bool,
}

/// Renderer of pages. The browser is started for the first page and stopped on drop.
#[derive(Debug)]
pub struct Renderer {
    limits: RenderLimits,
    tabs: Semaphore,
    browser: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    browser: Option<Arc<Browser>>,
    starts: u32,
    /// Reason why no browser is available, which applies to the rest of the run.
    refused: Option<RenderError>,
}

impl Renderer {
    /// Creates a renderer with the given limits.
    pub fn new(limits: RenderLimits) -> Self {
        Self {
            tabs: Semaphore::new(limits.tabs.max(1)),
            browser: Mutex::default(),
            limits,
        }
    }

    /// Starts the browser unless it is already running.
    ///
    /// # Errors
    ///
    /// Returns the reason why the browser cannot be started, with advice.
    pub async fn start(&self) -> Result<(), RenderError> {
        self.browser().await.map(drop)
    }

    /// Returns the memory used by the browser, in bytes; `None` if no browser is running.
    pub async fn memory(&self) -> Option<u64> {
        let browser = self.browser.lock().await.browser.clone();
        browser?.memory().await
    }

    /// Renders a page from its URL and the server's response.
    ///
    /// # Errors
    ///
    /// Returns an error if no browser is available, or if the page takes too long, makes too many
    /// requests, or crashes the browser twice.
    pub async fn render(
        &self,
        url: &Url,
        page: Answer,
        resources: Arc<dyn Resources>,
    ) -> Result<RenderedPage, RenderError> {
        // The semaphore is never closed, so the error is ignored.
        let turn = self.tabs.acquire().await;
        let rendered = self.render_once(url, page.clone(), Arc::clone(&resources));
        match rendered.await {
            // Another page may have crashed the browser, so this page is retried alone.
            Err(RenderError::Ended { .. }) => {
                drop(turn);
                let all = u32::try_from(self.limits.tabs.max(1)).unwrap_or(1);
                let _turns = self.tabs.acquire_many(all).await;
                let rendered = self.render_once(url, page, resources).await;
                rendered.map_err(|error| match error {
                    RenderError::Ended { .. } => RenderError::Cut {
                        did: "crashed the browser",
                    },
                    error => error,
                })
            }
            rendered => rendered,
        }
    }

    async fn render_once(
        &self,
        url: &Url,
        page: Answer,
        resources: Arc<dyn Resources>,
    ) -> Result<RenderedPage, RenderError> {
        let browser = self.browser().await?;
        let mut tab = match browser.kept_tab() {
            Some(tab) => tab,
            None => Tab::open(&browser.connection).await?,
        };
        let rendered = tab.render(url, page, resources, &self.limits).await;
        if rendered.is_ok() && tab.navigate_away(url).await {
            browser.keep(tab);
        } else if !tab.close().await {
            // The page keeps running, and can only be ended by stopping the browser.
            browser.end().await;
        }
        rendered
    }

    async fn browser(&self) -> Result<Arc<Browser>, RenderError> {
        let mut state = self.browser.lock().await;
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        let running = state.browser.clone();
        if let Some(browser) = running.filter(|it| !it.connection.has_ended()) {
            return Ok(browser);
        }
        state.browser = None;
        state.starts += 1;
        let started = if state.starts > MAX_STARTS {
            Err(RenderError::refused("the browser exited too often"))
        } else {
            Browser::start(&self.limits.program, self.limits.max_memory).await
        };
        match started {
            Ok(browser) => {
                let browser = Arc::new(browser);
                state.browser = Some(Arc::clone(&browser));
                Ok(browser)
            }
            Err(error) => {
                tracing::warn!("cannot render pages: {error}");
                state.refused = Some(error.clone());
                Err(error)
            }
        }
    }
}
