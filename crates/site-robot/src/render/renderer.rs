//! Renders pages, several at once in one browser.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::{Answer, RenderError, Resources, browser::Browser, tab::Tab};

/// Browsers that are started in one run, where they end before it.
const MAX_STARTS: u32 = 100;

/// Limits of rendering.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RenderLimits {
    /// Browser: a name or a path; empty: Chromium is looked for.
    pub program: PathBuf,
    /// Pages that are rendered at once.
    pub tabs: usize,
    /// Time in which a page has to come to rest; it is taken as it is then.
    pub timeout: Duration,
    /// Bytes of memory that the browser takes at most, with all its processes.
    pub max_memory: u64,
    /// Bytes of a rendered page at most.
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

/// Page as its scripts have made it.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    /// HTML, in UTF-8.
    pub html: Bytes,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// Renders pages; the browser is started for the first, and ends with this.
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
    /// Why there is none, which does not change within a run.
    refused: Option<RenderError>,
}

impl Renderer {
    /// Creates it with limits.
    pub fn new(limits: RenderLimits) -> Self {
        Self {
            tabs: Semaphore::new(limits.tabs.max(1)),
            browser: Mutex::default(),
            limits,
        }
    }

    /// Starts the browser, if it does not run.
    ///
    /// # Errors
    ///
    /// Fails with why it cannot be started, and what to do.
    pub async fn start(&self) -> Result<(), RenderError> {
        self.browser().await.map(drop)
    }

    /// Returns the bytes of memory that the browser takes; nothing where none runs.
    pub async fn memory(&self) -> Option<u64> {
        let browser = self.browser.lock().await.browser.clone();
        browser?.memory().await
    }

    /// Renders a page: its URL, and what a server answered.
    ///
    /// # Errors
    ///
    /// Fails when no browser can be had, and when the page takes too long, asks for too much, or
    /// brings the browser down, twice.
    pub async fn render(
        &self,
        url: &Url,
        page: Answer,
        resources: Arc<dyn Resources>,
    ) -> Result<RenderedPage, RenderError> {
        // Nobody closes the semaphore: there is no error to answer.
        let turn = self.tabs.acquire().await;
        let rendered = self.render_once(url, page.clone(), Arc::clone(&resources));
        match rendered.await {
            // Another page may have brought it down: alone it shows whether it does so itself.
            Err(RenderError::Ended { .. }) => {
                drop(turn);
                let all = u32::try_from(self.limits.tabs.max(1)).unwrap_or(1);
                let _turns = self.tabs.acquire_many(all).await;
                let rendered = self.render_once(url, page, resources).await;
                rendered.map_err(|error| match error {
                    RenderError::Ended { .. } => RenderError::Cut {
                        did: "brought the browser down",
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
        if rendered.is_ok() && tab.leave(url).await {
            browser.keep(tab);
        } else if !tab.close().await {
            // What the page does goes on: there is no other way to end it.
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
            Err(RenderError::refused("the browser ended again and again"))
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
                tracing::warn!("pages are not rendered: {error}");
                state.refused = Some(error.clone());
                Err(error)
            }
        }
    }
}
