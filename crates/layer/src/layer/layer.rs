//! The layer.

use std::{net::IpAddr, sync::Arc};

use http::{Extensions, HeaderName, HeaderValue, Uri};
use tower_layer::Layer;

use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::policy::{Enforcer, SharedPolicy};
use crate::suspect::{Coherence, Marks};

use super::{
    CanonicalRedirects, LayerBuilder, MarkdownPages, People, RobotDetectionService, Stats, Traps,
    Verdicts, VisitSwitch, decide::Shared, head::FromText,
};

/// Layer that redirects robots on filtered paths and identifies them elsewhere.
///
/// Clones share everything, counters included. `T` makes the [bodies](Self::refusal_body) of refusals.
///
/// # Example
///
/// By default robots that ask for `/members-only-stuff/*` are redirected to `/robot-heaven/`:
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
    /// Creates a layer that follows a detector and a policy, whatever replaces them.
    #[must_use]
    pub fn new(detector: SharedDetector, policy: SharedPolicy) -> Self {
        Self {
            shared: Arc::new(Shared::new(detector, policy)),
            bodies: FromText,
        }
    }

    /// Creates a builder, for an application that uses nothing but the layer.
    #[must_use]
    pub fn builder() -> LayerBuilder {
        LayerBuilder::default()
    }
}

impl<T: Clone> RobotDetectionLayer<T> {
    /// Wraps a service that chooses the page by the URL, such as a whole axum `Router`.
    ///
    /// Only there a rule can serve a page in place of the requested one, and a page can be served as
    /// [Markdown](Self::markdown). A layer that was added otherwise, such as by axum's `Router::layer`,
    /// is behind that choice: what a rule serves in place is refused with 403.
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

    /// Names a request header that tells an upstream the robot's id; none by default.
    ///
    /// It is `unlisted` where no registry lists the robot, the host of one whose signature
    /// holds, `nameless` without a User-Agent.
    ///
    /// What a client sent under that name is always removed, also where a `_`,
    /// a `.` or another sign stands for a `-`. Bytes of the id other than
    /// visible ASCII, and `%`, are percent-encoded.
    ///
    /// Where somebody is [asked for verdicts](Self::verdicts), a header of the same
    /// name and `-verdict` tells the word for the verdict; a client's is removed likewise.
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

    /// Sets who is asked for the verdicts on robots' claims; by default nobody.
    ///
    /// It is asked once about each request that names a listed robot, and who has
    /// [signed](Verdicts::signer) one that no registry lists; about no other. Without it
    /// every claim is unverifiable, and nobody who signs has a name.
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
    /// /// Trusts one robot of ours, and nobody else that says it is it.
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

