//! The detector, which finds the robot that a User-Agent claims to be.

use std::{collections::HashSet, ops::Range, sync::Arc};

use proptest::prelude::*;
use robot_detection::{
    detect::{Detector, MAX_USER_AGENT_BYTES, SharedDetector, browser_hits, browsers, self_test},
    registry::{Pattern, PatternKind, Purpose, Robot, Source, Status, bundled},
};

fn robot(id: &str, kind: PatternKind, text: &str) -> Robot {
    let mut robot = Robot::new(id, Source::bundled());
    robot.patterns.push(Pattern::new(kind, text));
    robot
}

fn detector(robots: impl IntoIterator<Item = Robot>) -> Detector {
    Detector::new(robots.into_iter().map(Arc::new)).expect("the detector accepts a few literals")
}

fn named(detector: &Detector, user_agent: impl AsRef<[u8]>) -> Option<&str> {
    detector
        .identify(user_agent.as_ref())
        .and_then(|claim| Some(claim.robot()?.id.as_str()))
}

/// Returns the range of a pattern in a User-Agent.
fn found(kind: PatternKind, text: &str, user_agent: impl AsRef<[u8]>) -> Option<Range<usize>> {
    detector([robot("it", kind, text)])
        .identify(user_agent.as_ref())
        .map(|claim| claim.range())
}

/// `name: kind "text"; "User-Agent" => range or none`
macro_rules! finds {
    ($($name:ident: $kind:ident $text:literal { $($user_agent:expr => $range:expr),* $(,)? })*) => {$(
        #[test]
        fn $name() {
            $(
                let range: Option<Range<usize>> = $range;
                assert_eq!(
                    found(PatternKind::$kind, $text, $user_agent), range,
                    "{:?} in {:?}", $text, $user_agent
                );
            )*
        }
    )*};
}

finds! {
    token_matches_anywhere_between_boundaries: Token "ExampleBot" {
        "ExampleBot" => Some(0..10),
        "ExampleBot/2.1 (+http://example.org/)" => Some(0..10),
        "Mozilla/5.0 (compatible; ExampleBot/2.1)" => Some(25..35),
        "ExampleBot2" => Some(0..10),
        "ExampleBot-Image" => Some(0..10),
        "ExampleBot_x" => Some(0..10),
        "examplebot" => Some(0..10),
        "EXAMPLEBOT" => Some(0..10),
        "(ExampleBot)" => Some(1..11),
        "_ExampleBot" => Some(1..11),
        "ExampleBots" => None,
        "MyExampleBot" => None,
        "2ExampleBot" => None,
        "ExampleBo" => None,
        "" => None,
        "MyExampleBot ExampleBots ExampleBot" => Some(25..35),
    }
    bytes_beyond_ascii_are_boundaries: Token "ExampleBot" {
        b"\xffExampleBot\xff" => Some(1..11),
        "éExampleBot" => Some(2..12),
        "ExampleBoté" => Some(0..10),
        "（ExampleBot；）" => Some(3..13),
    }
    prefix_matches_at_the_beginning: Prefix "Harvest/" {
        "Harvest/1.5" => Some(0..8),
        "harvest/" => Some(0..8),
        "Harvest" => None,
        " Harvest/1.5" => None,
        "Mozilla/5.0 Harvest/1.5" => None,
    }
    product_matches_a_complete_name_at_the_beginning: Product "Wanderer" {
        "Wanderer" => Some(0..8),
        "Wanderer/1.0" => Some(0..8),
        "wanderer_2" => Some(0..8),
        "Wanderer (+http://example.org/)" => Some(0..8),
        "Wanderer2" => Some(0..8),
        "Wanderer 2.0" => Some(0..8),
        "Wanderers" => None,
        "Wanderer phone" => None,
        "Wanderer  (x)" => None,
        "Wanderer-2" => None,
        "The Wanderer" => None,
        "Wanderer\u{e9}" => None,
    }
    exact_matches_the_whole_user_agent: Exact "Mozilla/4.0 (compatible; ICS)" {
        "Mozilla/4.0 (compatible; ICS)" => Some(0..29),
        "mozilla/4.0 (COMPATIBLE; ics)" => Some(0..29),
        "Mozilla/4.0 (compatible; ICS) " => None,
        " Mozilla/4.0 (compatible; ICS)" => None,
        "Mozilla/4.0 (compatible; ICS" => None,
    }
    plain_regex_is_case_sensitive: Regex "ExampleBot" {
        "xExampleBotx" => Some(1..11),
        "xexamplebotx" => None,
    }
    caseless_regex_is_case_insensitive: Regex "(?i)ExampleBot" {
        "xexampleBOTx" => Some(1..11),
    }
    regex_start_anchor_is_respected: Regex "^Silk/" {
        "Silk/1.0" => Some(0..5),
        "Mozilla/5.0 Silk/1.0" => None,
    }
    regex_end_anchor_is_respected: Regex r"Example\/1\.0$" {
        "Mozilla Example/1.0" => Some(8..19),
        "Mozilla Example/1.0 " => None,
        "Mozilla Example/1x0" => None,
    }
    regex_word_boundaries_are_respected: Regex r"\bGPTish\b" {
        "a GPTish/1" => Some(2..8),
        "a_GPTish/1" => None,
        "GPTishes" => None,
    }
    regex_alternatives_are_all_found: Regex "^(?:Alpha|Beta)(?:Bot|Agent)$" {
        "AlphaBot" => Some(0..8),
        "BetaAgent" => Some(0..9),
        "BetaAgents" => None,
        "xBetaAgent" => None,
    }
    regex_with_a_literal_prefilter_is_run: Regex r"Example ?(?:Bot)?/([0-9]+)" {
        "x Example Bot/23;" => Some(2..16),
        "x Example/4" => Some(2..11),
        "x Example/a" => None,
        "x example/4" => None,
    }
    regex_with_a_left_boundary_is_run: Regex r"(?i)(?:^|[^a-z0-9_-])(?:tweetedtimes|example-crawl)" {
        "Tweetedtimes" => Some(0..12),
        "x EXAMPLE-crawl" => Some(1..15),
        "xexample-crawl" => None,
    }
    regex_without_a_literal_prefilter_is_run: Regex r"^[a-z]{5}$" {
        "abcde" => Some(0..5),
        "abcdef" => None,
    }
}

