use super::*;
use crate::registry::PatternKind::{Exact, Prefix, Product, Token};

/// Declares tests with User-Agents from real records, in which names are replaced by invented
/// names.
macro_rules! shapes {
    ($($name:ident: $useragent:expr => [$($kind:ident $text:expr),* $(,)?];)*) => {$(
        #[test]
        fn $name() {
            let expected: &[Pattern] = &[$(Pattern::new($kind, $text)),*];
            assert_eq!(normalise($useragent).unwrap_or_default(), expected, "{}", $useragent);
        }
    )*};
}

macro_rules! refused {
    ($($name:ident: $useragent:expr => $error:pat,)*) => {$(
        #[test]
        fn $name() {
            let result = normalise($useragent);
            assert!(matches!(result, Err($error)), "{}: {result:?}", $useragent);
        }
    )*};
}

shapes! {
    // Specific names match anywhere.
    two_words_and_a_version: "ACMEdatos QuoLink/1.0.2 (test links)" => [Token "ACMEdatos QuoLink"];
    quotes_around_it: "'Ahem! The Homepage Digger'" => [Token "Ahem! The Homepage Digger"];
    a_word_for_robots_in_it: "QuillBOT" => [Token "QuillBOT"];
    a_library_behind_it: "QSpider/1.0 libwww-perl/0.40" => [Token "QSpider"];
    a_library_without_a_version_before_it: "QuillSpider libwww-perl/0.40" => [Token "QuillSpider"];
    a_long_word: "Tarantella/1.0" => [Token "Tarantella"];
    an_underscore: "QUA_Worldwide" => [Token "QUA_Worldwide"];
    a_host_name: "QuillRealm.example; 0.2; [J];" => [Token "QuillRealm.example"];
    a_url_alone: "http://www.quill.example" => [Token "http://www.quill.example"];
    an_address_alone: "quills@acme.example" => [Token "quills@acme.example"];
    letters_with_hyphens: "H-U-S-K-E-R-S-O-N" => [Token "H-U-S-K-E-R-S-O-N"];
    a_second_name_behind_a_slash: "merlin/lookout (merlin-team@acme.example)" => [Token "merlin/lookout"];
    not_only_ascii: "Kätzchenkäfer/0.2" => [Token "Kätzchenkäfer"];
    prose_in_the_comment: "JoQuibot (but can be changed by the user)" => [Token "JoQuibot"];
    a_version_behind_a_blank: "QuillSeek Robot 1.0" => [Token "QuillSeek Robot"];
    a_preposition_and_a_url: "Quillseeker at http://www.acme.example /1.0" => [Token "Quillseeker"];
    a_dash_and_a_url: "Quill Valley v0.151 - http://acme.example" => [Token "Quill Valley"];
    a_plus_and_a_url: "QuillBot/2.X (+http://www.acme.example/bot.html)" => [Token "QuillBot"];
    a_colon_in_it: "Quill Runner: PictureScape Robot (lim@acme.example)" => [Token "Quill Runner: PictureScape Robot"];
    trailing_comma: "QuillNet Robot 0.1, " => [Token "QuillNet Robot"];
    a_continued_comment: "QuirralSpider/X.X (Quirral Image Search; http://www.acme.example/)" => [Token "QuirralSpider"];
    a_placeholder_of_letters: "quizzSpider xxxxxxx ()/" => [Token "quizzSpider"];
    a_number_glued_to_it: "ssquarcher100" => [Token "ssquarcher100"];

    // Other single words match only at the start.
    a_word_and_a_version: "quippe/1.1" => [Prefix "quippe/"];
    stars_for_a_version: "QuackRub/*.*" => [Prefix "QuackRub/"];
    a_version_in_angle_brackets: "Quillet/<version>" => [Prefix "Quillet/"];
    a_version_in_braces: "Quillon/{version} for {platform}" => [Prefix "Quillon/"];
    a_version_in_parentheses: "Quopy/(version)" => [Prefix "Quopy/"];
    letters_for_a_version: "Quigan/xxxxxx" => [Prefix "Quigan/"];
    a_shell_variable_behind_it: "Quonster/vX.X.X -$TYPE ($OSTYPE)" => [Prefix "Quonster/"];
    a_version_with_letters_first: "Quooper/b97_01" => [Prefix "Quooper/"];
    a_version_behind_a_hyphen: "Quaven-v2" => [Prefix "Quaven-"];
    three_letters_behind_a_hyphen: "qlm-1.1" => [Prefix "qlm-"];
    a_version_glued_to_it: "QuanthV1.1" => [Prefix "QuanthV"];
    three_letters: "QMC/0.01" => [Prefix "QMC/"];
    a_pattern_for_a_version: "Quacs/v[0-9\\.]+" => [Prefix "Quacs/"];
    a_bare_word: "quither" => [Product "quither"];
    a_bare_word_and_a_comment: "quarbin (+mail)" => [Product "quarbin"];
    a_bare_word_and_a_version_behind_a_blank: "Quofox v2.0" => [Product "Quofox"];
    a_bare_word_for_robots: "grabber" => [Product "grabber"];

    // All other User-Agents are compared as a whole.
    one_letter: "Q/3.8" => [Exact "Q/3.8"];
    a_library: "libwww-perl-5.41" => [Exact "libwww-perl-5.41"];
    a_library_and_colons: "LWP::" => [Exact "LWP::"];
    generic_but_for_the_address: "I Robot 0.4 (irobot@acme.example)" => [Exact "I Robot 0.4 (irobot@acme.example)"];
    not_a_browser_although_it_says_so: "Mozilla 3.01 PQWF (Win95)" => [Exact "Mozilla 3.01 PQWF (Win95)"];

    // Names inside a browser's User-Agent.
    behind_compatible: "Mozilla/4.0 (compatible; QuillView 1.0;unix)" => [Token "QuillView"];
    behind_compatible_and_a_colon: "Mozilla/4.0 (compatible: QDSE robot)" => [Token "QDSE robot"];
    behind_compatible_and_a_blank: "Mozilla/2.0 (compatible fouillon v2.0; fouillon.acme.example)" => [Token "fouillon"];
    a_header_line: "User-Agent: Mozilla/4.0 (compatible; quick-info-agent v1.0; )" => [Token "quick-info-agent"];
    an_address_behind_it: "Mozilla/4.0 (compatible; QuillCrawler.example, Quill@acme.example)" => [Token "QuillCrawler.example"];
    another_name_behind_a_slash: "Mozilla/2.0 (compatible; Ask Wilbur/Tundra) " => [Token "Ask Wilbur/Tundra"];
    in_parentheses_alone: "Mozilla/4.0 (Quick Spider/1.2)" => [Token "Quick Spider"];
    an_unclosed_parenthesis: "Mozilla/3.0 (Quack Widow v1.1.0; Linux 2.0.27; Dec 31 1997 12:25:00" => [Token "Quack Widow"];
    at_the_end_of_a_telephone: "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/W.X.Y.Z Mobile Safari/537.36 (compatible; QuillBot/2.1; +http://acme.example)" => [Token "QuillBot"];
    behind_like_gecko: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; QuillBot/1.2; +https://acme.example/quillbot)" => [Token "QuillBot"];
    behind_the_engine: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Quillbot/0.1; +http://acme.example)" => [Token "Quillbot"];
    behind_the_engine_in_words: "Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US) Quick Spider (http://acme.example)" => [Token "Quick Spider"];
    a_headless_browser: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessQuill/90.0 Safari/537.36" => [Token "HeadlessQuill"];
    a_telephone_that_is_none: "QoCoMo/2.0 N905i(c100;TB;W24H16) (compatible; QuillBot-Mobile/2.1; +http://acme.example)" => [Token "QuillBot-Mobile"];
    a_robot_that_calls_itself_compatible: "QuillBot/2.1 (compatible; anything; +http://acme.example)" => [Token "QuillBot"];
    a_short_name_behind_compatible: "Mozilla/5.0 (compatible; Quey/1.1)" => [Token "Quey"];
    a_shorter_name_behind_compatible: "Mozilla/5.0 (compatible; Que/1.1)" => [Exact "Mozilla/5.0 (compatible; Que/1.1)"];

    // User-Agents with several alternatives.
    alternatives_with_a_bar: "QuoScan Server/5.5 | QuoScan Workstation/5.5" => [Token "QuoScan Server", Token "QuoScan Workstation"];
    alternatives_with_or: "\"QuillBot\" or \"Ask Wilbur\"" => [Token "QuillBot", Token "Ask Wilbur"];
    alternatives_with_a_comma: "Openquill data gatherer, Openbot/3.0+(robot@acme.example;+http://acme.example)" => [Token "Openquill data gatherer", Token "Openbot"];
    no_alternative_behind_a_comma: "QuillBot, Inc." => [Token "QuillBot"];
    the_same_twice: "QuillBot/1.0 | QuillBot/2.0" => [Token "QuillBot"];
}

