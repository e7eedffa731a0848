//! How strictly robots are held to robots.txt, from settings.

use robot_detection_site_robot::spelling::unknown;

use crate::config::{ConfigErrors, Loaded};
use crate::policy::{Enforce, Enforcement, Refusal};

const ENFORCE: &str = "robots_txt.enforce";
const REFUSAL: &str = "robots_txt.refusal";
const CRAWL_DELAY: &str = "robots_txt.enforce_crawl_delay";

/// Returns how strictly the settings hold robots to robots.txt.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn enforcement(loaded: &Loaded) -> Result<Enforcement, ConfigErrors> {
    let settings = loaded.settings();
    let refusal = &settings.robots_txt_refusal;
    let refusal = Refusal::from_word(refusal).ok_or_else(|| {
        let words = Refusal::ALL.iter().map(|refusal| refusal.as_str());
        loaded.wrong(REFUSAL, unknown("refusal", refusal, words))
    })?;
    if refusal == Refusal::Redirect && settings.redirect_url.is_empty() {
        let reason = "there is nowhere to redirect to; set redirect_url, or write \"403\"";
        return Err(loaded.wrong(REFUSAL, reason));
    }
    Ok(Enforcement::default()
        .rules(mode(loaded, ENFORCE, &settings.robots_txt_enforce)?)
        .refusal(refusal)
        .crawl_delay(mode(
            loaded,
            CRAWL_DELAY,
            &settings.robots_txt_enforce_crawl_delay,
        )?))
}

fn mode(loaded: &Loaded, key: &str, word: &str) -> Result<Enforce, ConfigErrors> {
    Enforce::from_word(word).ok_or_else(|| {
        let words = Enforce::ALL.iter().map(|mode| mode.as_str());
        loaded.wrong(key, unknown("mode", word, words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn of(text: &str) -> Result<Enforcement, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        enforcement(&loaded.unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn words_become_settings() {
        assert_eq!(of(""), Ok(Enforcement::default()));
        let text = "[robots_txt]\nenforce = 'on'\nrefusal = '429'\nenforce_crawl_delay = 'off'";
        let strict = Enforcement::default()
            .rules(Enforce::On)
            .refusal(Refusal::TooManyRequests)
            .crawl_delay(Enforce::Off);
        assert_eq!(of(text), Ok(strict));
    }

    #[test]
    fn wrong_words_are_told_with_their_place() {
        for (text, expected) in [
            (
                "robots_txt.enforce = 'onn'",
                "c.toml:1: robots_txt.enforce: \"onn\" is no mode; did you mean \"on\"?",
            ),
            (
                "\nrobots_txt.refusal = '404'",
                "c.toml:2: robots_txt.refusal: \"404\" is no refusal; did you mean \"403\"?",
            ),
            (
                "robots_txt.enforce_crawl_delay = '10'",
                "c.toml:1: robots_txt.enforce_crawl_delay: \"10\" is no mode",
            ),
            (
                "redirect_url = ''\nrobots_txt.refusal = 'redirect'",
                "c.toml:2: robots_txt.refusal: there is nowhere to redirect to",
            ),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