#[test]
fn shorter_name_is_found_where_the_longer_one_does_not_match() {
    let detector = detector([
        robot("short", PatternKind::Token, "Goo"),
        robot("middle", PatternKind::Token, "Goo-Bot"),
        robot("long", PatternKind::Token, "Goo-Bot-Image"),
        robot("whole", PatternKind::Exact, "Goo-Bot-Image/1.0"),
    ]);
    for (user_agent, id) in [
        ("Goo-Bot-Image/1.0", Some("whole")),
        ("Goo-Bot-Image/1.0.", Some("long")),
        ("Goo-Bot-Images", Some("middle")),
        ("Goo-Bots", Some("short")),
        ("Goos-Bot", None),
        ("xGoo-Bot", None),
    ] {
        assert_eq!(named(&detector, user_agent), id, "{user_agent}");
    }
}

#[test]
fn name_inside_another_is_found() {
    let detector = detector([
        robot("around", PatternKind::Exact, "big-robo-fetch"),
        robot("inside", PatternKind::Token, "robo"),
        robot("across", PatternKind::Token, "fetch now"),
    ]);
    assert_eq!(named(&detector, "big-robo-fetch"), Some("around"));
    assert_eq!(named(&detector, "big-robo-fetch/1"), Some("inside"));
    assert_eq!(named(&detector, "big-robo-fetch now"), Some("across"));
}