    /// Sets how the address of a client is found among a request's extensions.
    ///
    /// With axum that is `ConnectInfo`, or what a layer outside of this one has made
    /// of `X-Forwarded-For` where it may be trusted. By default no address is known,
    /// so that no claim is proved by one, and unlisted robots that are slowed down are
    /// told apart by their names alone.
    #[must_use]
    pub fn client_address(
        self,
        find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.stages.verdicts.client = Some(Arc::new(find)))
    }

    /// Sets an `Accept-Signature` for refused robots whose claim is not verified; by default none.
    ///
    /// It tells them how to sign their requests (RFC 9421 §5.1), so as to prove who
    /// they are.
    #[must_use]
    pub fn accept_signature(self, value: HeaderValue) -> Self {
        self.accept_signature_by(move || Some(value.clone()))
    }

    /// Sets how the `Accept-Signature` of each refusal is found, where it can change.
    ///
    /// It is asked about the same robots as
    /// [`accept_signature`](Self::accept_signature) is for. It must not wait for anything.
    #[must_use]
    pub fn accept_signature_by(
        self,
        find: impl Fn() -> Option<HeaderValue> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.answers.accept_signature = Some(Arc::new(find)))
    }

    /// Sets whether responses to robots carry an [`Outcome`](super::Outcome).
    ///
    /// They do not by default, so that a request that passes costs nothing.
    #[must_use]
    pub fn report_outcome(self, report: bool) -> Self {
        self.with(|shared| shared.reports_outcome = report)
    }

    /// Sets which visits the outcomes [describe](super::Outcome::visit); by default none.
    ///
    /// Outcomes have to be [reported](Self::report_outcome) too.
    #[must_use]
    pub fn describe_visits(self, switch: VisitSwitch) -> Self {
        self.with(|shared| shared.visits = switch)
    }

    /// Holds robots to the files of an [`Enforcer`]; by default there is no file.
    #[must_use]
    pub fn enforcer(self, enforcer: Enforcer) -> Self {
        self.with(|shared| shared.stages.robots_txt = enforcer)
    }

    /// Sets the clock of rate limits; tests move it.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        self.with(|shared| shared.clock = clock)
    }

    /// Sets the function that makes the body of a refusal from its text.
    ///
    /// It is needed where the application's bodies are not `From<String>`, such as those of a proxy.
    /// The text is a rule's own, or names the rule of robots.txt that the robot broke; it is empty for
    /// a redirect.
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
    /// Without the function this does not compile:
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

    /// Sets how a page of heaven is found that is made from the one a robot asks for.
    ///
    /// It is asked about redirects alone, with the URL that the robot asked for
    /// and the redirect's location; what it returns takes the place of that. It
    /// must not wait for anything.
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

    /// Lets the site robot of our own sites pass; by default there is none.
    ///
    /// Its requests are no visits: they count nowhere.
    #[cfg(feature = "verify")]
    #[must_use]
    pub fn own_robot(self, own: super::OwnRobot) -> Self {
        self.with(|shared| {
            shared
                .stages
                .identification
                .remove(super::stages::OWN_ROBOT_HEADER);
            shared.stages.own.robot = Some(own);
        })
    }

    /// Adds a path of the program's own pages; there is none by default.
    ///
    /// Whoever asks for it, or for what is below it, passes and is no visitor: no claim
    /// is looked into, nothing is counted, and no rule nor robots.txt is held against them.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::layer::RobotDetectionLayer;
    ///
    /// let layer = RobotDetectionLayer::builder().build()?.own_path("/robot-detection/admin");
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn own_path(self, path: &str) -> Self {
        self.with(|shared| shared.stages.own.add_path(path))
    }

    /// Sets who finds [suspects](crate::suspect) among people; by default nobody does.
    ///
    /// Nothing is done to them unless a [rule](crate::policy::When::suspect) is about them; whom a
    /// rule lets pass is not marked.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use robot_detection_layer::{
    ///     layer::RobotDetectionLayer,
    ///     policy::{Action, Rule},
    ///     suspect::Coherence,
    /// };
    ///
    /// let rule = Rule::builder(Action::Refuse).paths(["/search*"]).suspect(true).people(true);
    /// let layer = RobotDetectionLayer::builder()
    ///     .rule(rule)
    ///     .build()?
    ///     .suspects(Arc::new(Coherence::new()));
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn suspects(self, coherence: Arc<Coherence>) -> Self {
        self.with(|shared| {
            let suspects = &mut shared.stages.suspects;
            (suspects.are_sought, suspects.coherence) = (true, Some(coherence));
        })
    }

    /// Sets who knows more of people than one request tells; by default nobody does.
    ///
    /// Whom it suspects is one of the [suspects](Self::suspects). It must not wait for anything.
    #[must_use]
    pub fn people(self, people: Arc<dyn People>) -> Self {
        self.with(|shared| shared.stages.suspects.set_people(people))
    }

    /// Sets of which pages heaven has copies; by default of none.
    ///
    /// Where a rule serves heaven in place, a [suspect](Self::suspects) gets a copy of the page that
    /// he opens; where there is none, and where no page is opened, he passes.
    #[must_use]
    pub fn copies(self, has: impl Fn(&Uri) -> bool + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.stages.copies.has = Some(Arc::new(has)))
    }

    /// Sets of which pages there is Markdown; by default of none.
    ///
    /// Whoever [prefers it](super::prefers_markdown), sends neither a cookie nor a password and would
    /// pass, is given it at the URL that he asks for: the application is asked for what
    /// [`MarkdownPages::page`] says, and finds the original in [`ServedInPlace`](super::ServedInPlace).
    /// HTML of these pages gets `Vary: Accept`. Nothing of it is done in a dry run.
    #[must_use]
    pub fn markdown(self, pages: Arc<dyn MarkdownPages>) -> Self {
        self.with(|shared| shared.stages.markdown = Some(pages))
    }

    /// Sends some robots from a page to its canonical URL (301); by default none.
    ///
    /// Rules, robots.txt and what lets a robot pass come first.
    #[must_use]
    pub fn canonical_redirects(self, redirects: CanonicalRedirects) -> Self {
        self.with(|shared| shared.stages.canonical = Some(redirects))
    }

    /// Sets what is known of visitors from elsewhere; by default nothing is.
    ///
    /// It counts where [suspects](Self::suspects) are looked for.
    #[must_use]
    pub fn marks(self, marks: Marks) -> Self {
        self.with(|shared| {
            shared.stages.traps.marks = Some(marks.clone());
            shared.stages.suspects.set_marks(marks);
        })
    }

    /// Names a response header by which the application says who is a person; by default none.
    ///
    /// `yes` and `no` hold ten minutes for that address and User-Agent, where there are
    /// [marks](Self::marks) and [suspects](Self::suspects) are looked for. `yes` ends what was found
    /// of the visitor's requests, `no` is [a reason](crate::suspect::Reason::UpstreamWord). The visitor
    /// does not see the header; one that he sends is removed.
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
    ///     suspect::{Coherence, Marks},
    /// };
    ///
    /// let layer = RobotDetectionLayer::builder()
    ///     .build()?
    ///     .suspects(Arc::new(Coherence::new()))
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

    /// Sets paths that no person is shown; by default there are none.
    ///
    /// Whoever is around the layer, or in it, answers there.
    #[must_use]
    pub fn traps(self, traps: Traps) -> Self {
        self.with(|shared| {
            shared.stages.suspects.are_sought = true;
            shared.stages.traps.traps = Some(traps);
        })
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> &Arc<Stats> {
        &self.shared.stats
    }

    /// Returns the detector that the layer follows.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.shared.detector
    }

    /// Returns the policy that the layer follows.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        &self.shared.policy
    }

    /// Returns what holds robots to robots.txt: settings, files and violations.
    #[must_use]
    pub fn robots_txt(&self) -> &Enforcer {
        &self.shared.stages.robots_txt
    }

    fn with(self, change: impl FnOnce(&mut Shared)) -> Self {
        // Clones that were made before keep the settings that they have.
        let mut shared = Arc::unwrap_or_clone(self.shared);
        change(&mut shared);
        Self {
            shared: Arc::new(shared),
            bodies: self.bodies,
        }
    }
}

/// Layer with the settings of the original package and the bundled robots.
impl Default for RobotDetectionLayer {
    fn default() -> Self {
        let built = Self::builder().build();
        built.expect("the defaults are valid, as the example of the type shows")
    }
}

impl<S, T: Clone> Layer<S> for RobotDetectionLayer<T> {
    type Service = RobotDetectionService<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        let shared = Arc::clone(&self.shared);
        RobotDetectionService::new(inner, shared, self.bodies.clone(), false)
    }
}
