//! Robots that no registry lists.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use robot_detection::{
    detect::{Claim, Detector, Sign, UNLISTED, browsers},
    registry::{Pattern, PatternKind, Purpose, Robot, Source, bundled},
};

fn nothing_listed() -> Detector {
    Detector::new([]).unwrap().recognise_unlisted(true)
}

/// Returns the sign that reveals an unlisted robot, with its text in the User-Agent.
fn sign(user_agent: &str) -> Option<(Sign, &str)> {
    match nothing_listed().identify(user_agent.as_bytes())? {
        Claim::Unlisted(unlisted) => Some((unlisted.sign, &user_agent[unlisted.range])),
        Claim::Signed(_) | Claim::Nameless | Claim::Shared(_) => None,
        Claim::Listed(listed) => panic!("{} is listed", listed.robot.id),
        Claim::Person => panic!("the User-Agent is a person's"),
    }
}

macro_rules! signs {
    ($($name:ident: $sign:ident { $($user_agent:literal => $text:literal;)* })*) => {$(
        #[test]
        fn $name() {
            $(assert_eq!(sign($user_agent), Some((Sign::$sign, $text)), "{}", $user_agent);)*
        }
    )*};
}

signs! {
    robots_are_recognised_by_words_for_robots: Word {
        "examplebot/1.0" => "bot";
        "Mozilla/5.0 (compatible; Example-Bot 2; +https://example.com/)" => "Bot";
        "ExampleBots" => "Bot";
        "exampleBotNews/2" => "Bot";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 (example crawler)" => "crawl";
        "ExampleSpider" => "Spider";
        "Example Link Checker" => "Checker";
        "Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/60.0 PageMonitor/3" => "Monitor";
        // Additions of programs after the User-Agent of a browser's engine.
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 ExampleAgent/1.0" => "Agent";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 example-agent" => "agent";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 Example-Preview" => "Preview";
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; contact: example) Gecko/20100101 Firefox/130.0" => "contact";
        // The second comment is preceded by the device and followed by the robot.
        "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537.36 (compatible; examplebot/1.0)" => "bot";
    }
    a_contact_url_reveals_a_robot: Url {
        "Mozilla/5.0 (X11; Linux x86_64) Example (see https://example.com/about)" => "https://";
        "Example (www.example.com)" => "www.";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 Example/1.0; +example.com" => "+";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 example.ai" => ".ai";
    }
    a_contact_address_reveals_a_robot: Address {
        "Example/2 (webmaster@example.com)" => "@";
        "Example/2 (webmaster at example.com)" => " at ";
        "Example/2 (webmaster(at)example.com)" => "(at)";
    }
    compatible_without_a_browser_reveals_a_robot: Compatible {
        "Mozilla/5.0 (compatible; Example/2.1)" => "compatible;";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; compatible; Example) Chrome/130.0 Safari/537.36" => "compatible;";
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; Example-Render) Chrome/130.0 Safari/537.36" => "like Gecko; ";
    }
    attack_strings_reveal_a_program: Attack {
        "${jndi:ldap://192.0.2.1/a}" => "${";
        "() { :; }; echo vulnerable" => "() {";
        "<script>alert(1)</script>" => "<script";
    }
    a_leading_library_name_reveals_a_program: Library {
        "python-example/3.1" => "python-example";
        "libcurl-agent/1.0" => "libcurl-agent";
        "PHP/8.3" => "PHP";
    }
    a_missing_device_reveals_a_program: Program {
        "Example Search 2" => "Search";
        "link-example" => "link";
        "example.com" => "example.com";
        "Example::Mechanics/1.4" => "Example::Mechanics";
        "wide-example/3.2.1" => "wide-example";
        "Example/1.0" => "Example";
        "Example/24.10.3" => "Example";
        "Exm/v2.1-beta" => "Exm";
        "Example/3.4.5 (Linux x86_64; en)" => "Example";
        "Example (a program)" => "Example";
        "example" => "example";
        "example_of_names" => "example_of_names";
        "Example of a name" => "Example";
        "Mozilla/5.0 Example/2.1" => "Example";
        "Mozilla/5.0 (Example; 2.1)" => "Example";
        // User-Agents that are too short, or that no browser sends.
        "Mozilla/5.0" => "Mozilla/5.0";
        "Mozilla/4.0 (compatible;)" => "Mozilla/4.0";
        "Mozilla/5.0example/2.1" => "Mozilla/5.0";
        "example_cli/2.1 (Windows 10.0)" => "example_cli";
        "ExamplePod-Downloader" => "Download";
    }
}