refused! {
    nothing: " " => NoPattern::Empty,
    only_quotes: "''" => NoPattern::Empty,
    a_word_for_nothing: "no" => NoPattern::Junk(_),
    question_marks: "???" => NoPattern::Junk(_),
    not_available: "not available" => NoPattern::Junk(_),
    a_sentence: "Due to a fault in the toolkit it is not possible to set it." => NoPattern::Sentence,
    a_browser: "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:109.0) Gecko/20100101 Firefox/115.0" => NoPattern::BrowserOnly,
    a_browser_that_says_compatible: "Mozilla/3.01 (compatible;)" => NoPattern::BrowserOnly,
    an_old_browser: "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1; .NET CLR 2.0.50727)" => NoPattern::BrowserOnly,
    another_browser: "Opera/9.80 (X11; Linux i686; U; en) Presto/2.7.62 Version/11.01" => NoPattern::BrowserOnly,
    a_generic_word: "spider" => NoPattern::Generic(_),
    generic_words: "Web Robot/1.0" => NoPattern::Generic(_),
    a_generic_word_behind_compatible: "Mozilla/4.0 (compatible; crawler)" => NoPattern::BrowserOnly,
    the_bare_engine: "Mozilla" => NoPattern::BrowserOnly,
    a_language: "Java/1.8" => NoPattern::Generic(_),
    a_number: "2000" => NoPattern::Generic(_),
    too_long: &"quill ".repeat(500) => NoPattern::TooLong,
}