#[test]
fn most_specific_name_wins_at_any_position() {
    let mut python = robot("python-requests", PatternKind::Token, "python-requests");
    python.purpose = Purpose::Library;
    let mut headless = robot("headless", PatternKind::Token, "HeadlessChrome");
    headless.purpose = Purpose::Automation;
    let detector = detector([
        python,
        headless,
        robot("googlebot", PatternKind::Token, "Googlebot"),
        robot("googlebot-image", PatternKind::Token, "Googlebot-Image"),
        robot("chrome-lighthouse", PatternKind::Token, "Lighthouse"),
        robot("tiny", PatternKind::Token, "tiny"),
    ]);
    for (user_agent, id) in [
        ("Googlebot-Image/1.0", Some("googlebot-image")),
        ("Googlebot/2.1 Googlebot-Image", Some("googlebot-image")),
        ("Googlebot-Image Googlebot/2.1", Some("googlebot-image")),
        (
            "HeadlessChrome/1 Safari Lighthouse",
            Some("chrome-lighthouse"),
        ),
        ("Lighthouse HeadlessChrome/1", Some("chrome-lighthouse")),
        ("HeadlessChrome/1 Safari", Some("headless")),
        ("python-requests/2.31", Some("python-requests")),
        ("tiny/1 python-requests/2.31", Some("tiny")),
        (
            "python-requests/2.31 HeadlessChrome",
            Some("python-requests"),
        ),
    ] {
        assert_eq!(named(&detector, user_agent), id, "{user_agent}");
    }
}

#[test]
fn better_source_wins_between_equal_literals_then_the_order_decides() {
    let of = |id: &str, source: &str| {
        let mut robot = robot(id, PatternKind::Token, "Example");
        robot.source = source.parse().unwrap();
        robot
    };
    let mut robots = vec![
        of("other", "list"),
        of("second", "second"),
        of("wrd", "web-robots-db"),
        of("bundled", "bundled"),
        of("manual", "manual"),
    ];
    for id in ["manual", "bundled", "wrd", "other"] {
        assert_eq!(named(&detector(robots.clone()), "Example"), Some(id));
        robots.retain(|robot| robot.id != id);
    }
}

#[test]
fn robot_of_several_sources_is_taken_from_the_best() {
    let of = |source: &str, text: &str| {
        let mut robot = robot("same", PatternKind::Token, text);
        robot.source = source.parse().unwrap();
        robot
    };
    let robots = [
        of("list", "FromList"),
        of("bundled", "FromBundled"),
        of("web-robots-db", "FromDatabase"),
        of("bundled", "AlsoBundled"),
    ];
    let detector = detector(robots);
    assert_eq!(detector.robots().len(), 2);
    assert_eq!(named(&detector, "FromBundled"), Some("same"));
    assert_eq!(named(&detector, "AlsoBundled"), Some("same"));
    assert_eq!(named(&detector, "FromList FromDatabase"), None);
}

#[test]
fn inactive_robot_neither_matches_nor_hides_an_active_one() {
    let mut manual = robot("same", PatternKind::Token, "Manual");
    manual.source = Source::manual();
    manual.status = Status::Quarantined {
        pattern: "Manual".to_owned(),
        browser: "Manual".to_owned(),
    };
    let detector = detector([
        manual,
        robot("same", PatternKind::Token, "Bundled"),
        Robot::new("no-patterns", Source::bundled()),
    ]);
    assert_eq!(detector.robots().len(), 1);
    assert_eq!(detector.pattern_count(), 1);
    assert_eq!(named(&detector, "Manual"), None);
    assert_eq!(named(&detector, "Bundled"), Some("same"));
}

#[test]
fn claim_names_the_pattern_that_matched() {
    let mut several = robot("several", PatternKind::Token, "First");
    several
        .patterns
        .push(Pattern::new(PatternKind::Prefix, "Second/"));
    let detector = detector([several]);
    assert_eq!(detector.pattern_count(), 2);
    assert!(detector.memory_bytes() > 0);
    let claim = detector.identify(b"second/1").unwrap();
    assert_eq!(claim.pattern().unwrap().text, "Second/");
    assert_eq!(claim.range(), 0..7);
    let claim = detector.identify(b"Second/1 and first").unwrap();
    assert_eq!(claim.pattern().unwrap().text, "Second/");
}

#[test]
fn empty_detector_identifies_no_robot() {
    for detector in [Detector::default(), detector([])] {
        assert_eq!(detector.identify(b""), None);
        assert_eq!(detector.identify(b"Googlebot/2.1"), None);
        assert_eq!(detector.pattern_count(), 0);
    }
}

