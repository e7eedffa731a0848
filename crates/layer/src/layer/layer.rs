//! The Tower layer [`RobotDetectionLayer`].

use std::{net::IpAddr, sync::Arc};

use http::{Extensions, HeaderName, HeaderValue, Uri};
use tower_layer::Layer;

use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::policy::{Enforcer, SharedPolicy};
use crate::suspect::{BrowserCheck, Marks};

use super::{
    CanonicalRedirects, LayerBuilder, MarkdownPages, People, RobotDetectionService, Stats, Traps,
    Verdicts, VisitSwitch, decide::Shared, head::FromText,
};

/// A layer that redirects robots on filtered paths and identifies robots on all other paths.
///
/// Clones share all state, including the counters. The type `T` creates [refusal
/// bodies](Self::refusal_body).
///
/// # Example
///
/// By default, robots that request `/members-only-stuff/*` are redirected to `/robot-heaven/`:
///
/// ```
/// use axum::{Router, routing::get};
/// use robot_detection_layer::layer::RobotDetectionLayer;
///
/// let app: Router = Router::new()
///     .route("/members-only-stuff/", get(async || "for members"))
///     .layer(RobotDetectionLayer::default());
/// ```
#[derive(Clone, Debug)]
pub struct RobotDetectionLayer<T = FromText> {
    shared: Arc<Shared>,
    bodies: T,
}

impl RobotDetectionLayer {
    /// Creates a layer that uses the current contents of a shared detector and a shared policy.
    #[must_use]
    pub fn new(detector: SharedDetector, policy: SharedPolicy) -> Self {
        Self {
            shared: Arc::new(Shared::new(detector, policy)),
            bodies: FromText,
        }
    }

    /// Creates a builder for applications that use only the layer.
    #[must_use]
    pub fn builder() -> LayerBuilder {
        LayerBuilder::default()
    }
}