#[test]
fn no_literal_is_shorter_than_its_kind_allows() {
    for useragent in ["ab", "a.b.c", "x1/2", "abc", "ab cd", "a b c d"] {
        for pattern in normalise(useragent).unwrap_or_default() {
            let size = pattern.text.chars().filter(|c| c.is_alphanumeric()).count();
            assert!(pattern.kind != Token || size >= 4, "{useragent}: {pattern}");
        }
    }
}

#[test]
fn tokens_of_lists_are_specific() {
    assert_eq!(
        token("QuillBot/1.0").unwrap(),
        Pattern::new(Token, "QuillBot")
    );
    assert_eq!(token("Devina").unwrap(), Pattern::new(Token, "Devina"));
    assert!(token("Operator").is_err());
    assert!(token("Go").is_err());
    assert!(token("libwww-perl").is_err());
}

#[test]
fn placeholders_are_junk() {
    for junk in [
        "no",
        "Yes",
        "none",
        "???",
        "not available",
        "-",
        "(none)",
        "N/A",
        "*",
    ] {
        assert!(is_junk(junk), "{junk}");
    }
    for fine in ["nomad", "Yessir/1.0", "none-such", "I", "3"] {
        assert!(!is_junk(fine), "{fine}");
    }
}

#[test]
fn prose_is_a_sentence_and_a_long_product_list_is_not() {
    assert!(is_sentence(
        "There is no way to set the header in this toolkit."
    ));
    assert!(!is_sentence(
        "Mozilla/5.0 one two three four five six seven eight"
    ));
    assert!(!is_sentence("Six words (and five in here too) of text and"));
}
