//! The Tower service that wraps the application.

use std::{
    convert::Infallible,
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Extensions, Request, Response, Uri};
use tower_service::Service;

use super::{
    ClaimFinding, ResponseFuture,
    decide::{Decided, RequestInterface, Shared},
    head::{FromText, RefusalBody},
    stages::{Addresses, Client, Pending},
};

/// A service that redirects, refuses or slows down robots and forwards all other requests.
///
/// Services are created by [`RobotDetectionLayer`](super::RobotDetectionLayer).
#[derive(Clone, Debug)]
pub struct RobotDetectionService<S, T = FromText> {
    inner: S,
    shared: Arc<Shared>,
    bodies: T,
    /// Whether the inner service routes by URL.
    routes: bool,
}

impl<S, T> RobotDetectionService<S, T> {
    pub(super) fn new(inner: S, shared: Arc<Shared>, bodies: T, routes: bool) -> Self {
        Self {
            inner,
            shared,
            bodies,
            routes,
        }
    }
}

impl<S, B, R, T> Service<Request<B>> for RobotDetectionService<S, T>
where
    S: Service<Request<B>, Response = Response<R>>,
    T: RefusalBody<R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let verdicts = &self.shared.stages.verdicts;
        let client = |request: &Request<B>| Addresses::same(verdicts.client(request));
        let routed = Routed::of(&mut request);
        let mut door = self.door();
        door.routes &= !routed.is_chosen;
        let Ok((reply, outcome)) =
            self.shared
                .decide(door, &mut request, client, |_, request, claim| {
                    Ok::<_, Infallible>(verdicts.verdict(request, claim))
                });
        match reply.into_response(&self.bodies, &mut request) {
            Ok(mut response) => {
                if let Some(outcome) = outcome {
                    response.extensions_mut().insert(outcome);
                }
                ResponseFuture::ready(response)
            }
            Err(additions) => {
                routed.restore(&mut request);
                ResponseFuture::forwarding(self.inner.call(request), additions, outcome)
            }
        }
    }
}

impl<S, T> RobotDetectionService<S, T> {
    /// Decides about a request without calling the inner service, which the caller may do later.
    ///
    /// `client` is called only if the decision depends on the client.
    ///
    /// # Errors
    ///
    /// Returns `Err(Pending)` if the request must wait for the verdict on its claim.
    pub fn decide<B, R>(
        &self,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Client + Copy,
    ) -> Result<Decided<R>, Pending>
    where
        T: RefusalBody<R>,
    {
        let verdicts = &self.shared.stages.verdicts;
        let network = |request: &Request<B>| client(request).into();
        self.shared
            .decide(self.door(), request, network, |policy, request, claim| {
                verdicts.verdict_or_pending(policy, request, claim, client(request))
            })
    }

    /// Decides about a request that has waited for a verdict, using that verdict.
    pub fn decide_settled<B, R>(
        &self,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Client,
        finding: ClaimFinding,
    ) -> Decided<R>
    where
        T: RefusalBody<R>,
    {
        let network = |request: &Request<B>| client(request).into();
        // The policy and the registry may have changed in the meantime: decide again with the
        // settled verdict, so that no request waits twice.
        let door = self.door();
        let Ok(decided) = self.shared.decide(door, request, network, |_, _, _| {
            Ok::<_, Infallible>(Some(finding))
        });
        decided
    }

    fn door(&self) -> RequestInterface<'_, T> {
        RequestInterface {
            bodies: &self.bodies,
            routes: self.routes,
        }
    }
}

/// The changes that an outer router has made to a request.
#[derive(Debug, Default)]
struct Routed {
    /// Whether the handler has already been chosen, so that rewriting the URL has no effect.
    is_chosen: bool,
    /// The URL that a handler in a nested router expects, while the request has the original URL.
    nested: Option<Uri>,
}

impl Routed {
    /// Sets the request's URL to the originally requested URL, which rules are matched against.
    fn of<B>(request: &mut Request<B>) -> Self {
        let Some(requested) = requested_url(request.extensions()) else {
            return Self::default();
        };
        let prefixed = (requested != request.uri()).then(|| requested.clone());
        Self {
            is_chosen: true,
            nested: prefixed.map(|url| mem::replace(request.uri_mut(), url)),
        }
    }

    /// Restores the URL that the nested handler expects.
    fn restore<B>(self, request: &mut Request<B>) {
        if let Some(nested) = self.nested {
            *request.uri_mut() = nested;
        }
    }
}

/// Returns the URL that was requested before the prefix of a nested router was removed.
#[cfg(feature = "axum")]
fn requested_url(extensions: &Extensions) -> Option<&Uri> {
    let requested = extensions.get::<axum::extract::OriginalUri>();
    requested.map(|requested| &requested.0)
}

#[cfg(not(feature = "axum"))]
fn requested_url(_: &Extensions) -> Option<&Uri> {
    None
}

#[cfg(test)]
mod tests {
    use std::{future::ready, net::IpAddr, time::Duration};

    use tower_layer::Layer as _;

    use super::*;
    use crate::detect::Verdict;
    use crate::layer::{ClaimedRequest, LayerReply, RobotDetectionLayer, VerdictFuture, Verdicts};
    use crate::policy::{Action, Rule};
    use crate::registry::{Pattern, PatternKind, Robot, Source};
    use crate::suspect::Transport;

    /// A source whose verdicts are first pending; a settled verdict depends on the client's
    /// address.
    struct Slow {
        settles: bool,
    }

