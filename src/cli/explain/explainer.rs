//! Determines the decisions that a server with this configuration would make.

use std::{collections::BTreeMap, fs::File, io::Read as _, net::IpAddr, path::Path, sync::Arc};

use anyhow::Context as _;
use arc_swap::Guard;
use http::{HeaderMap, HeaderName, StatusCode, header::CONNECTION};
use tokio::sync::OnceCell;

use crate::app::{self, ClaimProver, SiteAnswers, SiteIndex};
use crate::assembly::finds_suspects;
use crate::canonical::{CanonicalKeeper, Canonicals};
use crate::check::IDENTITY_HEADERS;
use crate::cli::{Cli, args::ExplainArgs, context, output};
use crate::clock::Clock;
use crate::config::{CanonicalSection, Loaded};
use crate::detect::{Claim, Detector, SharedDetector};
use crate::layer::CanonicalRedirects;
use crate::listen::{hides_identity, is_misspelt_identity};
use crate::live_rules::LiveRuleSet;
use crate::log_report::SampledRequest;
use crate::operations::decisions::{DecisionView, Explanation};
use crate::policy::{
    Enforcer, PassReason, Policy, Request, RequestExplanation, RobotsFiles, Sender, SharedPolicy,
    SharedRobotsFiles, Visitor,
};
use crate::probe::PROBE_HEADER;
use crate::proxy;
use crate::robots_txt::{Dialect, RobotsTxt};
use crate::suspect::{BrowserCheck, Findings, Reasons, Transport};
use crate::verify::{Proof, SignatureProver, SignedRequest};

use super::report::{ExplainedRequest, print, print_json, with_would};

/// The maximum number of bytes to read from a robots.txt file.
// Sixteen times the amount that robots read (RFC 9309 §2.5), to evaluate the whole file.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The description of the component that answers with a page's Markdown.
const MARKDOWN: &str = "this program, with the page's Markdown, which the Accept header prefers";

/// An explainer of decisions, which uses a detector and the policy of each site.
pub(in crate::cli) struct Explainer {
    detector: SharedDetector,
    index: SiteIndex,
    /// Context of each site, created at the first request to the site, as this may download
    /// robots.txt.
    sites: Vec<OnceCell<SiteContext>>,
    /// Live rules, applied before each site's policy, as in the server.
    live_rules: LiveRuleSet,
    /// robots.txt file given with `--robots-txt`, used instead of the sites' files.
    robots_txt: Option<RobotsTxt>,
    /// A verifier of claims, if the request has an address or a signature.
    prover: Option<ClaimProver>,
    /// The client address of the requests.
    client: Option<IpAddr>,
    /// Transport of the requests; `None` unless all request headers are known.
    transport: Option<Transport>,
    coherence: BrowserCheck,
}

/// The policy of a site, and the components that answer requests to the site.
struct SiteContext {
    policy: Arc<Policy>,
    enforcer: Enforcer,
    answers: SiteAnswers,
    /// Settings for redirects to canonical URLs, and the known canonical URLs.
    canonical: Option<(CanonicalSection, Canonicals)>,
    /// Whether this program or a front proxy detects suspects.
    finds_suspects: bool,
}

