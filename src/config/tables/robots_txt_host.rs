//! `[[robots_txt.host]]`.

use crate::config::{
    RobotsTxtSection, Settings,
    setting::Section as _,
    table::{Reader, table},
    types::RobotsTxtSource,
};

const NEEDS: &str = "a [[robots_txt.host]] needs hosts, such as hosts = [\"www.example.com\"]";

table! {
    /// One `[[robots_txt.host]]`; what it does not say is as in `[robots_txt]`.
    pub struct RobotsTxtHostSettings, RobotsTxtHostKeys = "robots_txt.host"
        with own: RobotsTxtSection needs NEEDS;
    /// Names that visitors ask for, with a port where it is not the default
    hosts: Vec<String>;
    /// The one of several names of a site that robots are to take; the others answer
    /// `Disallow: /` and name it in a Host line; empty: all are served the same
    main_mirror: Option<String>;
}

impl RobotsTxtHostSettings {
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let mut host = Self::read(reader)?;
        host.main_mirror.take_if(|main| main.is_empty());
        if host.hosts.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(host)
    }

    /// Returns what is served to who asks for these hosts, over what the site says.
    ///
    /// A file of its own is there to be served, where nothing else is said.
    #[must_use]
    pub fn content(&self, settings: &Settings) -> RobotsTxtSection {
        let key = RobotsTxtSection::KEY;
        let mut content = settings.robots_txt.clone();
        for name in self.place.origins.keys() {
            content.take(name, &self.own);
        }
        if self.origin_of(&key.serve).is_none() && !self.own.file.is_empty() {
            content.serve = RobotsTxtSource::File;
        }
        content
    }
}