impl<T: Clone> RobotDetectionLayer<T> {
    /// Wraps a service that routes by URL, such as a whole axum `Router`.
    ///
    /// A heaven page or a [Markdown](Self::markdown) page can be served instead of the requested
    /// page only if the layer wraps the router. A layer added by other means, such as axum's
    /// `Router::layer`, runs after routing: requests for which a rule serves heaven directly are
    /// refused with 403.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use axum::{Router, ServiceExt, extract::Request, routing::get};
    /// use robot_detection_layer::{layer::RobotDetectionLayer, policy::{Action, Rule}};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let detection = RobotDetectionLayer::builder().rule(Rule::builder(Action::Serve)).build()?;
    /// let router: Router = Router::new().route("/robot-heaven/", get(async || "for robots"));
    /// let app = ServiceExt::<Request>::into_make_service(detection.around(router));
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    /// axum::serve(listener, app).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn around<S>(&self, router: S) -> RobotDetectionService<S, T> {
        let shared = Arc::clone(&self.shared);
        RobotDetectionService::new(router, shared, self.bodies.clone(), true)
    }

    /// Sets the request header that sends the robot's ID to an upstream; by default, no ID is sent.
    ///
    /// For a robot that is not in the registry, the value is `unlisted`, or the signer's host if
    /// the robot's signature is valid. For a request without a User-Agent, the value is `nameless`.
    ///
    /// Headers with this name are always removed from clients' requests, including spellings with
    /// `_`, `.` or other punctuation instead of `-`. Bytes of the ID other than visible ASCII, and
    /// `%`, are percent-encoded.
    ///
    /// If a source of [verdicts](Self::verdicts) is set, a header with the suffix `-verdict`
    /// contains the verdict; a header with that name is also removed from clients' requests.
    ///
    /// # Example
    ///
    /// ```
    /// use http::HeaderName;
    /// use robot_detection_layer::{
    ///     detect::SharedDetector,
    ///     layer::RobotDetectionLayer,
    ///     policy::{Policy, SharedPolicy},
    /// };
    ///
    /// let policy = SharedPolicy::new(Policy::builder().build()?);
    /// let layer = RobotDetectionLayer::new(SharedDetector::default(), policy)
    ///     .identification_header(HeaderName::from_static("x-robot-detection"));
    /// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn identification_header(self, name: HeaderName) -> Self {
        self.with(|shared| shared.stages.identification.name(name))
    }

    /// Sets the source of verdicts on robots' claims; by default, there is no source.
    ///
    /// The source is queried once for each request that claims to be from a listed robot, and for
    /// the [signer](Verdicts::signer) of each signed request from an unlisted robot. Without a
    /// source, every claim is unverifiable, and signers are not identified.
    ///
    /// # Example
    ///
    /// ```
    /// use std::{net::IpAddr, sync::Arc};
    ///
    /// use robot_detection_layer::{
    ///     detect::Verdict,
    ///     layer::{RobotDetectionLayer, Verdicts, ClaimedRequest},
    ///     policy::Spoofed,
    /// };
    ///
    /// /// Trusts our robot at one address; any other client that claims its name is spoofed.
    /// struct Ours(IpAddr);
    ///
    /// impl Verdicts for Ours {
    ///     fn verdict(&self, request: &ClaimedRequest<'_>) -> Verdict {
    ///         match (request.claim.id(), request.client) {
    ///             ("ourbot", Some(client)) if client == self.0 => Verdict::Verified,
    ///             ("ourbot", Some(_)) => Verdict::Spoofed,
    ///             _ => Verdict::Unverifiable,
    ///         }
    ///     }
    /// }
    ///
    /// let layer = RobotDetectionLayer::builder()
    ///     .policy(|policy| policy.spoofed(Spoofed::Refuse))
    ///     .build()?
    ///     .verdicts(Arc::new(Ours([192, 0, 2, 7].into())))
    ///     .client_address(|extensions| extensions.get::<IpAddr>().copied());
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn verdicts(self, verdicts: Arc<dyn Verdicts>) -> Self {
        self.with(|shared| shared.stages.verdicts.verdicts = Some(verdicts))
    }

    /// Sets the function that determines the client's address from a request's extensions.
    ///
    /// With axum, use `ConnectInfo`, or the result of an outer layer that evaluates
    /// `X-Forwarded-For` from trusted proxies. By default, the address is unknown: no claim is
    /// verified by address, and rate limits distinguish unlisted robots only by their names.
    #[must_use]
    pub fn client_address(
        self,
        find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.stages.verdicts.client = Some(Arc::new(find)))
    }

    /// Sets the `Accept-Signature` header of refusals sent to unverified robots; by default, the
    /// header is not sent.
    ///
    /// The header describes how robots can sign their requests to prove their identity
    /// (RFC 9421 §5.1).
    #[must_use]
    pub fn accept_signature(self, value: HeaderValue) -> Self {
        self.accept_signature_with(move || Some(value.clone()))
    }

    /// Sets the function that returns the `Accept-Signature` header of each refusal, for values
    /// that change.
    ///
    /// The function is called for the same robots as [`accept_signature`](Self::accept_signature).
    /// It must not block.
    #[must_use]
    pub fn accept_signature_with(
        self,
        find: impl Fn() -> Option<HeaderValue> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.answers.accept_signature = Some(Arc::new(find)))
    }

    /// Sets whether responses to robots contain an [`Outcome`](super::Outcome) in their extensions.
    ///
    /// Outcomes are disabled by default, so that passing requests have no overhead.
    #[must_use]
    pub fn report_outcome(self, report: bool) -> Self {
        self.with(|shared| shared.reports_outcome = report)
    }

    /// Sets which outcomes [describe the visit](super::Outcome::visit); by default, no outcome
    /// does.
    ///
    /// Outcomes must also be [reported](Self::report_outcome).
    #[must_use]
    pub fn visit_switch(self, switch: VisitSwitch) -> Self {
        self.with(|shared| shared.visits = switch)
    }

    /// Sets the [`Enforcer`] of robots.txt files; by default, no files are enforced.
    #[must_use]
    pub fn enforcer(self, enforcer: Enforcer) -> Self {
        self.with(|shared| shared.stages.robots_txt = enforcer)
    }

    /// Sets the clock used by rate limits, which a test can control.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        self.with(|shared| shared.clock = clock)
    }

    /// Sets the function that creates the body of a refusal from its text.
    ///
    /// The function is needed if the application's response bodies are not `From<String>`, as in a
    /// proxy. The text comes from the rule, or states the violated rule of robots.txt; for a
    /// redirect, the text is empty.
    ///
    /// # Example
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use http::{Request, Response};
    /// use robot_detection_layer::layer::RobotDetectionLayer;
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// struct Body(Vec<u8>);
    ///
    /// let site = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(Body(Vec::new()))));
    /// let layer = RobotDetectionLayer::default().refusal_body(|text| Body(text.into_bytes()));
    /// let answering = layer.layer(site).oneshot(Request::new(()));
    /// ```
    ///
    /// Without the function, this example does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use std::convert::Infallible;
    /// #
    /// # use http::{Request, Response};
    /// # use robot_detection_layer::layer::RobotDetectionLayer;
    /// # use tower::{Layer, Service, service_fn};
    /// #
    /// # struct Body(Vec<u8>);
    /// #
    /// # let site = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(Body(Vec::new()))));
    /// let layer = RobotDetectionLayer::default();
    /// let answering = layer.layer(site).call(Request::new(()));
    /// ```
    #[must_use]
    pub fn refusal_body<R, F: Fn(String) -> R>(self, make: F) -> RobotDetectionLayer<F> {
        RobotDetectionLayer {
            shared: self.shared,
            bodies: make,
        }
    }

    /// Sets the function that finds the heaven page generated from a requested page.
    ///
    /// The function is called only for redirects, with the requested URL and the location of the
    /// redirect, which is replaced by the result. The function must not block.
    ///
    /// # Example
    ///
    /// ```
    /// use http::HeaderValue;
    /// use robot_detection_layer::layer::RobotDetectionLayer;
    ///
    /// let layer = RobotDetectionLayer::builder().build()?.own_pages(|asked, _| {
    ///     let has_page = asked.path() == "/members-only-stuff/a";
    ///     has_page.then(|| HeaderValue::from_static("/robot-heaven/members-only-stuff/a.htm"))
    /// });
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn own_pages(
        self,
        find: impl Fn(&Uri, &HeaderValue) -> Option<HeaderValue> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.answers.own_pages = Some(Arc::new(find)))
    }

    /// Allows the site robot with this key to pass; by default, there is no site robot.
    ///
    /// The site robot's requests are not counted as visits.
    #[cfg(feature = "verify")]
    #[must_use]
    pub fn own_robot(self, own: super::SiteRobotKey) -> Self {
        self.with(|shared| {
            shared
                .stages
                .identification
                .remove(super::stages::OWN_ROBOT_HEADER);
            shared.stages.own.robot = Some(own);
        })
    }

    /// Adds a path of the program's own pages; by default, there are no such paths.
    ///
    /// Requests for the path and everything below it pass, and do not count as visits: claims are
    /// not verified, requests are not counted, and neither rules nor robots.txt apply.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::layer::RobotDetectionLayer;
    ///
    /// let layer = RobotDetectionLayer::builder().build()?.internal_path("/robot-detection/admin");
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn internal_path(self, path: &str) -> Self {
        self.with(|shared| shared.stages.own.add_path(path))
    }

    /// Sets the check that finds [suspects](crate::suspect) among human visitors; by default, no
    /// check is made.
    ///
    /// Suspects are only marked, unless a [rule](crate::policy::When::suspect) applies to suspects.
    /// Visitors that a rule allows to pass are not marked.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use robot_detection_layer::{
    ///     layer::RobotDetectionLayer,
    ///     policy::{Action, Rule},
    ///     suspect::BrowserCheck,
    /// };
    ///
    /// let rule = Rule::builder(Action::Refuse).paths(["/search*"]).suspect(true).people(true);
    /// let layer = RobotDetectionLayer::builder()
    ///     .rule(rule)
    ///     .build()?
    ///     .suspects(Arc::new(BrowserCheck::new()));
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn suspects(self, coherence: Arc<BrowserCheck>) -> Self {
        self.with(|shared| {
            let suspects = &mut shared.stages.suspects;
            (suspects.are_sought, suspects.coherence) = (true, Some(coherence));
        })
    }

    /// Sets a source that evaluates human visitors across requests; by default, there is no source.
    ///
    /// Visitors for which the source returns reasons become [suspects](Self::suspects). The source
    /// must not block.
    #[must_use]
    pub fn people(self, people: Arc<dyn People>) -> Self {
        self.with(|shared| shared.stages.suspects.set_people(people))
    }

    /// Sets the function that checks whether heaven has a copy of a page; by default, heaven has no
    /// copies.
    ///
    /// If a rule serves heaven directly, a [suspect](Self::suspects) that opens a page gets a copy
    /// of that page. Requests for pages without a copy, and requests that do not open a page, pass.
    #[must_use]
    pub fn copies(self, has: impl Fn(&Uri) -> bool + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.stages.copies.has = Some(Arc::new(has)))
    }

    /// Sets the pages that are available as Markdown; by default, no pages are.
    ///
    /// Visitors that [prefer Markdown](super::prefers_markdown), send neither cookies nor
    /// credentials, and would be allowed to pass, get Markdown at the requested URL: the
    /// application receives a request for [`MarkdownPages::page`], with the original URL in
    /// [`ServedDirectly`](super::ServedDirectly). HTML responses of these pages get `Vary: Accept`.
    /// Markdown is not served in a dry run.
    #[must_use]
    pub fn markdown(self, pages: Arc<dyn MarkdownPages>) -> Self {
        self.with(|shared| shared.stages.markdown = Some(pages))
    }

    /// Redirects some robots from a page to its canonical URL (301); disabled by default.
    ///
    /// Rules, robots.txt, and every setting that lets a robot pass take precedence.
    #[must_use]
    pub fn canonical_redirects(self, redirects: CanonicalRedirects) -> Self {
        self.with(|shared| shared.stages.canonical = Some(redirects))
    }

    /// Sets the marks that other parts of the application set on visitors; by default, no visitor
    /// is marked.
    ///
    /// Marks only have an effect while [suspects](Self::suspects) are detected.
    #[must_use]
    pub fn marks(self, marks: Marks) -> Self {
        self.with(|shared| {
            shared.stages.traps.marks = Some(marks.clone());
            shared.stages.suspects.set_marks(marks);
        })
    }

    /// Sets the response header by which the application marks visitors as human; by default, no
    /// header is read.
    ///
    /// The values `yes` and `no` apply for ten minutes to the visitor's address and User-Agent, if
    /// [marks](Self::marks) are set and [suspects](Self::suspects) are detected. `yes` clears the
    /// reasons found in requests; `no` adds [a reason](crate::suspect::Reason::UpstreamWord). The
    /// header is removed from the response, and from requests.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use http::HeaderName;
    /// use robot_detection_layer::{
    ///     clock::Clock,
    ///     layer::RobotDetectionLayer,
    ///     suspect::{BrowserCheck, Marks},
    /// };
    ///
    /// let layer = RobotDetectionLayer::builder()
    ///     .build()?
    ///     .suspects(Arc::new(BrowserCheck::new()))
    ///     .marks(Marks::new(&Clock::system()))
    ///     .person_header(HeaderName::from_static("x-robot-detection-person"));
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn person_header(self, name: HeaderName) -> Self {
        self.with(|shared| {
            shared.stages.identification.remove(name.as_str());
            shared.stages.suspects.set_person_header(name);
        })
    }

    /// Sets the trap paths, to which human visitors see no links; by default, there are no traps.
    ///
    /// A service outside or inside the layer must respond to requests for these paths.
    #[must_use]
    pub fn traps(self, traps: Traps) -> Self {
        self.with(|shared| {
            shared.stages.suspects.are_sought = true;
            shared.stages.traps.traps = Some(traps);
        })
    }

    /// Returns the layer's counters.
    #[must_use]
    pub fn stats(&self) -> &Arc<Stats> {
        &self.shared.stats
    }

    /// Returns the layer's shared detector.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.shared.detector
    }

    /// Returns the layer's shared policy.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        &self.shared.policy
    }

    /// Returns the enforcer of robots.txt, with its settings, files and violations.
    #[must_use]
    pub fn robots_txt(&self) -> &Enforcer {
        &self.shared.stages.robots_txt
    }

    fn with(self, change: impl FnOnce(&mut Shared)) -> Self {
        // Existing clones retain their settings.
        let mut shared = Arc::unwrap_or_clone(self.shared);
        change(&mut shared);
        Self {
            shared: Arc::new(shared),
            bodies: self.bodies,
        }
    }
}

/// Creates a layer with the default settings of the original package and the bundled robots.
impl Default for RobotDetectionLayer {
    fn default() -> Self {
        let built = Self::builder().build();
        built.expect("the default settings are valid")
    }
}

impl<S, T: Clone> Layer<S> for RobotDetectionLayer<T> {
    type Service = RobotDetectionService<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        let shared = Arc::clone(&self.shared);
        RobotDetectionService::new(inner, shared, self.bodies.clone(), false)
    }
}
