//! Robots that once had no name or a wrong name, and their names now.

use std::sync::Arc;

use robot_detection::{
    detect::{Claim, Detector},
    registry::{Purpose, bundled},
};

/// User-Agents that, except for Exalead's, were once unlisted, missed or misnamed.
const CASES: &[(&str, &str, &str, Purpose)] = &[
    // At the end of a browser's User-Agent, or alone.
    (
        "CHROME newsai/1.0",
        "newsai",
        "unlisted operator",
        Purpose::AiTraining,
    ),
    (
        "CHROME opencode/1.4.3",
        "opencode",
        "Anomaly",
        Purpose::AiUser,
    ),
    (
        "codex_cli_rs/0.98.0 (Ubuntu 24.4.0; x86_64) xterm",
        "codex-cli",
        "OpenAI",
        Purpose::AiUser,
    ),
    (
        "CHROME xAI-SearchBot/1.0",
        "xai-searchbot",
        "xAI",
        Purpose::AiSearch,
    ),
    (
        "CHROME ExaSearchBot/1.0",
        "exasearchbot",
        "Exa",
        Purpose::AiSearch,
    ),
    (
        "CHROME QueritBot/1.0",
        "queritbot",
        "Querit",
        Purpose::AiSearch,
    ),
    (
        "CHROME Reflectionbot/1.0",
        "reflectionbot",
        "Reflection AI",
        Purpose::AiTraining,
    ),
    (
        "CHROME TongyiBot/1.0",
        "tongyibot",
        "Alibaba",
        Purpose::AiUser,
    ),
    ("CHROME YiyanBot/1.0", "yiyanbot", "Baidu", Purpose::AiUser),
    (
        "CHROME Mozilla-Tabstack/1.0",
        "mozilla-tabstack",
        "Mozilla",
        Purpose::AiUser,
    ),
    (
        "CHROME NagetBot/1.0",
        "nagetbot",
        "Naget",
        Purpose::AiTraining,
    ),
    (
        "CHROME Shap-User/1.0",
        "shap-user",
        "Parallel Web Systems",
        Purpose::AiUser,
    ),
    (
        "CHROME (compatible; AmazonProductDiscovery/1.0)",
        "amazonproductdiscovery",
        "Amazon",
        Purpose::Search,
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityUser/1.0; +https://perplexity.ai)",
        "perplexityuser",
        "Perplexity",
        Purpose::AiUser,
    ),
    // Two robots with one name: the current one of Exa, and the former one of Exalead.
    (
        "Mozilla/5.0 (compatible; ExaBot/1.0; +https://exa.ai)",
        "exa-bot",
        "Exa",
        Purpose::AiSearch,
    ),
    (
        "Mozilla/5.0 (compatible; Exabot/3.0; +http://www.exabot.com/go/robot)",
        "exabot",
        "Exalead",
        Purpose::Search,
    ),
    // Apple's robot, whose User-Agent contains three other names.
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 \
         Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "imessage",
        "Apple",
        Purpose::Preview,
    ),
    (
        "facebookexternalua",
        "facebookexternalua",
        "Meta",
        Purpose::Library,
    ),
    (
        "PlayStore-Google",
        "playstore-google",
        "Google",
        Purpose::Search,
    ),
    (
        "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.1682",
        "powershell",
        "Microsoft",
        Purpose::Library,
    ),
    (
        "azsdk-net-Storage.Blobs/12.9.0 (.NET 6.0.1)",
        "azure-sdk",
        "Microsoft",
        Purpose::Library,
    ),
    (
        "nscurl (unknown version) CFNetwork/1333.0.4 Darwin/21.5.0",
        "nscurl",
        "Apple",
        Purpose::Library,
    ),
    // Monitors and previews, which were once redirected.
    ("Checkly/1.0", "checkly", "Checkly", Purpose::Monitoring),
    (
        "Mozilla/5.0 (compatible; NewRelicbot/2.1; +http://www.newrelic.com)",
        "newrelicbot",
        "New Relic",
        Purpose::Monitoring,
    ),
    (
        "Vercelbot (+https://vercel.com)",
        "vercelbot",
        "Vercel",
        Purpose::Preview,
    ),
    (
        "CHROME (Stripebot/1.0)",
        "stripebot",
        "Stripe",
        Purpose::Scanner,
    ),
    (
        "GroupMeBot/1.0",
        "groupmebot",
        "Microsoft",
        Purpose::Preview,
    ),
    (
        "Mozilla/5.0 (compatible; KeybaseBot; +https://keybase.io)",
        "keybasebot",
        "Keybase",
        Purpose::Preview,
    ),
    (
        "Mozilla/5.0 (Windows NT 6.1; rv:38.0) Gecko/20100101 Firefox/38.0 (IndeedBot 1.1)",
        "indeedbot",
        "Indeed",
        Purpose::Search,
    ),
    ("Disqus/1.0", "disqus", "Disqus", Purpose::Advertising),
    (
        "Mozilla/5.0 (compatible; officestorebot/1.0; +https://aka.ms/officestorebot)",
        "officestorebot",
        "Microsoft",
        Purpose::Monitoring,
    ),
    (
        "GitHubCopilotChat/0.8.0",
        "githubcopilotchat",
        "GitHub",
        Purpose::AiUser,
    ),
    (
        "SubstackContentFetch/1.0; https://substack.com",
        "substack-content-fetch",
        "Substack",
        Purpose::Preview,
    ),
    (
        "AppSignalBot/1.0 (+https://appsignal.com)",
        "appsignalbot",
        "AppSignal",
        Purpose::Monitoring,
    ),
    (
        "Mozilla/5.0 (compatible; phpservermon/3.1.1; +http://www.phpservermonitor.org)",
        "php-server-monitor",
        "PHP Server Monitor",
        Purpose::Monitoring,
    ),
];

const CHROME: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/140.0.0.0 Safari/537.36";

#[test]
fn robots_without_a_name_now_have_one() {
    let detector = Detector::new(bundled().robots.into_iter().map(Arc::new)).unwrap();
    let mut wrong = Vec::new();
    for (user_agent, id, operator, purpose) in CASES {
        let user_agent = user_agent.replace("CHROME", CHROME);
        let claim = detector.identify(user_agent.as_bytes());
        let robot = claim.as_ref().and_then(Claim::robot);
        let told = robot.map(|robot| (robot.id.as_str(), robot.operator.as_deref(), robot.purpose));
        if told != Some((id, Some(operator), *purpose)) {
            wrong.push(format!("{user_agent}: {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mozilla_joined_to_a_library_is_the_library() {
    let detector = Detector::new(bundled().robots.into_iter().map(Arc::new)).unwrap();
    let claim = detector.identify(b"Mozilla/5.0libwww-perl/6.05").unwrap();
    assert_eq!(claim.id(), "libwww-perl");
}

#[test]
fn every_model_training_robot_has_a_product_token() {
    let without: Vec<_> = bundled()
        .robots
        .into_iter()
        .filter(|robot| robot.purpose == Purpose::AiTraining && robot.token().is_err())
        .map(|robot| robot.id)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}
