//! An application behind the layer, without a network.

use axum::{Router, body::Body, routing::any};
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use robot_detection::{
    clock::Clock,
    layer::{LayerBuilder, RobotDetectionLayer},
    policy::{Enforcer, Policy, PolicyBuilder, Violations},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
    robots_txt::{Dialect, RobotsTxt},
};
use tower::ServiceExt as _;

pub(super) const EXAMPLEBOT: &str = "Mozilla/5.0 (compatible; ExampleBot/2.1; +http://a.example/)";
pub(super) const NEWSBOT: &str = "NewsBot/1.0";
pub(super) const UNLISTED: &str =
    "Mozilla/5.0 (compatible; MysteryCrawler/0.1; +https://mystery.example/)";
pub(super) const FIREFOX: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

pub(super) const FILE: &str = "# Ours.
User-agent: ExampleBot
Disallow: /private/
Allow: /private/open/
Disallow: /*?sort=

User-agent: *
Disallow: /hidden/
";

/// Site with status 200 on all pages.
pub(super) struct Site {
    pub(super) enforcer: Enforcer,
    pub(super) layer: RobotDetectionLayer,
    pub(super) clock: Clock,
    app: Router,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

pub(super) fn file(text: &str) -> RobotsTxt {
    RobotsTxt::parse(text.as_bytes(), Dialect::default())
}

pub(super) fn robot(id: &str, token: &str) -> Robot {
    let mut robot = Robot::new(id, Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
    robot.purpose = Purpose::Search;
    robot
}

pub(super) fn robots() -> [Robot; 2] {
    let mut example = robot("example-corp", "ExampleBot");
    example.product_token = Some("ExampleBot".to_owned());
    [example, robot("newsbot", "NewsBot")]
}

/// Returns a policy that filters only the members' area.
pub(super) fn policy() -> PolicyBuilder {
    Policy::builder().never("/robot-detection/admin")
}

impl Site {
    /// Creates a site with this robots.txt.
    pub(super) fn new(text: &str, settings: impl FnOnce(LayerBuilder) -> LayerBuilder) -> Self {
        Self::with(text, robots(), settings)
    }

    /// Creates a site with this robots.txt and the given robots.
    pub(super) fn with(
        text: &str,
        robots: impl IntoIterator<Item = Robot>,
        settings: impl FnOnce(LayerBuilder) -> LayerBuilder,
    ) -> Self {
        let builder = RobotDetectionLayer::builder()
            .policy(|_| policy())
            .bundled_registry(false)
            .add_robots(robots)
            .robots_txt(file(text));
        let clock = Clock::manual(1_772_366_400_000);
        let layer = settings(builder).build().unwrap().clock(clock.clone());
        let page = any(async || "the page");
        Self {
            enforcer: layer.robots_txt().clone(),
            clock,
            app: Router::new().fallback(page).layer(layer.clone()),
            layer,
        }
    }

    pub(super) async fn get(&self, path: &str, user_agent: &str) -> Answer {
        self.ask("GET", "www.example.com", path, user_agent).await
    }

    pub(super) async fn status(&self, path: &str, user_agent: &str) -> u16 {
        self.get(path, user_agent).await.status
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        host: &str,
        path: &str,
        user_agent: &str,
    ) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("user-agent", user_agent);
        let request = request.body(Body::empty()).unwrap();
        let answer = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(super) fn violations(&self) -> Violations {
        self.enforcer.violations()
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}
