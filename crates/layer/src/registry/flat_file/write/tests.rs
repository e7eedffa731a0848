use proptest::prelude::*;

use super::*;
use crate::registry::{PatternKind, Source, flat_file::read, useragent::strip_useragent};

/// Text fragments that have a special meaning for the parser, or seem to have one.
const PIECES: &[&str] = &[
    "robot-",
    "Robot-",
    "rObot-",
    "id",
    "name",
    "x",
    ":",
    " : ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\n\n",
    "\n ",
    "&amp;",
    "&",
    "&#45;",
    "&#58;",
    "#",
    "45;",
    "amp;",
    "'",
    "\"",
    "|",
    " | ",
    " or ",
    ",",
    ";",
    "/",
    "/1.0",
    "-",
    "_2",
    "V1.1",
    "Mozilla/5.0 ",
    "(compatible; ",
    ")",
    "(",
    "[",
    "<",
    "no",
    "*",
    "?",
    "http://",
    "acme.example",
    "@",
    "User-Agent:",
    "ä",
    "\u{1}",
    "\u{a0}",
    "\u{202e}",
    "Bot",
    "quill",
    "quirk",
    "spider",
    "robot-name",
    "robot-pattern",
    "robot-useragent",
    "token ",
    "exact ",
    "libwww-perl",
    "indexing",
    "1.0",
    "x.x",
    ".",
];

fn nasty_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn nasty_file() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![
        "robot-id",
        "robot-name",
        "robot-details-url",
        "robot-useragent",
        "robot-useragent2",
        "robot-useragent-kind",
        "robot-pattern",
        "robot-pattern2",
        "robot-exclusion",
        "robot-exclusion-useragent",
        "robot-purpose",
        "robot-operator",
        "robot-owner-name",
        "robot-host",
        "robot-ranges-url",
        "robot-signature-agent",
        "robot-proofs",
        "robot-evidence",
        "robot-unusable",
        "robot-description",
    ]);
    let kind = prop::sample::select(vec!["", "token ", "prefix ", "product", "exact ", "regex "]);
    let line =
        (name, kind, nasty_text()).prop_map(|(name, kind, text)| format!("{name}: {kind}{text}\n"));
    prop::collection::vec(prop_oneof![9 => line, 1 => Just("\n".to_owned())], 0..16)
        .prop_map(|lines| format!("robot-id: first\n{}", lines.concat()).into_bytes())
}

fn check(bytes: &[u8], source: &Source) {
    let robots = read(bytes, source).unwrap_or_default().robots;
    let written = write_flat_file(&robots);
    let again = read(written.as_bytes(), source).unwrap_or_default();
    assert_eq!(again.robots, robots, "{written}");
    assert_eq!(again.skipped, [], "{written}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_robots_read_back(bytes in nasty_file()) {
        check(&bytes, &Source::bundled());
        check(&bytes, &Source::web_robots_db());
    }

    #[test]
    fn manually_added_robots_read_back(name in nasty_text(), useragent in nasty_text(), text in nasty_text()) {
        let mut robot = Robot::new("by-hand", Source::manual());
        let name = tidy(&name);
        if !name.is_empty() {
            robot.name = name;
        }
        robot.useragent = strip_useragent(&tidy(&useragent)).to_owned();
        let pattern = Pattern::stated(PatternKind::Token, &tidy(&text));
        robot.patterns = vec![pattern.unwrap_or_else(|_| Pattern::new(PatternKind::Regex, "^ab  c"))];
        let written = write_flat_file([&robot]);
        let again = read(written.as_bytes(), &Source::manual()).unwrap();
        prop_assert_eq!(&again.robots[..], std::slice::from_ref(&robot), "{}", written);
    }
}

#[test]
fn a_robot_is_written_in_the_schema_of_the_database() {
    let mut robot = Robot::new("quill", Source::bundled());
    robot.name = "Quill & Co".to_owned();
    robot.details_url = Some("https://acme.example/?a=1&b=2".to_owned());
    robot.useragent = "Mozilla/5.0 (compatible; QuillBot/1.0)".to_owned();
    robot.patterns = vec![Pattern::new(PatternKind::Token, "QuillBot")];
    robot.purpose = Purpose::Search;
    robot.exclusion = Exclusion::Yes;
    robot.host_suffixes = vec!["acme.example".to_owned(), "quill.example".to_owned()];
    robot.signature_agents = vec!["keys.acme.example".to_owned()];
    robot.evidence = vec!["matomo".to_owned(), "operator".to_owned()];
    let plain = "\
robot-id: quill
robot-name: Quill & Co
robot-details-url: https://acme.example/?a=1&b=2
robot-useragent: Mozilla/5.0 (compatible; QuillBot/1.0)
robot-exclusion: yes
robot-purpose: search
robot-evidence: matomo, operator
robot-host: acme.example, quill.example
robot-signature-agent: keys.acme.example
";
    assert_eq!(write_flat_file([&robot]), plain);
    robot
        .patterns
        .push(Pattern::new(PatternKind::Prefix, "Qui/"));
    assert_eq!(
        write_flat_file([&robot, &Robot::new("other", Source::bundled())]),
        format!(
            "{plain}robot-pattern: token QuillBot\nrobot-pattern2: prefix Qui/\n\nrobot-id: other\nrobot-name: other\n"
        )
    );
}
