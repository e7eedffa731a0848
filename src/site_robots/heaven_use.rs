//! Determines how a site uses its page descriptions, according to the configuration.

use std::path::Path;

use crate::config::{HeavenSource, Loaded, Settings};
use crate::operations::HeavenUse;

/// Describes how a site uses its page descriptions; `published` is a directory given on the command
/// line.
#[must_use]
pub fn heaven_use(loaded: &Loaded, site: &str, published: Option<&Path>) -> HeavenUse {
    of(loaded.for_site_named(site).settings(), published)
}

fn of(settings: &Settings, published: Option<&Path>) -> HeavenUse {
    let is_served = settings.heaven.serve;
    if is_served && settings.heaven.source == HeavenSource::Database {
        return HeavenUse::Served;
    }
    let configured = settings.site_robot.publish.as_deref();
    let Some(directory) = published.or(configured) else {
        return HeavenUse::Nothing;
    };
    if is_served && Path::new(&settings.heaven.directory) == directory {
        HeavenUse::Published(directory.to_owned())
    } else {
        HeavenUse::PublishedElsewhere(directory.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn word(text: &str, published: Option<&str>) -> &'static str {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        heaven_use(&loaded, "default", published.map(Path::new)).as_str()
    }

    #[test]
    fn heaven_is_generated_if_it_is_served() {
        assert_eq!(word("", None), "none");
        assert_eq!(word("heaven.source = 'database'", None), "database");
        let not_served = "heaven.source = 'database'\nheaven.serve = false";
        assert_eq!(word(not_served, None), "none");
        let publish = "site_robot.publish = 'heaven/'\n";
        assert_eq!(word(publish, None), "elsewhere");
        let both = format!("{publish}heaven.directory = 'heaven'");
        assert_eq!(word(&both, None), "files");
        assert_eq!(word(&both, Some("other")), "elsewhere");
        assert_eq!(word("heaven.directory = 'h'", Some("h")), "files");
    }

    #[test]
    fn each_site_has_its_own_use() {
        let text = "[[site]]\nname = 'shop'\nhosts = 'shop.example'\nupstream = 'http://a'\n\
                    [site.heaven]\nsource = 'database'\nurl = 'https://shop.example'";
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        assert_eq!(heaven_use(&loaded, "shop", None), HeavenUse::Served);
        assert_eq!(heaven_use(&loaded, "default", None), HeavenUse::Nothing);
    }
}