#[test]
fn people_are_not_robots() {
    for user_agent in [
        "",
        "-",
        // Devices with names that resemble robots.
        "Mozilla/5.0 (Linux; Android 7.0; CUBOT_NOTE Build/NRD90M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 7.0; M bot 60 Build/NRD90M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 6.0; IDbot553 Build/MRA58K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/54.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 13; Spider 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Linux; Android 8.0; jackpot2lte) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 5.1; WIKO FEVER 4G) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0 Mobile Safari/537.36",
        "UCWEB/2.0 (MIDP-2.0; U; Adr 6.0; en; CUBOT_ECHO) U2/1.0.0 UCBrowser/9.9.0 Mobile",
        "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0 Safari/537.36 HbbTV/1.6.1 (+DRM; LGE/BOTECH; 58B; W22;)",
        // Single words, and User-Agents of browsers that disguise themselves.
        "default",
        "Mozilla/5.0 (masking-agent; rv:23.0) Gecko/20100101 Firefox/23.0",
        "User-Agent: Mozilla/5.0 (Windows NT 10.0; rv:130.0) Gecko/20100101 Firefox/130.0",
        "Mozilla/5.0 (Linux; Android 12; MagentaTV Box Build/A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/133.0 Mobile Safari/537.36",
        // URLs and e-mail addresses that do not belong to a robot.
        "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; Embedded Web Browser from: http://bsalsa.com/; .NET CLR 2.0.50727)",
        "Mozilla/5.0 (Linux; U; Android 4.2; en-us; Y600 Build/A) AppleWebKit/534.30 (KHTML, like Gecko) Mobile Safari/534.30 x-wap-profile http://phones.example/y600.xml",
        "Mozilla/5.0 (Linux; U; Android 2.3; en-us; R800xhttp://phones.example/UAprof/R800.xml Build/3.0) AppleWebKit/533.1 (KHTML, like Gecko) Mobile Safari/533.1",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/605.1.15 (Ecosia ios@11.0.2.2268)",
        "Mozilla/5.0 (Linux; Android 4.0.3; Tab Build/ICS@ROM_04.06.2012) AppleWebKit/535.19 (KHTML, like Gecko) Chrome/18.0 Safari/535.19",
        "Example/3 Android/12 (www.example.com)",
        "(Android)(10)(somebody@example.com)(Phone)(com.example.app)",
        // Browsers that call themselves compatible, or describe their engine in this way.
        "Mozilla/5.0 (compatible; Konqueror/4.4; Linux) KHTML/4.4.5 (like Gecko)",
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
        "Mozilla/5.0 (Macintosh; U; PPC Mac OS X; en) AppleWebKit/418.8 (KHTML, like Gecko, Safari) Cheshire/1.0",
        "Mozilla/5.0 (Macintosh; U; PPC Mac OS X; en-US; rv:1.8.1) Gecko/20061013 Camino/1.0+ (Firefox compatible)",
        // Apps and telephones.
        "Nokia6230/2.0 (05.50) Profile/MIDP-2.0 Configuration/CLDC-1.1",
        "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UD1A)",
        "Example/12 CFNetwork/1410.0.3 Darwin/22.6.0",
        "Example-Player/2.0 (Windows NT 10.0)",
        "ExamplePod/1.0",
        "Example-Torrent/4.3 (www.example.com)",
        "Firefox/58.0",
        "Iceweasel/15.0",
        "Mozilla/4.75 [en] (Win98; U)",
        "QuickTime/7.6.6 (cpu=IA32)",
        "foobar2000/1.6.1",
        "rhythmbox/3.4.6",
        // Slashes without a version, as in telephones.
        "EXM910/EXM910-V10a",
    ] {
        assert_eq!(sign(user_agent), None, "{user_agent}");
    }
}

#[test]
fn no_browser_of_the_self_test_is_a_robot() {
    let detector = nothing_listed();
    for browser in browsers() {
        assert_eq!(detector.identify(browser.as_bytes()), None, "{browser}");
    }
}