#[test]
fn only_the_first_eight_kibibytes_are_searched() {
    let detector = detector([
        robot("token", PatternKind::Token, "Token"),
        robot("regex", PatternKind::Regex, "end[0-9]*$"),
        robot("plain", PatternKind::Regex, "finish$"),
    ]);
    let ending = |text: &str, at: usize, more: &str| {
        let blanks = " ".repeat(at - text.len());
        format!("{blanks}{text}{more}")
    };
    let limit = MAX_USER_AGENT_BYTES;
    assert_eq!(limit, 8192);
    for (text, id) in [("Token", "token"), ("end1", "regex"), ("finish", "plain")] {
        assert_eq!(named(&detector, ending(text, limit, "")), Some(id));
        assert_eq!(named(&detector, ending(text, limit + 1, "")), None);
        assert_eq!(named(&detector, ending(text, limit, "s")), None);
    }
    let long = ending("Token", limit, &"y".repeat(56 << 10));
    assert_eq!(named(&detector, long), None);
    let long = ending("Token", limit, &" ".repeat(56 << 10));
    assert_eq!(named(&detector, long), Some("token"));
}

#[test]
fn unusable_pattern_is_rejected_and_the_others_work() {
    let mut half = robot("half", PatternKind::Regex, "(unclosed");
    half.patterns.push(Pattern::new(PatternKind::Token, "Half"));
    let detector = detector([
        robot("look-around", PatternKind::Regex, "Example(?!Phone)"),
        robot("huge", PatternKind::Regex, "(?:[a-z]{900}x){900}"),
        robot("long", PatternKind::Regex, &"ab|".repeat(9000)),
        robot(
            "deep",
            PatternKind::Regex,
            &("(".repeat(500) + &")".repeat(500)),
        ),
        robot("empty-match", PatternKind::Regex, "(?:Example)?"),
        robot("no-text", PatternKind::Token, ""),
        robot("long-literal", PatternKind::Token, &"a".repeat(513)),
        half,
        robot("good", PatternKind::Token, "Good"),
    ]);
    let rejected: Vec<_> = detector
        .rejected()
        .iter()
        .map(|rejected| (rejected.robot.id.as_str(), rejected.reason.as_str()))
        .collect();
    let ids: Vec<_> = rejected.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        ids,
        [
            "look-around",
            "huge",
            "long",
            "deep",
            "empty-match",
            "no-text",
            "long-literal",
            "half"
        ]
    );
    for (id, reason) in &rejected {
        assert!(
            reason.len() < 120 && !reason.contains('\n'),
            "{id}: {reason}"
        );
        assert!(reason.len() > 8 && !reason.ends_with('.'), "{id}: {reason}");
    }
    assert_eq!(named(&detector, "Good"), Some("good"));
    assert_eq!(named(&detector, "Half"), Some("half"));
    assert_eq!(named(&detector, "anything"), None);
    assert_eq!(detector.robots().len(), 2);
    assert_eq!(detector.pattern_count(), 2);
}

#[test]
fn few_regexes_need_to_run_always() {
    let robots: Vec<_> = (0..70)
        .map(|n| {
            robot(
                &format!("r{n}"),
                PatternKind::Regex,
                &format!("^[a-z]{{1,3}}{n}$"),
            )
        })
        .collect();
    let detector = detector(robots);
    assert_eq!(detector.robots().len(), 64);
    assert_eq!(detector.rejected().len(), 6);
    assert_eq!(named(&detector, "abc63"), Some("r63"));
    assert_eq!(named(&detector, "abc64"), None);
}

#[test]
fn too_many_literals_are_an_error() {
    let robots = (0..9000).map(|n| {
        let text = format!("{n:0>500}");
        Arc::new(robot(&text, PatternKind::Token, &text))
    });
    let error = Detector::new(robots).unwrap_err().to_string();
    assert!(
        error.contains("bytes of literals, more than 4194304"),
        "{error}"
    );
}