impl Explainer {
    pub(super) async fn new(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<Self> {
        let loaded = context::load(cli)?;
        let explainer = Self::for_user_agents(&loaded).await?;
        let is_told = args.ip.is_some() || !args.headers.is_empty() || args.request.is_some();
        if args.ip.is_some() {
            Box::pin(context::read_origins(&loaded, true)).await?;
            for problem in loaded.origins().problems() {
                output::note(&format!("warning: {problem}"));
            }
        }
        let prover = if is_told {
            Some(context::claim_prover(&loaded).await?)
        } else {
            None
        };
        Ok(Self {
            prover,
            client: args.ip,
            transport: args.request.as_ref().map(|_| Transport {
                is_https: args.https,
                is_direct: true,
                front: None,
                sender: None,
            }),
            robots_txt: args
                .robots_txt
                .as_deref()
                .map(read_robots_txt)
                .transpose()?,
            ..explainer
        })
    }

    /// Creates an explainer for requests whose only known header is the User-Agent.
    pub(in crate::cli) async fn for_user_agents(loaded: &Loaded) -> anyhow::Result<Self> {
        Self::with_detector(loaded, context::detector(loaded).await?).await
    }

    /// Creates an explainer that does not use the network: only the given robots.txt file is
    /// considered.
    pub(in crate::cli) async fn new_offline(
        loaded: &Loaded,
        detector: Detector,
        robots_txt: Option<RobotsTxt>,
    ) -> anyhow::Result<Self> {
        let nothing = || RobotsTxt::parse(b"", Dialect::default());
        Ok(Self {
            robots_txt: Some(robots_txt.unwrap_or_else(nothing)),
            ..Self::with_detector(loaded, detector).await?
        })
    }

    async fn with_detector(loaded: &Loaded, detector: Detector) -> anyhow::Result<Self> {
        let index = SiteIndex::new(loaded)?;
        // Reports an invalid rule in any site now, rather than in the middle of a log.
        for settings in index.settings() {
            app::policy(settings)?;
        }
        Ok(Self {
            prover: None,
            client: None,
            transport: None,
            coherence: BrowserCheck::new(),
            live_rules: context::live_rules(loaded).await?,
            detector: SharedDetector::new(detector),
            sites: index.settings().iter().map(|_| OnceCell::new()).collect(),
            index,
            robots_txt: None,
        })
    }

    /// Counts the decisions for requests.
    pub(in crate::cli) async fn count_decisions(
        &self,
        requests: &[SampledRequest],
    ) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for request in requests {
            let explained = self
                .judge(&ExplainedRequest::from_log(request.clone()))
                .await?;
            let decided = explained.decided;
            let decision = with_would(decided.decision, &decided);
            *counts.entry(decision).or_default() += 1;
        }
        Ok(counts)
    }

    /// Prints the decision for a request, with its reasons.
    pub(super) async fn explain(
        &self,
        request: &ExplainedRequest,
        as_json: bool,
    ) -> anyhow::Result<()> {
        let explained = self.judge(request).await?;
        let printed = if as_json {
            print_json(&explained)
        } else {
            print(&explained)
        };
        Ok(printed?)
    }

    /// Determines the decision for a request.
    pub(super) async fn judge(&self, request: &ExplainedRequest) -> anyhow::Result<Explanation> {
        let site = self.site_context(request).await?;
        let detector = self.detector.load();
        let mut claim = request.claim(&detector);
        let policy_request = request.of_policy();
        let proof = self.prove(claim.as_mut(), request).await;
        let headers = request.all_headers();
        let (sender, findings) = self.sender(site, &policy_request, request, &headers);
        let visitor = match (&claim, &proof) {
            (Some(claim), Some(proof)) => Some(Visitor {
                claim,
                verdict: proof.verdict,
                sender,
            }),
            (Some(claim), None) => Some(Visitor::from(claim).with_sender(sender)),
            (None, _) => {
                let is_judged = site.policy.has_rules_for_people() || !sender.reasons.is_empty();
                is_judged.then(|| Visitor::person(sender))
            }
        };
        let explained = site.enforcer.explain_all(
            &site.policy,
            &policy_request,
            &request.target,
            visitor,
            &request.user_agent,
        );
        let asked = whole(request, &headers);
        let explained = explained
            .with_heaven_page(|to| site.answers.own_page(&request.target, to))
            .with_heaven_copy(asked.as_ref().and_then(|asked| site.answers.no_copy(asked)));
        let explained = match site.canonical(visitor, request, explained.pass_reason) {
            Some((text, location)) => explained.canonical(text, location),
            None => explained,
        };
        let explained = match asked.as_ref().and_then(|asked| refusal(asked, &explained)) {
            Some((status, text)) => explained.with_refusal(status.as_u16(), text),
            None => explained,
        };
        // A robot that is denied all paths may still fetch robots.txt (RFC 9309 §2.2.2).
        let answers = explained.passes() || request.path() == "/robots.txt";
        let answered_by = answers.then(|| site.answered_by(request, asked.as_ref(), visitor));
        let evidence = proof.into_iter().flat_map(|proof| proof.evidence);
        let texts = evidence.map(|evidence| format!("{}: {}", evidence.method, evidence.text));
        let explained = explained.evidence(texts).suspicion(&findings);
        let decided = DecisionView::new(explained, answered_by.flatten());
        Ok(request.explanation(claim.as_ref(), decided))
    }

