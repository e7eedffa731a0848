//! Determines the consequences for robot heaven if a run did not describe a page.

use url::Url;

use robot_detection_store::store::{Loss, LostDescription};

/// Consequence for a description that a run has not renewed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// The description is kept unchanged.
    Stays,
    /// The description is hidden because the page requests that it not be shown.
    Hidden,
    /// The description is removed; if many would be removed, an administrator must confirm the
    /// removal.
    Goes,
    /// The description is removed because another description represents the page.
    Replaced,
    /// The description, which was already hidden, is removed.
    Forgotten,
    /// The description is kept although the page does not respond.
    Missing,
    /// The description is kept because a login page may have replaced the page.
    Doubtful,
}

/// Context that determines the consequence for a lost description.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossContext {
    /// Id of the run that has ended.
    pub(super) run_id: i64,
    /// Whether other pages on the host respond.
    pub(super) host_answers: bool,
    /// Whether the page is deeper than the depth limit of the run.
    pub(super) is_too_deep: bool,
    /// Whether the content that replaced the page is trusted.
    pub(super) trust: ContentTrust,
}

/// Whether content that replaced a page is trusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ContentTrust {
    /// The content is trusted unless it asks for a password.
    AsSaid,
    /// The content is not trusted because it replaced many pages.
    InPlaceOfMany,
    /// The content is trusted because an administrator accepted the run.
    Accepted,
}

/// New location of a page that has moved or is out of scope.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NewLocation {
    /// The new location is a URL that the run has described.
    Described,
    /// The new location is a URL that requires a login, did not respond, or must not be requested.
    Behind,
    /// The new location is a URL without any content to describe.
    Nowhere,
    /// The new location is on an out-of-scope host to which the page moved temporarily, or which is
    /// another name of the site.
    Away,
    /// The new location is on an out-of-scope host to which the page moved permanently.
    AwayForGood,
}

/// Returns the consequence for a lost description; `None` if it depends on the [`NewLocation`].
pub(super) fn fate(lost: &LostDescription, beside: &LossContext) -> Option<Fate> {
    let is_met = lost.run_id == Some(beside.run_id);
    if !lost.is_shown {
        let is_gone = is_met && lost.loss == Some(Loss::Gone) && beside.host_answers;
        return Some(if is_gone {
            Fate::Forgotten
        } else {
            Fate::Stays
        });
    }
    if !is_met {
        return Some(if beside.is_too_deep {
            Fate::Goes
        } else {
            Fate::Missing
        });
    }
    if beside.trust == ContentTrust::InPlaceOfMany {
        return Some(Fate::Doubtful);
    }
    Some(match lost.loss? {
        Loss::Told => Fate::Hidden,
        // If only some pages are forbidden, this is deliberate; a host that forbids all pages may
        // be blocking the site robot.
        Loss::Forbidden if beside.host_answers => Fate::Hidden,
        Loss::Gone if beside.host_answers => Fate::Goes,
        Loss::Forbidden | Loss::Gone | Loss::Missing => Fate::Missing,
        Loss::Duplicate | Loss::List => Fate::Goes,
        Loss::Withdrawn => Fate::Stays,
        Loss::Login if beside.trust == ContentTrust::Accepted => Fate::Stays,
        Loss::Locked | Loss::Login => Fate::Doubtful,
        Loss::Moved | Loss::Excluded => return None,
    })
}

/// Returns the consequence for a description whose page has moved or is excluded by our settings.
pub(super) fn fate_of_moved(loss: Loss, elsewhere: NewLocation) -> Fate {
    match (loss, elsewhere) {
        (_, NewLocation::Described) => Fate::Replaced,
        (Loss::Excluded, _) | (_, NewLocation::Nowhere | NewLocation::AwayForGood) => Fate::Goes,
        (_, NewLocation::Behind | NewLocation::Away) => Fate::Missing,
    }
}

/// Returns a human-readable reason why a run has not described a page.
pub(super) fn reason<'l>(lost: &'l LostDescription, beside: &LossContext) -> &'l str {
    if lost.run_id == Some(beside.run_id) {
        let rest = lost.outcome.strip_prefix("not described: ");
        rest.unwrap_or(&lost.outcome)
    } else if beside.is_too_deep {
        "the page is beyond the depth limit"
    } else {
        "no page links to this page, and its server does not respond"
    }
}

/// Returns the redirect target in an outcome text.
pub(super) fn moved_to(outcome: &str) -> Option<&str> {
    Some(outcome.split_once(", moved to ")?.1)
}