    impl Verdicts for Slow {
        fn verdict(&self, _: &ClaimedRequest<'_>) -> Verdict {
            Verdict::Pending
        }

        fn settled(&self, visit: &ClaimedRequest<'_>) -> Option<VerdictFuture> {
            let is_it = visit.client == Some(CLIENT);
            let verdict = if is_it {
                Verdict::Verified
            } else {
                Verdict::Spoofed
            };
            self.settles
                .then(|| -> VerdictFuture { Box::pin(ready(verdict)) })
        }
    }

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn layer() -> RobotDetectionLayer<fn(String)> {
        let mut robot = Robot::new("examplebot", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
        let rule = Rule::builder(Action::Pass).verdicts([Verdict::Verified]);
        RobotDetectionLayer::builder()
            .rule(rule.wait(Duration::from_millis(500)))
            .bundled_registry(false)
            .add_robots([robot])
            .build()
            .unwrap()
            .refusal_body(drop::<String> as fn(String))
    }

    fn service(settles: bool) -> RobotDetectionService<&'static str, fn(String)> {
        layer()
            .verdicts(Arc::new(Slow { settles }))
            .layer("the application")
    }

    fn by(address: IpAddr) -> Client {
        by_scheme(address, None)
    }

    fn by_scheme(address: IpAddr, scheme: Option<&'static str>) -> Client {
        Client {
            address,
            network: Some(address),
            scheme,
            transport: Transport::default(),
        }
    }

    fn request(path: &str) -> Request<&'static str> {
        let request = Request::get(path).header("user-agent", "ExampleBot/1.0");
        request.body("the body").unwrap()
    }

    /// Returns `true` if a request is forwarded with its body.
    fn passes((reply, _): Decided<()>, asked: &Request<&'static str>) -> bool {
        match reply {
            LayerReply::Now(response) => {
                assert_eq!(response.status(), 302);
                false
            }
            LayerReply::Ready(head) => {
                assert_eq!(head.status(), 302);
                false
            }
            LayerReply::Passes(_) => {
                assert_eq!(asked.headers().len(), 1);
                assert_eq!(*asked.body(), "the body");
                true
            }
        }
    }

    #[test]
    fn request_waits_if_a_rule_requires_it_and_is_decided_by_the_settled_verdict() {
        let service = service(true);
        for (client, verdict, is_passed) in [
            (CLIENT, Verdict::Verified, true),
            ([192, 0, 2, 8].into(), Verdict::Spoofed, false),
        ] {
            let mut asked = request("/members-only-stuff/a");
            let waiting = service.decide::<_, ()>(&mut asked, |_| by(client));
            let pending = waiting.err().unwrap();
            assert_eq!(pending.limit, Duration::from_millis(500));
            let mut settling = pending.settling;
            let context = &mut Context::from_waker(std::task::Waker::noop());
            let settled = settling.as_mut().poll(context);
            assert_eq!(settled, Poll::Ready(verdict));
            let reply = service.decide_settled(&mut asked, |_| by(client), verdict.into());
            assert_eq!(passes(reply, &asked), is_passed);
        }
        let mut late = request("/members-only-stuff/a");
        let known = Verdict::Pending.into();
        let reply = service.decide_settled(&mut late, |_| by(CLIENT), known);
        assert!(!passes(reply, &late), "the time limit has passed");
    }

    /// A source that records the schemes of the claims it is asked about.
    #[derive(Clone, Default)]
    struct Schemes(Arc<std::sync::Mutex<Vec<Option<String>>>>);

    impl Verdicts for Schemes {
        fn verdict(&self, visit: &ClaimedRequest<'_>) -> Verdict {
            let scheme = visit.scheme.map(str::to_owned);
            self.0.lock().unwrap().push(scheme);
            Verdict::Unverifiable
        }
    }

    #[test]
    fn scheme_is_set_by_the_server_and_not_taken_from_the_target() {
        let schemes = Schemes::default();
        let service = layer().verdicts(Arc::new(schemes.clone())).layer("it");
        let told = |target: &str, scheme| {
            let (mut asked, address) = (request(target), CLIENT);
            let reply = service.decide::<_, ()>(&mut asked, |_| by_scheme(address, scheme));
            assert!(passes(reply.unwrap(), &asked));
            schemes.0.lock().unwrap().pop().unwrap()
        };
        let (relative, absolute) = ("/a", "http://a.example/a");
        assert_eq!(told(relative, None), None);
        assert_eq!(told(relative, Some("http")).as_deref(), Some("http"));
        assert_eq!(told(absolute, None), None);
        assert_eq!(told(absolute, Some("https")).as_deref(), Some("https"));

        let inner = tower::service_fn(async |_: Request<&'static str>| {
            Ok::<_, Infallible>(Response::new(()))
        });
        let mut service = layer().verdicts(Arc::new(schemes.clone())).layer(inner);
        for target in [relative, absolute] {
            drop(service.call(request(target)));
            let told = schemes.0.lock().unwrap().pop().unwrap();
            assert_eq!(told, None, "{target}");
        }
    }

    #[test]
    fn request_does_not_wait_if_the_decision_does_not_depend_on_the_verdict() {
        for (settles, path, is_passed) in [
            (true, "/elsewhere", true),
            (false, "/members-only-stuff/a", false),
        ] {
            let mut asked = request(path);
            let reply = service(settles).decide(&mut asked, |_| by(CLIENT));
            assert_eq!(passes(reply.unwrap(), &asked), is_passed, "{path}");
        }
    }
}
