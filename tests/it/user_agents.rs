//! Names, contacts and devices in User-Agents.

use std::sync::LazyLock;

use proptest::prelude::*;
use robot_detection::{
    detect::{Detector, PartKind, parts},
    registry::{PatternKind, Purpose, Robot, bundled},
};

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let robots = bundled().robots.into_iter().map(Into::into);
    Detector::new(robots).unwrap().recognise_unlisted(true)
});

/// Returns the ID that a User-Agent is counted under; `person` for a human visitor.
fn id(user_agent: &str) -> String {
    let claim = DETECTOR.claim(user_agent.as_bytes());
    let is_robot = claim.as_ref().is_some_and(|claim| !claim.kind().is_human());
    assert_eq!(DETECTOR.is_robot(user_agent), is_robot, "{user_agent}");
    claim.map_or("person".to_owned(), |claim| claim.id().to_owned())
}

/// Returns the tokens of robots, without those that are libraries or shared.
fn tokens(of: impl Fn(&Robot) -> bool) -> Vec<(String, String)> {
    let robots = DETECTOR.robots().iter().filter(|robot| of(robot));
    robots
        .filter_map(|robot| {
            let mut tokens = robot.patterns.iter();
            let token = tokens.find(|pattern| pattern.kind == PatternKind::Token)?;
            Some((robot.id.clone(), token.text.clone()))
        })
        .collect()
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[test]
fn parts_are_products_comments_and_contacts() {
    let text = "A/1.0 b (c; +http://d.example/e?f; g@h.example) www.i.example/j J+https://k.example (+l.example/m)";
    let kinds = parts(text.as_bytes()).map(|part| {
        let own = &text[part.range.clone()];
        match part.kind {
            PartKind::Product { name_end } => {
                format!("product {}", &text[part.range.start..name_end])
            }
            PartKind::Comment => format!("comment {own}"),
            PartKind::Url { host_end } => format!("url {}", &text[part.range.start..host_end]),
            PartKind::Mail => format!("mail {own}"),
        }
    });
    let expected = "product A, product b, comment c, url +http://d.example, mail g@h.example, url www.i.example, \
                    product J, url +https://k.example, url +l.example";
    assert_eq!(kinds.collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn name_goes_before_the_host_of_a_url() {
    for (user_agent, expected) in [
        ("AI2Bot (+https://www.allenai.org/crawler)", "ai2bot"),
        (
            "Barkrowler/0.9 (+https://babbar.tech/crawler)",
            "barkrowler",
        ),
        (
            "Mozilla/5.0 (compatible; BLEXBot/1.0; +https://help.seranking.com/en/blex-crawler)",
            "blexbot",
        ),
        (
            "Mozilla/5.0 (compatible; memorybot/1.0; +http://internetmemory.org/en/)",
            "memorybot",
        ),
        (
            "Mozilla/5.0 (compatible; SMTBot/1.0; +http://www.similartech.com/smtbot)",
            "smtbot",
        ),
        // A library or a driven browser is a name, too.
        ("curl/8.0 (+https://openai.com/gptbot)", "curl"),
        (
            "curl/8.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            "gptbot",
        ),
        ("GPTBot/1.2 curl/8.0", "gptbot"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0 Safari/537.36 (compatible; CCBot/2.0)",
            "ccbot",
        ),
    ] {
        assert_eq!(id(user_agent), expected, "{user_agent}");
    }
    // Each name with the URL of each host that names a robot.
    let robots = tokens(|robot| robot.purpose != Purpose::Shared);
    let hosts = robots
        .iter()
        .filter(|(_, token)| token.contains('.') && !token.contains(' '));
    for (host_id, host) in hosts.step_by(7) {
        for (id_, token) in robots
            .iter()
            .filter(|(_, token)| is_name(token))
            .step_by(41)
        {
            let alone = id(&format!("{token}/1.0"));
            let with_host = id(&format!("{token}/1.0 (+https://{host}/about)"));
            assert_eq!(with_host, alone, "{token} of {id_}, {host} of {host_id}");
        }
    }
}

#[test]
fn library_or_driven_browser_with_a_robot_in_its_comment_is_the_robot() {
    let tools = [
        "curl/8.5.0",
        "Wget/1.21",
        "python-requests/2.31",
        "Go-http-client/1.1",
        "okhttp/4.9",
        "axios/1.6",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0 Safari/537.36",
        "Scrapy/2.11",
    ];
    for tool in tools {
        for (robot, expected) in [
            ("GPTBot/1.2", "gptbot"),
            ("ClaudeBot/1.0", "claudebot"),
            ("CCBot/2.0", "ccbot"),
            ("bingbot/2.0", "bingbot"),
            ("AhrefsBot/7.0", "ahrefsbot"),
        ] {
            assert_eq!(
                id(&format!(
                    "{tool} (compatible; {robot}; +https://example.com/bot)"
                )),
                expected,
                "{tool}"
            );
            assert_eq!(id(&format!("{robot} {tool}")), expected, "{tool}");
        }
    }
}

#[test]
fn devices_in_a_url_do_not_hide_a_robot() {
    let devices = [
        "iphone", "android", "ipad", "ios", "mac-os", "macos", "windows", "darwin", "symbian",
        "watch", "torrent", "kodi", "xbmc", "bullhorn", "ucweb",
    ];
    for device in devices {
        for user_agent in [
            format!("FooSync/2.0 (+https://example.org/{device}/about)"),
            format!("FooSync/2.0 (+https://{device}.example.org/about)"),
            format!("FooSync/2.0 (+https://example.org/?for={device})"),
            format!("FooSync/2.0 ({device}@example.org)"),
        ] {
            assert_eq!(id(&user_agent), "unlisted", "{user_agent}");
        }
        // Outside of the URL, the device counts.
        let app = format!("FooSync/2.0 ({device}; https://example.org/about)");
        assert!(["person", "shared", "unlisted"].contains(&&*id(&app)));
    }
    for user_agent in [
        "FooSync/2.0 (+https://example.org/about)",
        "AndroidPoliceReader/2.0 (+https://androidpolice.com/about)",
        "WindowsForum-AI/1.0 (+https://windowsforum.com/misc/contact)",
        "https://example.com/iphone Mozilla/5.0 (iPhone; CPU iPhone OS 9_3_2 like Mac OS X) AppleWebKit/601.1.46",
    ] {
        assert_eq!(id(user_agent), "unlisted", "{user_agent}");
    }
    assert_eq!(
        id("FooSync/2.0 (iPhone; iOS 17.0; https://example.org/about)"),
        "person"
    );
}

#[test]
fn people_whose_user_agents_look_like_robots() {
    const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/151.0.0.0 Safari/537.36";
    const FIREFOX: &str = "Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.9.2.13) Gecko/20101203 Firefox/3.6.13";
    let browsers = [
        format!("{CHROME}/iBot7KTt-08"),
        format!("{CHROME}/BotHg3zA-07"),
        format!("{CHROME}/kBOT-02"),
        format!("{CHROME}/Botx9-11"),
        format!("{CHROME} Edg/151.0.0.0 wails.io"),
        format!("{CHROME} wails.io"),
        format!("{CHROME} ||| ReqID: 472 | Env: live | Initiator: https://www.example.com"),
        format!("{CHROME} | Initiator: http://example.com/"),
        format!("{FIREFOX} Ant.com Toolbar 2.0.1"),
        format!("{FIREFOX} (Ant.com Toolbar 2.3)"),
        format!("{FIREFOX} AutoPager/0.6.1.22 (http://www.teesoft.info/)"),
        format!("{FIREFOX} CK-Finbu"),
        CHROME.replace("like Gecko)", "like Gecko; Microsoft Outlook 16.0.9126)"),
        "Element/1.6.44 (Google Pixel 8; Android 15; AP3A; Flavour GooglePlay; MatrixAndroidSdk2 1.6.44)".to_owned(),
        "Element/1.11.0 (iPhone 14; iOS 16.2; Scale/3.00)".to_owned(),
        "nu.nl/10.13 (iOS,16.2;iPhone14,5)".to_owned(),
        "nu.nl/10.13 (iOS,17.0)".to_owned(),
    ];
    for browser in browsers {
        assert_eq!(id(&browser), "person", "{browser}");
    }
    // The malware spells its name in capitals.
    assert_eq!(id("ELEMENT/1.0"), "mirai-family");
}

#[test]
fn robots_that_were_once_taken_for_people() {
    for user_agent in [
        "gitlab-runner 17.5.3 (17-5-stable; go1.22.7; linux/amd64)",
        "Mozilla/5.0 (Linux x64) node.js/16.14.2 v8/9.4.146.24-node.20",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36 PTST/2.30",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36 DejaClick/2.9.7.2",
        "Y!J-BRU/VSIDX",
        "Cloudflare Stream Webhook",
        "hey.com/imageproxy Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36 AlliAI/1.0",
        "HyperBrowser (Cray; I; OrganicOS 9.7.42beta-27)",
        "GrokBot/1.0",
        "xAI-Grok/1.0",
        "Grok-DeepSearch/1.0",
        "meta-externaltest/1.1",
        "Google-Flights-Search-Spackle",
    ] {
        assert_ne!(id(user_agent), "person", "{user_agent}");
    }
    assert_eq!(
        id("gitlab-runner 17.5.3 (17-5-stable; go1.22.7; linux/amd64)"),
        "gitlab-runner"
    );
    assert_eq!(
        id("ZoomBot (Linkbot 1.0 http://suite.seozoom.it/bot.html)"),
        "seozoom"
    );
}

#[test]
fn robot_in_a_path_is_no_name() {
    for (user_agent, expected) in [
        ("FooSync/2.0 (+https://example.org/Googlebot)", "unlisted"),
        ("FooSync/2.0 (+https://example.org/?bot=GPTBot)", "unlisted"),
        ("FooSync/2.0 (+https://example.org/#ClaudeBot)", "unlisted"),
        ("Wget/1.21 (+https://example.org/bingbot)", "wget"),
    ] {
        assert_eq!(id(user_agent), expected, "{user_agent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn contact_never_changes_the_name_and_never_hides_a_robot(
        robot in any::<prop::sample::Index>(),
        shape in 0..4,
        contact in prop_oneof![
            "(http|https)://(www\\.)?[a-z]{1,9}\\.(com|org|example)(/[A-Za-z0-9/._~?&=%#-]{0,30})?",
            "https://(googlebot|openai|semrush|ahrefs|iphone|android)\\.com/(iphone|Googlebot|GPTBot|android)",
            "[a-z]{1,9}@(googlebot|iphone|example)\\.com",
        ],
    ) {
        static TOKENS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| tokens(|_| true));
        let (_, token) = robot.get(&TOKENS);
        let user_agent = match shape {
            0 => format!("{token}/1.0"),
            1 => format!("Mozilla/5.0 (compatible; {token}/2.1)"),
            2 => format!("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 {token}"),
            _ => format!("{token}Unlisted-thing/1.0"),
        };
        let (alone, with_contact) = (id(&user_agent), id(&format!("{user_agent} (+{contact})")));
        if alone == "unlisted" || alone == "person" {
            prop_assert_ne!(&with_contact, if alone == "person" { "" } else { "person" });
        } else {
            prop_assert_eq!(with_contact, alone);
        }
    }

    #[test]
    fn parts_of_any_text_are_in_order(text in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"(){};,:/@+. w".to_vec())], 0..200)) {
        let mut end = 0;
        for part in parts(&text) {
            prop_assert!(end <= part.range.start && part.range.start < part.range.end);
            end = part.range.end;
        }
        prop_assert!(end <= text.len());
    }
}