/// Returns `true` if two URLs differ only in their scheme or in the prefix `www.`.
pub(super) fn is_same_site(one: &Url, other: &Url) -> bool {
    let name = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Option<Loss>) -> LostDescription {
        LostDescription::new("http://a.example/", 7, loss)
    }

    fn beside() -> LossContext {
        LossContext {
            run_id: 7,
            host_answers: true,
            is_too_deep: false,
            trust: ContentTrust::AsSaid,
        }
    }

    #[test]
    fn explicit_refusals_hide_a_page_and_silence_keeps_it() {
        for (loss, alone, among_others) in [
            (Loss::Told, Fate::Hidden, Fate::Hidden),
            (Loss::Forbidden, Fate::Missing, Fate::Hidden),
            (Loss::Gone, Fate::Missing, Fate::Goes),
            (Loss::Missing, Fate::Missing, Fate::Missing),
            (Loss::Locked, Fate::Doubtful, Fate::Doubtful),
            (Loss::Login, Fate::Doubtful, Fate::Doubtful),
            (Loss::Duplicate, Fate::Goes, Fate::Goes),
            (Loss::Withdrawn, Fate::Stays, Fate::Stays),
        ] {
            let lost = lost(Some(loss));
            assert_eq!(fate(&lost, &beside()), Some(among_others), "{loss:?}");
            let beside = LossContext {
                host_answers: false,
                ..beside()
            };
            assert_eq!(fate(&lost, &beside), Some(alone), "{loss:?}");
        }
    }

    #[test]
    fn unvisited_page_is_missing_unless_excluded_by_settings() {
        let other = LossContext {
            run_id: 8,
            ..beside()
        };
        let lost = lost(Some(Loss::Told));
        assert_eq!(fate(&lost, &other), Some(Fate::Missing));
        let too_deep = LossContext {
            is_too_deep: true,
            ..other
        };
        assert_eq!(fate(&lost, &too_deep), Some(Fate::Goes));
    }

    #[test]
    fn one_content_for_many_urls_is_doubtful_until_accepted() {
        let alike = LossContext {
            trust: ContentTrust::InPlaceOfMany,
            ..beside()
        };
        for loss in [Loss::Told, Loss::Duplicate] {
            assert_eq!(fate(&lost(Some(loss)), &alike), Some(Fate::Doubtful));
        }
        let accepted = LossContext {
            trust: ContentTrust::Accepted,
            ..alike
        };
        assert_eq!(
            fate(&lost(Some(Loss::Duplicate)), &accepted),
            Some(Fate::Goes)
        );
    }

    #[test]
    fn hidden_page_is_forgotten_only_when_gone() {
        let mut lost = lost(Some(Loss::Gone));
        lost.is_shown = false;
        assert_eq!(fate(&lost, &beside()), Some(Fate::Forgotten));
        for loss in [Loss::Told, Loss::Missing, Loss::Moved] {
            lost.loss = Some(loss);
            assert_eq!(fate(&lost, &beside()), Some(Fate::Stays), "{loss:?}");
        }
    }

    #[test]
    fn moved_page_is_removed_if_found_elsewhere_or_nowhere() {
        use NewLocation::{Away, AwayForGood, Behind, Described, Nowhere};
        for (elsewhere, moved, excluded) in [
            (Described, Fate::Replaced, Fate::Replaced),
            (Behind, Fate::Missing, Fate::Goes),
            (Nowhere, Fate::Goes, Fate::Goes),
            (Away, Fate::Missing, Fate::Goes),
            (AwayForGood, Fate::Goes, Fate::Goes),
        ] {
            assert_eq!(fate_of_moved(Loss::Moved, elsewhere), moved);
            assert_eq!(fate_of_moved(Loss::Excluded, elsewhere), excluded);
        }
    }

    #[test]
    fn scheme_and_www_do_not_distinguish_sites() {
        let are_one =
            |one: &str, other: &str| is_same_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(are_one("http://example.com/a", "https://www.example.com/b"));
        assert!(!are_one("http://example.com/", "http://sso.example.com/"));
    }

    #[test]
    fn redirect_target_is_read_from_the_outcome() {
        let outcome = "not described: answer: status 301, moved to https://b.example/";
        assert_eq!(moved_to(outcome), Some("https://b.example/"));
        assert_eq!(moved_to("not described: answer: status 404"), None);
    }
}
