//! Tests with arbitrary bytes as input.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

use super::{ED_KEY, get, headers, key};
use crate::verify::Finding;
use crate::verify::web_bot_auth::{SignatureProver, SignatureSettings};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::registry::{Robot, Source};

fn field() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "sig1",
        "=",
        "(",
        ")",
        ";",
        ",",
        " ",
        "\"",
        "\"@authority\"",
        "\"@query-param\";name=",
        "\"signature-agent\"",
        ";key=\"sig1\"",
        ";created=",
        ";expires=",
        "1800000000",
        "1800000060",
        ";keyid=\"a\"",
        ";tag=\"web-bot-auth\"",
        ":AAAA:",
        "\"https://a.example\"",
        ";sf",
        ";bs",
        "?1",
        "-",
        "9999999999999999",
        "@",
        "%\"",
        "\\",
    ]);
    prop_oneof![
        4 => prop::collection::vec(words, 0..24).prop_map(|words| words.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

proptest! {
    #[test]
    fn arbitrary_headers_do_not_panic(
        agent in field(), input in field(), value in field(), target in "[ -~]{0,20}", other in any::<bool>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, bytes) in [("signature-agent", agent), ("signature-input", input), ("signature", value)] {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                headers.append(HeaderName::from_static(name), value.clone());
                if other {
                    headers.append(HeaderName::from_static(name), value);
                }
            }
        }
        let prover = SignatureProver::new(SignatureSettings::default(), Clock::manual(1_800_000_000_000));
        prover.learn("https://a.example", vec![key(ED_KEY)]);
        let mut robot = Robot::new("a", Source::manual());
        robot.signature_agents = vec!["a.example".to_owned()];
        let finding = prover.prove_now(&get(&headers, &target), &robot);
        prop_assert!(!matches!(finding, Some(Finding::Confirmed(_))));
    }
}

#[test]
fn words_of_the_property_test_reach_the_final_checks() {
    let input = r#"sig1=("@authority" "signature-agent";key="sig1");created=1800000000;expires=1800000060;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="web-bot-auth""#;
    let headers = headers(&[
        ("signature-agent", "sig1=\"https://a.example\""),
        ("signature-input", input),
        ("signature", "sig1=:AAAA:"),
    ]);
    let clock = Clock::manual(1_800_000_000_000);
    let prover = SignatureProver::new(SignatureSettings::default(), clock);
    prover.learn("https://a.example", vec![key(ED_KEY)]);
    let mut robot = Robot::new("a", Source::manual());
    robot.signature_agents = vec!["a.example".to_owned()];
    let finding = prover.prove_now(&get(&headers, "/"), &robot).unwrap();
    assert!(
        matches!(&finding, Finding::Nothing(it) if it.text.contains("test key from RFC 9421")),
        "{finding:?}"
    );
}