    /// Returns the origin of a request, and the findings about the browser that the request claims.
    fn sender<'h>(
        &self,
        site: &SiteContext,
        asked: &Request<'_>,
        request: &ExplainedRequest,
        headers: &'h HeaderMap,
    ) -> (Sender<'h>, Findings) {
        let mut sender = Sender {
            address: self.client,
            headers: Some(headers),
            reasons: Reasons::default(),
        };
        let is_person = request.claim(&self.detector.load()).is_none();
        let findings = (is_person && site.finds_suspects).then(|| self.findings(request, headers));
        let findings = findings.flatten().unwrap_or_default();
        if findings.reasons.is_suspect() {
            sender.reasons = findings.reasons;
            if site.policy.passes(asked, Visitor::person(sender)) {
                sender.reasons = Reasons::default();
            }
        }
        (sender, findings)
    }

    /// Returns the findings about the claimed browser, if all request headers are known.
    fn findings(&self, request: &ExplainedRequest, headers: &HeaderMap) -> Option<Findings> {
        let asked = whole(request, headers)?;
        Some(self.coherence.explain(&asked, self.transport?))
    }

    /// Verifies a claim using the request's address and signature, and identifies an unknown
    /// signer.
    async fn prove(
        &self,
        claim: Option<&mut Claim<'_>>,
        request: &ExplainedRequest,
    ) -> Option<Proof> {
        let prover = self.prover.as_ref()?;
        let method = request.method.parse().ok()?;
        let signed = SignedRequest {
            method: &method,
            scheme: None,
            authority: request.host.as_deref().unwrap_or_default(),
            target: &request.target,
            headers: &request.headers,
        };
        match claim? {
            Claim::Signed(unknown) => {
                let (signer, proof) = prover.prove_signer(&signed).await;
                unknown.signer = signer;
                Some(proof)
            }
            claim => {
                let robot = claim.robot()?;
                let is_signed = SignatureProver::is_signed(&request.headers);
                let signed = is_signed.then_some(&signed);
                Some(prover.prove_request(robot, self.client, signed).await)
            }
        }
    }

    async fn site_context(&self, request: &ExplainedRequest) -> anyhow::Result<&SiteContext> {
        let number = self.index.find(request.host.as_deref(), request.path());
        let settings = self.index.settings().get(number);
        let found = settings.zip(self.index.names().get(number));
        let (settings, name) = found.context("the site is missing from the index")?;
        let site = self.sites.get(number);
        let site = site.context("the site is missing from the index")?;
        let made = Box::pin(SiteContext::new(settings, name, self));
        site.get_or_try_init(|| made).await
    }
}

/// Returns a request that includes all known headers.
fn whole(request: &ExplainedRequest, headers: &HeaderMap) -> Option<http::Request<()>> {
    let mut asked = http::Request::new(());
    *asked.method_mut() = request.method.parse().ok()?;
    *asked.uri_mut() = request.target.parse().ok()?;
    asked.headers_mut().clone_from(headers);
    Some(asked)
}

/// Returns the reason why a request is refused before any policy applies.
fn refusal(
    asked: &http::Request<()>,
    explained: &RequestExplanation<'_>,
) -> Option<(StatusCode, &'static str)> {
    let headers = asked.headers();
    let is_identity = |name: &HeaderName| {
        IDENTITY_HEADERS.contains(name) || *name == PROBE_HEADER || is_misspelt_identity(name)
    };
    if headers.keys().any(is_identity) {
        let text = "The request contains a header that only a proxy or this program may use to identify visitors.";
        return Some((StatusCode::BAD_REQUEST, text));
    }
    if hides_identity(headers.get_all(CONNECTION).iter()) {
        let text = "The Connection header lists a header that identifies the visitor.";
        return Some((StatusCode::BAD_REQUEST, text));
    }
    let status = proxy::refusal(asked).filter(|_| explained.passes())?;
    Some((
        status,
        "A proxy does not forward requests with this method, target or host.",
    ))
}

