//! Determines which part of this program answers a request that the layer has allowed.

use axum::http::{Request, header};

use crate::assembly::licensing;
use crate::config::{ConfigErrors, Loaded};
use crate::layer::{MarkdownPages as _, asks_for_markdown, is_navigation};
use crate::licensing::Licensing;
use crate::policy::{self, SharedRobotsFiles, Visitor, is_own_path};
use crate::store::Store;
use crate::traps::TrapPages;

use super::{
    ServedRobotsTxt, made_pages::MadePages, pages::Heaven, plan, process_services::ProcessServices,
};

const ROBOTS_TXT: &str = "/robots.txt";

/// The part of this program that answers a request, or the site behind the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Answerer {
    RobotsTxt,
    Licensing,
    Admin,
    Heaven,
    Trap,
    Site,
}

/// The parts of this program that may answer requests to a site, in order of precedence.
#[derive(Clone, Debug)]
pub(super) struct Answerers {
    pub(super) robots_txt: ServedRobotsTxt,
    pub(super) licensing: Licensing,
    /// The path of the admin page, without a trailing slash.
    pub(super) admin: Option<String>,
    pub(super) heaven: Option<Heaven>,
    pub(super) traps: Option<TrapPages>,
}

/// The parts of this program that answer requests to a site, for explanations of decisions.
#[derive(Clone, Debug)]
pub(crate) struct SiteAnswers {
    answerers: Answerers,
    /// Whether explanations report the state of the upstream's robots.txt.
    tells_state: bool,
}

impl Answerers {
    /// Returns the parts of this program that answer requests to a site of a server.
    pub(super) fn new(
        services: &ProcessServices,
        robots_txt: ServedRobotsTxt,
        licensing: Licensing,
        heaven: Option<Heaven>,
    ) -> Self {
        Self {
            robots_txt,
            licensing,
            admin: services.admin.as_ref().map(|(path, _)| path.clone()),
            heaven,
            traps: None,
        }
    }

    /// Returns the part of this program that answers a request.
    fn of<B>(&self, request: &Request<B>) -> Answerer {
        let is_admin = |admin: &String| is_own_path(request.uri().path(), admin);
        if self.admin.as_ref().is_some_and(is_admin) {
            return Answerer::Admin;
        }
        self.for_request(request)
    }

    /// Returns the part that answers a request not addressed to the process-wide services.
    pub(super) fn for_request<B>(&self, request: &Request<B>) -> Answerer {
        let path = request.uri().path();
        if path == ROBOTS_TXT && self.robots_txt.answer(request).is_some() {
            return Answerer::RobotsTxt;
        }
        if self.licensing.paths().any(|ours| ours == path) {
            return Answerer::Licensing;
        }
        let is_trap = |traps: &TrapPages| traps.answer(request.method(), path).is_some();
        if self.traps.as_ref().is_some_and(is_trap) {
            return Answerer::Trap;
        }
        match &self.heaven {
            Some(heaven) if heaven.contains(path) => Answerer::Heaven,
            _ => Answerer::Site,
        }
    }
}

impl SiteAnswers {
    pub(super) fn new(answerers: Answerers) -> Self {
        Self {
            answerers,
            tells_state: true,
        }
    }

    /// Marks the state of the upstream's `/robots.txt` as unknown, because it was not requested.
    pub(crate) fn without_upstream(mut self) -> Self {
        self.tells_state = false;
        self
    }

    /// Returns the parts that answer requests to the named site of a server with these settings.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of an invalid value.
    pub(crate) fn from_settings(
        loaded: &Loaded,
        robots_txt: ServedRobotsTxt,
    ) -> Result<Self, ConfigErrors> {
        let settings = loaded.settings();
        let is_shared = settings.admin.listen.is_none();
        let admin = format!("/{}", settings.admin.path.trim_matches('/'));
        let answerers = Answerers {
            robots_txt,
            licensing: licensing(loaded)?,
            admin: (is_shared && settings.admin.enabled).then_some(admin),
            heaven: plan::heaven(loaded)?,
            // Trap paths depend on a seed in the database.
            traps: None,
        };
        Ok(Self::new(answerers))
    }

    /// Returns the HTML link to the site's traps, if the site has traps.
    pub(super) fn trap_link(&self) -> Option<String> {
        let traps = self.answerers.traps.as_ref();
        traps.map(|traps| traps.paths().snippet())
    }

    /// Returns `true` if robot heaven has pages generated from pages of the site.
    pub(crate) fn has_generated_pages(&self) -> bool {
        let heaven = self.answerers.heaven.as_ref();
        heaven.and_then(Heaven::copies).is_some()
    }

    /// Loads the list of heaven pages once, from heaven's directory or the database.
    pub(crate) async fn load_once(&mut self, store: &Store, site: &str) {
        if let Some(heaven) = &mut self.answerers.heaven {
            heaven.load_once(store, site).await;
        }
    }

    /// Returns the heaven page to which a robot that requests `target` is redirected instead of
    /// `to`.
    pub(crate) fn own_page(&self, target: &str, to: &str) -> Option<String> {
        let page = self
            .made_pages()?
            .location(&target.parse().ok()?, &to.parse().ok()?)?;
        page.to_str().ok().map(str::to_owned)
    }

    /// Returns the reason why a suspect cannot be served a copy of the requested page, if any.
    pub(crate) fn no_copy<B>(&self, asked: &Request<B>) -> Option<&'static str> {
        let heaven = self.answerers.heaven.as_ref();
        let copies = heaven.and_then(Heaven::copies);
        if !is_navigation(asked) {
            Some("the request does not open a page in a browser")
        } else if !copies.is_some_and(|copies| copies.contains(asked.uri())) {
            Some("robot heaven has no public copy of this page")
        } else {
            None
        }
    }

    /// Returns `true` if a request that passes is answered with the Markdown of its page.
    pub(crate) fn serves_markdown<B>(
        &self,
        asked: &Request<B>,
        visitor: Option<Visitor<'_>>,
    ) -> bool {
        let heaven = self.answerers.heaven.as_ref();
        let pages = heaven.and_then(Heaven::at_originals);
        asks_for_markdown(asked)
            && pages.is_some_and(|pages| pages.page(asked.uri()).is_some() && pages.is_for(visitor))
    }

    /// Returns the part of this program that answers a request that passes, or `None` if the site
    /// answers. For `/robots.txt`, the result is never `None`.
    pub(crate) fn who_answers(&self, asked: &policy::Request<'_>, target: &str) -> Option<String> {
        let mut request = Request::builder().method(asked.method).uri(target);
        if let Some(host) = asked.host {
            request = request.header(header::HOST, host);
        }
        let request = request.body(()).ok()?;
        if request.uri().path() == ROBOTS_TXT {
            let robots_txt = &self.answerers.robots_txt;
            return Some(if self.tells_state {
                robots_txt.who_answers(asked.host)
            } else {
                robots_txt.plan().who_answers(asked.host)
            });
        }
        let part = match self.answerers.of(&request) {
            Answerer::Licensing => "with its content licensing terms",
            Answerer::Admin => "with its admin page",
            Answerer::Heaven => "with robot heaven",
            Answerer::Trap => "with a trap page",
            Answerer::Site | Answerer::RobotsTxt => return None,
        };
        Some(format!("this program, {part}"))
    }

    /// Returns the current robots.txt files of the site.
    pub(crate) fn files(&self) -> &SharedRobotsFiles {
        self.answerers.robots_txt.files()
    }

    fn made_pages(&self) -> Option<&MadePages> {
        self.answerers.heaven.as_ref()?.redirected_to()
    }
}