#[test]
fn the_search_in_a_hostile_text_stops_after_sixteen_contact_addresses() {
    let contacts = |count| {
        let device = "a@b.example ".repeat(count);
        format!("Mozilla/5.0 (Linux; Android 14; {device}) x@y.example")
    };
    assert_eq!(sign(&contacts(15)), Some((Sign::Address, "@")));
    assert_eq!(sign(&contacts(16)), None);
}

#[test]
fn listed_robots_take_precedence_over_unlisted_ones() {
    let mut robot = Robot::new("ex", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "Ex")];
    let detector = Detector::new([Arc::new(robot)])
        .unwrap()
        .recognise_unlisted(true);
    let id = |user_agent: &str| {
        detector
            .identify(user_agent.as_bytes())
            .map(|claim| claim.id().to_owned())
    };
    assert_eq!(
        id("Ex/1.0 crawler (+https://example.com)").as_deref(),
        Some("ex")
    );
    assert_eq!(id("crawler for ex").as_deref(), Some("ex"));
    assert_eq!(id("crawler").as_deref(), Some(UNLISTED));
}

#[test]
fn unlisted_robots_are_recognised_only_if_enabled() {
    let robots = || bundled().robots.into_iter().map(Arc::new);
    let text = b"Mozilla/5.0 (compatible; examplebot/1.0)";
    let detector = Detector::new(robots()).unwrap();
    assert!(!detector.recognises_unlisted());
    assert_eq!(detector.identify(text), None);
    assert_eq!(detector.identify(b"Example/1.0"), None);
    let detector = detector.recognise_unlisted(true);
    let claim = detector.identify(text).unwrap();
    assert_eq!((claim.id(), claim.purpose()), (UNLISTED, Purpose::Unknown));
    assert_eq!(claim.to_string(), "robot word");
    assert!(claim.robot().is_none() && claim.pattern().is_none());
}

#[test]
fn the_purpose_implied_by_a_sign_is_kept() {
    let detector = nothing_listed();
    let purpose = |user_agent: &[u8]| detector.identify(user_agent).map(|claim| claim.purpose());
    assert_eq!(purpose(b"python-example/3.1"), Some(Purpose::Library));
    assert_eq!(purpose(b"${jndi:dns://192.0.2.1}"), Some(Purpose::Scanner));
    assert_eq!(purpose(b"examplebot"), Some(Purpose::Unknown));
}

proptest! {
    #[test]
    fn any_bytes_are_accepted(text in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(claim) = nothing_listed().identify(&text) {
            prop_assert!(claim.range().end <= text.len());
        }
    }

    #[test]
    fn any_words_are_accepted(words in prop::collection::vec(
        prop::sample::select(vec!["bot", "Mozilla/5.0", " (", "compatible;", ")", "like Gecko; ", "http://", "@", "+", "a.example", "Android", "cu", "s", "/1.0", " ", "${"]), 0..12,
    )) {
        let text = words.concat();
        if let Some(claim) = nothing_listed().identify(text.as_bytes()) {
            prop_assert!(claim.range().end <= text.len());
        }
    }
}

/// Parts of browsers' and robots' User-Agents; many combinations nearly are a browser's.
const PIECES: [&str; 45] = [
    "Mozilla/5.0 (",
    "Windows NT 10.0; Win64; x64",
    "Linux; Android ",
    "iPhone; CPU iPhone OS ",
    "Macintosh; Intel Mac OS X ",
    " AppleWebKit/",
    "537.36",
    " (KHTML, like Gecko) Chrome/",
    " (KHTML, like Gecko) Version/",
    " Mobile",
    " Mobile/15E148",
    " Safari/",
    "143.0.0.0",
    "604.1.",
    "like Mac OS X) ",
    " (KHTML, like Gecko)",
    "Gecko/",
    " Firefox/",
    " Mobile Safari/",
    "bot",
    "Ex",
    "exampleagent",
    "compatible; ",
    "like Gecko; ",
    "https://",
    "HTTP://",
    "www.",
    ".com",
    "@",
    "+",
    "a.example",
    "cu",
    "s",
    "uaprof",
    "DoCoMo",
    "Andr0id",
    "${",
    "() {",
    "../",
    "<?",
    ")",
    ";",
    " ",
    "/1.0",
    "\u{e9}",
];

/// Returns a detector for robots, some with names that also occur in browsers' User-Agents.
fn named(patterns: &[(PatternKind, &str)]) -> Detector {
    let mut robot = Robot::new("ex", Source::manual());
    let patterns = patterns.iter();
    robot.patterns = patterns
        .map(|(kind, text)| Pattern::new(*kind, *text))
        .collect();
    Detector::new([Arc::new(robot)]).unwrap()
}