#[test]
fn identify_allocates_nothing() {
    let names = (0..2_000).map(|n| robot(&n.to_string(), PatternKind::Token, &format!("robo-{n}")));
    let plain = ["(?i)Plainly", "^Starts-", r"\bworded\b"];
    let plain = plain.map(|text| robot(text, PatternKind::Regex, text));
    let detector = detector(names.chain(plain));
    let hostile: [Vec<u8>; 6] = [
        Vec::new(),
        b"Mozilla/5.0 (compatible; robo-7/1.0) robo-70 robo-700 worded plainly".to_vec(),
        b"robo-1".repeat(10_000),
        b"robo-1 ".repeat(10_000),
        vec![b'a'; 64 << 10],
        (0..=u8::MAX).cycle().take(64 << 10).collect(),
    ];
    let count = allocation_counter::measure(|| {
        for text in &hostile {
            std::hint::black_box(detector.identify(text));
        }
        for browser in browsers() {
            std::hint::black_box(detector.identify(browser.as_bytes()));
        }
    });
    assert_eq!(count.count_total, 0);
    let counts = allocation_counter::measure(|| drop(std::hint::black_box(vec![1])));
    assert_eq!(counts.count_total, 1, "allocations are counted");
}

#[test]
fn readers_see_the_current_detector() {
    let shared = SharedDetector::default();
    let reader = shared.clone();
    let old = reader.load();
    shared.replace(detector([robot("new", PatternKind::Token, "New")]));
    assert_eq!(named(&old, "New"), None);
    assert_eq!(named(&reader.load(), "New"), Some("new"));
}

#[test]
fn bundled_browsers_are_many_distinct_and_of_plausible_length() {
    let all: Vec<_> = browsers().collect();
    assert!(all.len() >= 1_000, "{} browsers", all.len());
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    for browser in all {
        assert!((20..=600).contains(&browser.len()), "{browser:?}");
        assert!(!browser.chars().any(char::is_control), "{browser:?}");
        assert_eq!(browser.trim(), browser);
    }
}

#[test]
fn self_test_quarantines_robots_that_match_a_browser_and_names_the_pattern() {
    let mut robots = vec![
        robot("sonic", PatternKind::Regex, "(?i)sonic"),
        robot("lcc", PatternKind::Regex, "LCC"),
        robot("build", PatternKind::Regex, "AP3A"),
        robot("silk", PatternKind::Regex, "Silk/"),
        robot("silk-start", PatternKind::Regex, "^Silk/"),
        robot("sogou", PatternKind::Token, "Sogou"),
        robot("mbot", PatternKind::Token, "Bot"),
        robot("no-gate", PatternKind::Regex, "[0-9]{3} ?$"),
        robot("googlebot", PatternKind::Token, "Googlebot"),
        robot("cubot", PatternKind::Token, "ubot"),
    ];
    let mut second = robot("second-pattern", PatternKind::Token, "SecondBot");
    second
        .patterns
        .push(Pattern::new(PatternKind::Token, "Firefox"));
    robots.push(second);
    let mut manual = robot("manual", PatternKind::Token, "Chrome");
    manual.source = Source::manual();
    robots.push(manual);

    let warned: Vec<_> = browser_hits(&robots)
        .into_iter()
        .filter(|hit| hit.robot.source == Source::manual())
        .map(|hit| (hit.robot.id.clone(), hit.pattern.text.clone()))
        .collect();
    assert_eq!(warned, [("manual".to_owned(), "Chrome".to_owned())]);

    assert_eq!(self_test(&mut robots), 8);
    let active: Vec<_> = robots
        .iter()
        .filter(|robot| robot.is_active())
        .map(|robot| robot.id.as_str())
        .collect();
    assert_eq!(active, ["silk-start", "googlebot", "cubot", "manual"]);
    for robot in &robots {
        if let Status::Quarantined { pattern, browser } = &robot.status {
            assert!(browsers().any(|known| known == browser), "{browser}");
            let mut alone = robot.clone();
            alone.status = Status::Active;
            let alone = detector([alone]);
            let claim = alone.identify(browser.as_bytes()).unwrap();
            assert_eq!(&claim.pattern().unwrap().text, pattern);
        }
    }
    assert_eq!(
        self_test(&mut robots),
        0,
        "a second self-test changes nothing"
    );
}

