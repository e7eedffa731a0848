//! Human visitors' programs with robots' words in the User-Agent, and robots with browsers' words.

use std::sync::LazyLock;

use robot_detection::{
    detect::{Claim, Detector, Kind},
    registry::bundled,
};

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let robots = bundled().robots.into_iter().map(Into::into);
    Detector::new(robots).unwrap().recognise_unlisted(true)
});

macro_rules! cases {
    ($($name:ident: $is_robot:literal [$($user_agent:literal,)*])*) => {$(
        #[test]
        fn $name() {
            for user_agent in [$($user_agent),*] {
                let claim = DETECTOR.claim(user_agent.as_bytes());
                let kind = claim.as_ref().map_or(Kind::Person, Claim::kind);
                assert_eq!(!kind.is_human(), $is_robot, "{user_agent}: {claim:?}");
                assert_eq!(DETECTOR.is_robot(user_agent), $is_robot, "{user_agent}");
                assert_ne!(kind, Kind::Nameless);
            }
        }
    )*};
}

cases! {
    scanner_and_research_apps_on_telephones_are_not_robots: false [
        "Mozilla/5.0 (iPhone; CPU iPhone OS 16_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 CamScanner/6.30.0",
        "Mozilla/5.0 (Linux; Android 12; SM-A525F; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/108.0.5359.128 Mobile Safari/537.36 CamScanner/6.31.0",
        "CamScanner/6.30.0 (iPhone; iOS 16.1; Scale/3.00)",
        "Mozilla/5.0 (Linux; Android 11; moto g(9) play; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/96.0.4664.45 Mobile Safari/537.36 QRScanner/3.1",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 15_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 QR Code Scanner/2.0",
        "Mozilla/5.0 (Linux; Android 10; SM-G960F; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/96.0.4664.45 Mobile Safari/537.36 barcodescanner",
        "Mozilla/5.0 (iPad; CPU OS 15_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 iScanner/4.0",
        "Mozilla/5.0 (Linux; Android 11; SM-A515F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.104 Mobile Safari/537.36 Presearch",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Safari/537.36 Presearch/1.0",
        "ResearchGate/3.5 (iPhone; iOS 15.1; Scale/3.00)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 15_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 ResearchGate/3.5",
        "iRobot/6.5 (iPhone; iOS 15.1; Scale/3.00)",
        "iRobot/5.8 CFNetwork/1325 Darwin/21.0.0",
        "Mozilla/5.0 (Linux; Android 12; Pixel 6; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/108.0.0.0 Mobile Safari/537.36 iRobot/7.1",
    ]
    translators_for_people_are_not_robots: false [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Safari/537.36,gzip(gfe) (via translate.google.com)",
        "Mozilla/5.0 (Windows NT 6.1; rv:20.0) Gecko/20100101 Firefox/20.0,gzip(gfe) (via translate.google.com)",
        "Mozilla/5.0 (Linux; Android 9; SM-J730G; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/89.0.4389.105 Mobile Safari/537.36 GoogleTranslate/6.18.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 14_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GoogleTranslate/6.18.0 Mobile/15E148",
    ]
    browsers_with_names_and_urls_of_sites_are_not_robots: false [
        "Mozilla/5.0 (Windows NT 6.2) AppleWebKit/537.36 (KHTML, like Gecko) Battle.net/1.3.1.6075 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Battle.net/1.12.5.10911 Chrome/71.0.3578.98 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Ask.com/1.0 Chrome/108.0.0.0 Safari/537.36",
        "Mozilla/5.0 (http://intranet.example/; Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko",
        "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; https://www.example.com/a/; rv:11.0) like Gecko",
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; http://www.example.com; .NET CLR 2.0.50727)",
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 5.1; SV1; Multi-Browser 10.1 (www.multibrowser.de); .NET CLR 1.1.4322)",
        "Avant Browser/1.2.789rel1 (http://www.avantbrowser.com)",
        "Mozilla/4.7 (compatible; OffByOne; Windows 2000) Webster Pro V3.4",
    ]
    televisions_cars_and_telephones_are_not_robots: false [
        "Mozilla/5.0 (DigitalMediaPlayer; Walkman/NW-X1000 Series/1.00; like Gecko; wireless) NetFront/3.4",
        "Mozilla/5.0 (DTV; Media-Highway Evolution/CI.0220(08.02.03); like Gecko; TV) NetFront/4.2",
        "Mozilla/5.0 (Standard; NF41SW/1.1; like Gecko; TASKalfa 306ci) NetFront/4.1",
        "Mozilla/5.0 (QNX; like Gecko; Example Car) Cinemo/5.2",
        "emobile/1.0.0 (H11T; like Gecko; Wireless) NetFront/3.4",
        "Mozilla/5.0 (Danger hiptop 2.0)",
        "GSA/14.50.12 (arm64)",
    ]
    random_tokens_and_first_names_are_not_robots: false [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/71.0.3578.98 Safari/537.36/qxRKBOtX-34",
        "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; xs-25pKotSu7rc;rBqBOt; rv:11.0) like Gecko",
        "Mozilla/5.0 (Linux; Android 14; Devin's phone) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 13; Arianna's tablet) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/112.0.5615.136 Safari/537.36",
    ]
    robots_in_peoples_places_are_still_found: true [
        "Mozilla/5.0 (Linux; Android 12; SM-A525F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Mobile Safari/537.36 (compatible; ExampleScanner/1.0)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 6_0 like Mac OS X) AppleWebKit/536.26 (KHTML, like Gecko) Version/6.0 Mobile/10A5376e Safari/8536.25 mixed-content-scan",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Safari/537.36 ExampleScanner/1.0",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Safari/537.36 ExampleResearch/1.0",
        "Mozilla/5.0 (X11; Linux x86_64) Example.io/6.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/69.0.3497.128 Safari/537.36",
        "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0; http://www.example.com/check)",
        "Mozilla/5.0 (compatible; Example Browser; +https://examplebrowser.io/)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36; Devin/1.0; +devin.ai",
        "Mirobot/1.0 (Linux)",
    ]
    libraries_and_tools_are_found_on_every_platform: true [
        "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.2673",
        "facebookexternalua",
        "Mozilla/5.0",
        "Mozilla/4.0",
        "Mozilla/5.0 (compatible)",
        "Mozilla/4.0 (compatible;)",
        "(Mozilla/5.0)",
        "Mozilla/5.0libwww-perl/6.08",
        "azsdk-net-Storage.Blobs/12.10.0 (.NET 6.0.9; Microsoft Windows 10.0.14393)",
        "azsdk-go-azblob/v1.0.0 (go1.21; Windows_NT)",
        "nscurl/1 CFNetwork/1410.0.3 Darwin/22.6.0",
        "codex_cli_rs/0.40.0 (Mac OS 15.5.0; arm64) iTerm.app/3.5.14",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 PerplexityUser/1.0",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Shap-User/0.1",
    ]
    podcast_collectors_are_robots: true [
        "PodcastDL/1.0 (+https://github.com/podcast-dl)",
        "podcast-downloader",
        "PodcastIndexManager/1.0",
        "Mozilla/5.0 (compatible; podcast-downloader/1.0)",
        "IPFS Podcasting Node/0.6n (+https://ipfspodcasting.net)",
        "Podplay-Podcast-Sync/1.0 (+https://podplay.com/articles/contact)",
        "Podgrab",
        "Podcast Transcriber 2.0 (https://example.com/podcast-transcriber)",
        "PodSearcher/1.0",
        "Mozilla/5.0 pods3-backfill/1.0",
        "Audiomack Podcast Processor/1.0 (https://audiomack.com/)",
        "Pinecast/Importer 1.1",
    ]
    podcast_players_are_not_robots: false [
        "AntennaPod/1.5.2.0",
        "Podcasts/2.2",
        "Pocket Casts",
        "Overcast/3.0 (+http://overcast.fm/; iOS podcast app)",
        "Podkicker Pro/2.2.2",
    ]
}