static DETECTORS: LazyLock<[Detector; 2]> = LazyLock::new(|| {
    [
        named(&[
            (PatternKind::Token, "exampleagent"),
            (PatternKind::Prefix, "Ex"),
        ]),
        named(&[
            (PatternKind::Regex, "Safari/1|[0-9]s|Andr.id"),
            (PatternKind::Token, "Gecko) Version"),
        ]),
    ]
});

#[test]
fn names_are_found_where_browsers_user_agents_begin_and_end() {
    let text = "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) \
        Chrome/143.0.0.0 Mobile Safari/537.36";
    for name in [
        "Android",
        "Linux; Android 14",
        "AppleWebKit",
        "KHTML",
        "like Gecko) Chrome/143",
        "Chrome/143.0.0.0 Mobile",
        "Mobile",
        "Safari/537.36",
        "Mozilla/5.0",
    ] {
        let detector = named(&[(PatternKind::Token, name)]);
        let at = text.find(name).unwrap();
        let range = detector
            .identify(text.as_bytes())
            .map(|claim| claim.range());
        assert_eq!(range, Some(at..at + name.len()), "{name}");
        assert!(detector.is_robot(text), "{name}");
    }
}

proptest! {
    #[test]
    fn is_robot_agrees_with_identify(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..16),
        unlisted in any::<bool>(),
        many in prop::sample::select(vec![1, 1, 1, 50]),
    ) {
        let text = pieces.concat().repeat(many);
        for detector in DETECTORS.iter() {
            let detector = detector.clone().recognise_unlisted(unlisted);
            let claim = detector.identify(text.as_bytes());
            prop_assert_eq!(detector.is_robot(&text), claim.is_some(), "{:?}", claim);
        }
    }

    #[test]
    fn is_robot_agrees_with_identify_for_any_bytes(
        text in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let detector = DETECTORS[0].clone().recognise_unlisted(true);
        prop_assert_eq!(detector.is_robot(&text), detector.identify(&text).is_some());
    }
}

#[test]
fn is_robot_agrees_with_identify_for_suffixes_of_names() {
    let detector = named(&[]).recognise_unlisted(true);
    for name in [
        "bot",
        "xbot",
        "cubot",
        "CUBOT",
        "Focubot",
        "cubotbot",
        "exampleBOT",
        "robots",
    ] {
        for text in [
            format!("{name} (iPhone)"),
            format!("{name}/1.0 Darwin"),
            format!("Mozilla/5.0 (compatible; {name}; Android 14)"),
            format!("Mozilla/5.0 (compatible; MSIE 9.0; {name})"),
        ] {
            let is_named = detector.identify(text.as_bytes()).is_some();
            assert_eq!(detector.is_robot(&text), is_named, "{text}");
        }
    }
}

#[test]
fn is_robot_agrees_with_identify_beyond_the_limit_of_marks() {
    let detector = nothing_listed();
    for pieces in [
        "www.botlike Gecko; ",
        "like Gecko; www.botlike ",
        "www.a.example bots ",
        "botbot (linux) .com ",
        "Mozilla/5.0 (compatible; botbot; linux; a.com ",
    ] {
        for count in 1..40 {
            let text = pieces.repeat(count);
            let is_named = detector.identify(text.as_bytes()).is_some();
            assert_eq!(detector.is_robot(&text), is_named, "{text}");
        }
    }
}

#[test]
fn is_robot_agrees_with_identify_for_the_bundled_registry() {
    let robots = bundled().robots;
    let names: Vec<String> = robots
        .iter()
        .flat_map(|robot| robot.patterns.iter().map(|pattern| pattern.text.clone()))
        .collect();
    let detector = Detector::new(robots.into_iter().map(Arc::new)).unwrap();
    for detector in [detector.clone(), detector.recognise_unlisted(true)] {
        for (browser, name) in browsers().zip(&names) {
            for text in [
                browser.to_owned(),
                name.clone(),
                format!("{browser} {name}"),
                format!("Mozilla/5.0 (compatible; {name}/1.0)"),
            ] {
                let is_named = detector.identify(text.as_bytes()).is_some();
                assert_eq!(detector.is_robot(&text), is_named, "{text}");
            }
        }
    }
}