#[test]
fn bundled_registry_matches_robots_and_no_browser() {
    let mut robots = bundled().robots;
    assert_eq!(self_test(&mut robots), 0);
    let detector = detector(robots);
    assert!(detector.rejected().is_empty());
    for (user_agent, id) in [
        (
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "googlebot",
        ),
        ("Googlebot-Image/1.0", "googlebot-image"),
        (
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "bingbot",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)",
            "gptbot",
        ),
    ] {
        assert_eq!(named(&detector, user_agent), Some(id), "{user_agent}");
    }
    for browser in browsers() {
        assert_eq!(named(&detector, browser), None, "{browser}");
    }
}

#[test]
fn self_test_covers_more_than_sixty_four_regexes() {
    let mut robots: Vec<_> = (0..100)
        .map(|n| {
            robot(
                &format!("r{n}"),
                PatternKind::Regex,
                &format!("^[#-&]{{9}}{n}$"),
            )
        })
        .collect();
    robots.push(robot("last", PatternKind::Regex, r"[0-9]{3}\.[0-9]{2}"));
    assert_eq!(self_test(&mut robots), 1);
    assert!(!robots[100].is_active());
}

#[test]
fn self_test_of_an_empty_registry_finds_nothing() {
    assert_eq!(self_test(&mut []), 0);
    assert!(browser_hits(&[]).is_empty());
}

/// Reference implementation of the rules, written without regard to speed.
mod reference {
    use std::{cmp::Reverse, ops::Range};

    use super::{PatternKind, Purpose, Robot};

    type Key = (bool, Reverse<usize>, u8, usize, usize);

    pub(super) fn identify(robots: &[Robot], text: &[u8]) -> Option<(usize, usize, Range<usize>)> {
        let mut best: Option<(Key, Range<usize>)> = None;
        for (number, robot) in robots.iter().enumerate() {
            for (index, pattern) in robot.patterns.iter().enumerate() {
                let length = pattern.text.len();
                let name = name(&pattern.text);
                let precedence = robot.source.precedence();
                let weak = is_weak(robots, &name);
                let key = (weak, Reverse(name.len()), precedence, number, index);
                let starts = 0..(text.len() + 1).saturating_sub(length);
                let hit = starts
                    .map(|start| start..start + length)
                    .find(|range| is_hit(pattern.kind, &pattern.text, text, range));
                if let Some(range) = hit
                    && best.as_ref().is_none_or(|(other, _)| key < *other)
                {
                    best = Some((key, range));
                }
            }
        }
        best.map(|(key, range)| (key.3, key.4, range))
    }

    /// Returns a literal in lower case, without punctuation at its ends.
    fn name(literal: &str) -> String {
        let name = literal.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        name.to_ascii_lowercase()
    }

    /// Returns `true` if the best source of a name classifies it as a library or automation.
    fn is_weak(robots: &[Robot], known: &str) -> bool {
        let knows = |robot: &&Robot| robot.patterns.iter().any(|p| name(&p.text) == known);
        let best = robots
            .iter()
            .filter(knows)
            .min_by_key(|robot| robot.source.precedence());
        best.is_some_and(|best| matches!(best.purpose, Purpose::Library | Purpose::Automation))
    }

    fn is_hit(kind: PatternKind, literal: &str, text: &[u8], range: &Range<usize>) -> bool {
        let (before, rest) = text.split_at(range.start);
        let (found, after) = rest.split_at(range.len());
        if !found.eq_ignore_ascii_case(literal.as_bytes()) {
            return false;
        }
        let after: String = after.iter().map(|&byte| char::from(byte)).collect();
        match kind {
            PatternKind::Token => {
                let clear_before = match before.last() {
                    Some(byte) => !byte.is_ascii_alphanumeric(),
                    None => true,
                };
                clear_before && !after.starts_with(|c: char| c.is_ascii_alphabetic())
            }
            PatternKind::Prefix => {
                let letters = || literal.chars().filter(char::is_ascii_alphabetic);
                let in_capitals =
                    letters().count() >= 2 && letters().all(|c| c.is_ascii_uppercase());
                before.is_empty() && (!in_capitals || found == literal.as_bytes())
            }
            PatternKind::Product => {
                let number = |s: &str| s.starts_with(|c: char| c.is_ascii_digit());
                before.is_empty()
                    && (after.is_empty()
                        || after.starts_with(['/', '_'])
                        || after.starts_with(" (")
                        || number(&after)
                        || after.strip_prefix(' ').is_some_and(number))
            }
            PatternKind::Exact => before.is_empty() && after.is_empty(),
            PatternKind::Regex => unreachable!("the reference supports only literals"),
        }
    }
}

