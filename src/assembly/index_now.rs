//! Converts `[index_now]` into the settings of submissions.

use url::Url;

use crate::config::{ConfigErrors, IndexNowSection, Loaded, Settings};
use crate::heaven::HeavenSettings;
use crate::index_now::{AnnouncerSettings, IndexNowKey, IndexedSite, announcement_obstacle};

use super::heaven::logs_in;

/// Returns the settings for IndexNow submissions, if active.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn index_now(loaded: &Loaded) -> Result<Option<AnnouncerSettings>, ConfigErrors> {
    let settings = &loaded.settings().index_now;
    if !settings.active {
        return Ok(None);
    }
    let key = match settings.key.as_str() {
        "" => None,
        text => {
            let wrong = |reason| loaded.invalid(&IndexNowSection::KEY.key, reason);
            Some(IndexNowKey::parse(text).map_err(wrong)?)
        }
    };
    let endpoint = Url::parse(&settings.endpoint).ok();
    let endpoint = endpoint.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(endpoint) = endpoint else {
        let reason = "expected a URL such as https://api.indexnow.org/indexnow";
        return Err(loaded.invalid(&IndexNowSection::KEY.endpoint, reason));
    };
    Ok(Some(AnnouncerSettings {
        key,
        endpoint,
        is_private: settings.private,
    }))
}

/// Returns the URL of the site whose pages are submitted, or the reason why no pages are submitted.
pub(crate) fn indexed_site(
    loaded: &Loaded,
    settings: &Settings,
    heaven: &HeavenSettings,
) -> Result<IndexedSite, String> {
    let told = |why: String| format!("index_now.active: no pages are submitted: {why}");
    let site = Url::parse(heaven.site()).map_err(|error| told(error.to_string()))?;
    if let Some(why) = announcement_obstacle(&site) {
        return Err(told(format!("{why}; set heaven.url")));
    }
    if logs_in(loaded, settings) {
        let why = "the site robot logs in, so it is not known which pages are public";
        return Err(told(why.to_owned()));
    }
    let heaven = heaven.clone();
    let origin = site.origin().ascii_serialization();
    Ok(IndexedSite::new(&origin, move |path| {
        !heaven.is_for_members(path)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::heaven_settings;
    use crate::config::Loader;

    fn told(text: &str, url: &str) -> Result<bool, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let loaded = loaded.map_err(|error| error.to_string())?;
        let settings = loaded.settings();
        index_now(&loaded).map_err(|error| error.to_string())?;
        let heaven = heaven_settings(&loaded, settings, url).unwrap();
        let site = indexed_site(&loaded, settings, &heaven)?;
        Ok(site.contains_public(&format!("{url}/members/a")))
    }

    #[test]
    fn errors_name_their_place() {
        for (text, expected) in [
            ("key = 'short'", "c.toml:3: index_now.key: a key has 8"),
            (
                "endpoint = 'there'",
                "c.toml:3: index_now.endpoint: expected a URL",
            ),
        ] {
            let text = format!("[index_now]\nactive = true\n{text}");
            let error = told(&text, "https://www.example.com").unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn pages_that_may_not_be_public_are_not_submitted() {
        let site = "https://www.example.com";
        assert_eq!(told("", site), Ok(true));
        assert_eq!(told("filter_pattern = '/members/*'", site), Ok(false));
        for (text, url, expected) in [
            ("", "http://127.0.0.1:8080", "127.0.0.1"),
            ("site_robot.login = 'bearer t'", site, "logs in"),
        ] {
            let error = told(text, url).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
