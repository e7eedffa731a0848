//! The site robot's request signing and its key.

use std::path::PathBuf;

use crate::clock::Clock;
use crate::config::{
    ConfigErrors, Loaded, Settings, SiteRobotKeys, SiteRobotSection, StartingPoint,
};
use crate::verify::{Signer, SigningKeyError};

const KEYS: SiteRobotKeys = SiteRobotSection::KEY;

/// The file of the signing key, and the site that serves the key directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Signing {
    key: PathBuf,
    agent: String,
}

impl Signing {
    /// Reads the signing settings of a site; returns `None` if no key is set.
    pub(crate) fn from_settings(loaded: &Loaded) -> Result<Option<Self>, ConfigErrors> {
        let settings = loaded.settings();
        let Some(key) = settings.site_robot.signing_key.clone() else {
            return Ok(None);
        };
        let agent = agent(settings);
        let agent = agent.map_err(|reason| loaded.invalid(&KEYS.signature_agent, reason))?;
        Ok(Some(Self { key, agent }))
    }

    /// Returns the signer for a site; creates the key if it does not exist.
    pub(crate) fn signer_for(loaded: &Loaded) -> Result<Option<Signer>, ConfigErrors> {
        let signing = Self::from_settings(loaded)?;
        let signer = signing.map(|signing| signing.signer(Clock::system()));
        signer.transpose().map_err(|error| match &error {
            SigningKeyError::BadAgent { .. } => loaded.invalid(&KEYS.signature_agent, error),
            _ => loaded.invalid(&KEYS.signing_key, error),
        })
    }

    /// Reads the signing key, or creates the key if it does not exist.
    pub(crate) fn signer(&self, clock: Clock) -> Result<Signer, SigningKeyError> {
        Signer::open(&self.key, &self.agent, clock)
    }
}

/// Returns the configured signature agent, or the site of the first starting point if none is
/// configured.
fn agent(settings: &Settings) -> Result<String, String> {
    if !settings.site_robot.signature_agent.is_empty() {
        return Ok(settings.site_robot.signature_agent.clone());
    }
    let first = settings.site_robot.starting_points.first();
    match first.map(StartingPoint::url) {
        // Verifiers download the directory only over https, because anyone in between could replace
        // keys.
        Some(url) if url.scheme() == "https" => Ok(url.origin().ascii_serialization()),
        _ => Err(format!(
            "{} is set: specify the site that serves the key directory, such as https://www.example.com",
            KEYS.signing_key.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn loaded(text: &str) -> Loaded {
        Loader::new().file("c.toml", text).load().unwrap()
    }

    #[test]
    fn agent_is_the_configured_one_or_the_site_itself() {
        let agent = |text: &str| {
            let text = format!("[site_robot]\nsigning_key = 'k'\n{text}");
            Signing::from_settings(&loaded(&text)).map(|signing| signing.unwrap().agent)
        };
        let starts = "starting_points = 'https://www.example.com/a'";
        assert_eq!(agent(starts).unwrap(), "https://www.example.com");
        let set = format!("{starts}\nsignature_agent = 'https://keys.example.com'");
        assert_eq!(agent(&set).unwrap(), "https://keys.example.com");
        let error = agent("starting_points = 'http://h/'")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("specify the site that serves the key directory"),
            "{error}"
        );
        assert_eq!(Signing::from_settings(&loaded("")).unwrap(), None);
    }

    #[test]
    fn errors_name_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        let key = key.to_str().unwrap();
        let text = |agent: &str| {
            format!("[site_robot]\nsigning_key = '{key}'\nsignature_agent = '{agent}'")
        };
        let error = Signing::signer_for(&loaded(&text("http://h"))).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("c.toml:3: site_robot.signature_agent"),
            "{error}"
        );
        std::fs::write(key, "no key").unwrap();
        let error = Signing::signer_for(&loaded(&text("https://h.example"))).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("c.toml:2: site_robot.signing_key"),
            "{error}"
        );
    }
}