fn any_robot() -> impl Strategy<Value = Robot> {
    let kind = prop::sample::select(vec![
        PatternKind::Token,
        PatternKind::Prefix,
        PatternKind::Product,
        PatternKind::Exact,
    ]);
    let pattern = (kind, "[abB1/ _(]{1,5}").prop_map(|(kind, text)| Pattern::new(kind, text));
    let source = prop::sample::select(vec!["manual", "bundled", "web-robots-db", "x", "y"]);
    let purposes = vec![
        Purpose::Search,
        Purpose::Library,
        Purpose::Automation,
        Purpose::Unknown,
    ];
    let purpose = prop::sample::select(purposes);
    (prop::collection::vec(pattern, 1..4), source, purpose).prop_map(
        |(patterns, source, purpose)| {
            let mut robot = Robot::new("", source.parse().expect("valid name of a source"));
            robot.patterns = patterns;
            robot.purpose = purpose;
            robot
        },
    )
}

fn any_regex() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abcB]{1,4}",
        "[abcB]{3,5}",
        Just("[ab]".to_owned()),
        Just("[aA][bB][cC]".to_owned()),
        Just("[^a]".to_owned()),
        Just(r"\b".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
        Just(".*".to_owned()),
    ];
    let inner = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (
                inner.clone(),
                prop::sample::select(vec!["?", "+", "*", "{2}", "{1,3}"])
            )
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            inner.prop_map(|part| format!("(?i:{part})")),
        ]
    });
    (inner, any::<bool>()).prop_map(|(text, caseless)| {
        if caseless {
            format!("(?i){text}")
        } else {
            text
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn identify_agrees_with_the_reference(
        robots in prop::collection::vec(any_robot(), 0..12),
        texts in prop::collection::vec("[abAB1/ _(]{0,20}", 1..8),
    ) {
        let robots: Vec<_> = robots
            .into_iter()
            .enumerate()
            .map(|(number, mut robot)| {
                robot.id = number.to_string();
                robot
            })
            .collect();
        let detector = detector(robots.clone());
        for text in texts {
            let expected = reference::identify(&robots, text.as_bytes())
                .map(|(robot, pattern, range)| (robot.to_string(), pattern, range));
            let actual = detector.identify(text.as_bytes()).map(|claim| {
                let mut patterns = claim.robot().unwrap().patterns.iter();
                let index = patterns.position(|pattern| pattern == claim.pattern().unwrap());
                (claim.id().to_owned(), index.unwrap_or(usize::MAX), claim.range())
            });
            prop_assert_eq!(actual, expected, "{:?}", text);
        }
    }
}

/// Parts of browsers' User-Agents.
const BROWSERS: [&str; 20] = [
    "Mozilla/5.0 (",
    "Linux; Android ",
    "iPhone; CPU iPhone OS ",
    "14; K",
    "18_4 ",
    ")",
    " ",
    "x",
    "like Mac OS X) ",
    "AppleWebKit/",
    "537.36",
    "605.1.15",
    " (KHTML, like Gecko)",
    " Chrome/",
    " Version/",
    " Mobile Safari/",
    " Mobile/15E148",
    " Safari/",
    "Gecko/20100101",
    " Firefox/140.0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_found_at_any_position_in_a_browsers_user_agent(
        parts in prop::collection::vec(prop::sample::select(BROWSERS.to_vec()), 1..12),
        at in any::<prop::sample::Index>(),
        length in 1..40_usize,
        kind in prop::sample::select(vec![PatternKind::Token, PatternKind::Regex]),
    ) {
        // A name after `like` is not the visitor's.
        let text = parts.concat().replace("like ", "as ");
        let start = at.index(text.len());
        let name = &text[start..text.len().min(start + length)];
        let detector = detector([robot("it", kind, &regex_or(kind, name))]);
        let expected = if kind == PatternKind::Regex {
            text.find(name).map(|start| start..start + name.len())
        } else {
            let robots = [robot("it", kind, name)];
            reference::identify(&robots, text.as_bytes()).map(|(_, _, range)| range)
        };
        let claim = detector.identify(text.as_bytes());
        prop_assert_eq!(detector.is_robot(&text), expected.is_some(), "{:?}", name);
        prop_assert_eq!(claim.map(|claim| claim.range()), expected, "{:?}", name);
    }
}

fn regex_or(kind: PatternKind, literal: &str) -> String {
    if kind == PatternKind::Regex {
        regex_syntax::escape(literal)
    } else {
        literal.to_owned()
    }
}

proptest! {
    #[test]
    fn regex_matches_with_or_without_a_literal_prefilter(
        regexes in prop::collection::vec(any_regex(), 1..5),
        texts in prop::collection::vec("[abcABC ]{0,12}", 1..20),
    ) {
        let robots = regexes.iter().map(|text| robot(text, PatternKind::Regex, text));
        let detector = detector(robots);
        let compiled: Vec<_> = regexes
            .iter()
            .filter(|text| detector.robots().iter().any(|robot| robot.id == **text))
            .map(|text| regex::bytes::RegexBuilder::new(text).unicode(false).build().unwrap())
            .collect();
        for text in texts {
            let expected = compiled.iter().any(|regex| regex.is_match(text.as_bytes()));
            let claim = detector.identify(text.as_bytes());
            prop_assert_eq!(claim.is_some(), expected, "{:?} in {:?}", &regexes, &text);
            if let Some(claim) = claim {
                let regex = compiled.iter().find(|regex| regex.as_str() == claim.pattern().unwrap().text);
                prop_assert!(regex.unwrap().is_match(text.as_bytes()));
                prop_assert!(claim.range().end <= text.len());
            }
        }
    }

    #[test]
    fn any_bytes_are_searched_without_a_panic(
        patterns in prop::collection::vec(("\\PC{0,12}", 0..5_usize), 0..8),
        text in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let robots = patterns.iter().enumerate().map(|(number, (text, kind))| {
            robot(&number.to_string(), PatternKind::ALL[*kind], text)
        });
        let detector = detector(robots);
        if let Some(claim) = detector.identify(&text) {
            prop_assert!(claim.range().end <= text.len());
        }
    }
}

#[test]
fn a_robot_known_to_several_sources_is_named_by_the_best() {
    let of = |source: &str, id: &str, kind, text: &str, purpose| {
        let mut robot = robot(id, kind, text);
        robot.source = source.parse().unwrap();
        robot.purpose = purpose;
        robot
    };
    let detector = detector(vec![
        of(
            "other",
            "other:googlebot",
            PatternKind::Regex,
            r"Googlebot\/",
            Purpose::Search,
        ),
        of(
            "other",
            "other:curl",
            PatternKind::Regex,
            "^curl",
            Purpose::Unknown,
        ),
        of(
            "other",
            "other:image",
            PatternKind::Regex,
            "Googlebot-Image",
            Purpose::Unknown,
        ),
        of(
            "bundled",
            "googlebot",
            PatternKind::Token,
            "Googlebot",
            Purpose::Search,
        ),
        of(
            "bundled",
            "curl",
            PatternKind::Prefix,
            "curl/",
            Purpose::Library,
        ),
        of(
            "web-robots-db",
            "quill",
            PatternKind::Token,
            "Quill",
            Purpose::Unknown,
        ),
    ]);
    for (user_agent, id) in [
        ("Mozilla/5.0 (compatible; Googlebot/2.1)", "googlebot"),
        ("Googlebot-Image/1.0", "other:image"),
        ("curl/8.0", "curl"),
        ("curl/8.0 Quill/1.0", "quill"),
    ] {
        assert_eq!(named(&detector, user_agent), Some(id), "{user_agent}");
    }
}