impl SiteContext {
    /// Returns the target of a robot's canonical redirect, and the reason for the redirect or its
    /// absence.
    fn canonical(
        &self,
        visitor: Option<Visitor<'_>>,
        request: &ExplainedRequest,
        passes: Option<PassReason>,
    ) -> Option<(String, Option<String>)> {
        let (section, known) = self.canonical.as_ref()?;
        let (visitor, passes) = (visitor?, passes?);
        if visitor.claim.kind().is_human() {
            return None;
        }
        // A pass rule without any effect is not the cause of the decision.
        let is_let_pass = self.policy.passes(&request.of_policy(), visitor);
        let passes = if is_let_pass {
            PassReason::Rule
        } else {
            passes
        };
        let redirects = CanonicalRedirects::new(section.redirect.iter().copied(), |_, _| None)
            .verdicts(section.verdicts.iter().copied());
        if !redirects.applies_to(visitor, passes) {
            let text = format!(
                "Not redirected to a canonical URL: the robot's purpose is {}, the verdict {}, and the robot passes as {}; canonical.redirect and \
                 canonical.verdicts select the robots to redirect.",
                visitor.claim.purpose(),
                visitor.verdict,
                passes.as_str()
            );
            return Some((text, None));
        }
        let asked = request.target.parse().ok()?;
        let found = known.find(request.host.as_deref(), &asked);
        let found = found.and_then(|found| Some(found.to_str().ok()?.to_owned()));
        let text = match &found {
            Some(found) => format!("The page's canonical URL is {found}."),
            None => "This page has no known canonical URL.".to_owned(),
        };
        Some((text, found))
    }

    /// Returns the component of this program that answers a request that passes.
    fn answered_by(
        &self,
        request: &ExplainedRequest,
        asked: Option<&http::Request<()>>,
        visitor: Option<Visitor<'_>>,
    ) -> Option<String> {
        let gives_markdown =
            |asked: &http::Request<()>| self.answers.serves_markdown(asked, visitor);
        if !self.policy.is_dry_run() && asked.is_some_and(gives_markdown) {
            return Some(MARKDOWN.to_owned());
        }
        self.answers
            .who_answers(&request.of_policy(), &request.target)
    }

    async fn new(loaded: &Loaded, name: &str, explainer: &Explainer) -> anyhow::Result<Self> {
        let detector = &explainer.detector;
        let mut answers = if explainer.robots_txt.is_some() {
            let served = app::configured_robots_txt(loaded, detector)?;
            SiteAnswers::from_settings(loaded, served)?.without_upstream()
        } else {
            let served = app::active_robots_txt(loaded, detector).await?;
            SiteAnswers::from_settings(loaded, served)?
        };
        let section = &loaded.settings().canonical;
        let mut canonical = None;
        if answers.has_generated_pages() || !section.redirect.is_empty() {
            let store = context::store(loaded).await?;
            answers.load_once(&store, name).await;
            if !section.redirect.is_empty() {
                let known = CanonicalKeeper::once(name, store.clone(), Clock::system()).await?;
                canonical = Some((section.clone(), known));
            }
            store.close().await;
        }
        let files = match &explainer.robots_txt {
            Some(file) => {
                let files = SharedRobotsFiles::default();
                files.replace(RobotsFiles::everywhere(file.clone()));
                files
            }
            None => answers.files().clone(),
        };
        let policy = SharedPolicy::new(app::policy(loaded)?);
        policy.set_overlay(explainer.live_rules.overlay(name));
        Ok(Self {
            policy: Guard::into_inner(policy.load()),
            enforcer: Enforcer::new(files, app::enforcement(loaded)?),
            answers,
            canonical,
            finds_suspects: finds_suspects(loaded),
        })
    }
}

/// Reads a robots.txt file.
pub(in crate::cli) fn read_robots_txt(path: &Path) -> anyhow::Result<RobotsTxt> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(RobotsTxt::parse(&bytes, Dialect::default()))
}
