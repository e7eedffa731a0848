//! How strictly robots are held to robots.txt, from settings.

use crate::config::{ConfigErrors, EnforcementSection, Loaded};
use crate::policy::{Enforcement, Refusal};

/// Returns how strictly the settings hold robots to robots.txt.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn enforcement(loaded: &Loaded) -> Result<Enforcement, ConfigErrors> {
    let settings = loaded.settings();
    let of = &settings.enforcement;
    if of.refusal == Refusal::Redirect && settings.general.redirect_url.is_empty() {
        let reason = "there is nowhere to redirect to; set redirect_url, or write \"403\"";
        return Err(loaded.wrong(&EnforcementSection::KEY.refusal, reason));
    }
    Ok(Enforcement::default()
        .rules(of.enforce)
        .refusal(of.refusal)
        .crawl_delay(of.enforce_crawl_delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::policy::Enforce;

    fn of(text: &str) -> Result<Enforcement, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let enforcement = loaded.and_then(|loaded| enforcement(&loaded));
        enforcement.map_err(|error| error.to_string())
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
