//! What a page without a description of this run means for heaven.

use url::Url;

use robot_detection_store::store::{Loss, LostDescription};

/// Fate of a description that a run has not made again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It stays as it is.
    Stays,
    /// The page says that it is not to be shown.
    Hidden,
    /// It is removed; where there are many such, a person is asked first.
    Goes,
    /// It is removed, since another description stands for it.
    Replaced,
    /// It is removed, and was hidden before.
    Forgotten,
    /// It stays, though the page does not answer.
    Missing,
    /// It stays, since a login may stand in the page's place.
    Doubtful,
}

/// Context that the fate of a page depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossContext {
    /// Run that has ended.
    pub(super) run_id: i64,
    /// Whether other pages of its host answer.
    pub(super) host_answers: bool,
    /// Whether it is deeper than the run went.
    pub(super) is_too_deep: bool,
    /// Trust in the content that came in its place.
    pub(super) trust: ContentTrust,
}

/// Trust in the content that came in place of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ContentTrust {
    /// It is what it says, unless it asks for a password.
    AsSaid,
    /// It is not trusted: it came in place of many pages.
    InPlaceOfMany,
    /// It is what it says: a person has accepted the run.
    Accepted,
}

/// New location of a page that moved, or is out of scope.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NewLocation {
    /// At a URL that the run has described.
    Described,
    /// At one that asks for a login, did not answer, or may not be asked.
    Behind,
    /// At one that has nothing to describe.
    Nowhere,
    /// On a host that was not asked for, for the time being or by another name of the site.
    Away,
    /// On a host that was not asked for, for good.
    AwayForGood,
}

/// Returns the fate of a lost description; `None` where it depends on its [`NewLocation`].
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
        // One page that is refused was closed on purpose; a host that refuses all of them may
        // refuse us.
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

/// Returns the fate of a description whose page moved or is excluded by our own settings.
pub(super) fn fate_of_moved(loss: Loss, elsewhere: NewLocation) -> Fate {
    match (loss, elsewhere) {
        (_, NewLocation::Described) => Fate::Replaced,
        (Loss::Excluded, _) | (_, NewLocation::Nowhere | NewLocation::AwayForGood) => Fate::Goes,
        (_, NewLocation::Behind | NewLocation::Away) => Fate::Missing,
    }
}

/// Returns why a run has not described a page, for people.
pub(super) fn reason<'l>(lost: &'l LostDescription, beside: &LossContext) -> &'l str {
    if lost.run_id == Some(beside.run_id) {
        let rest = lost.outcome.strip_prefix("not described: ");
        rest.unwrap_or(&lost.outcome)
    } else if beside.is_too_deep {
        "it is deeper than the run goes"
    } else {
        "nothing leads to it, and its server does not answer"
    }
}

/// Returns where a redirect led, as its outcome tells it.
pub(super) fn moved_to(outcome: &str) -> Option<&str> {
    Some(outcome.split_once(", moved to ")?.1)
}

/// Returns `true` if two URLs are of one site under two schemes, or with and without `www.`.
pub(super) fn are_one_site(one: &Url, other: &Url) -> bool {
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
    fn what_a_page_says_of_itself_hides_it_and_what_is_silent_stays() {
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
    fn what_was_not_met_is_missing_unless_our_settings_leave_it_out() {
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
    fn one_page_for_many_says_nothing_until_it_is_accepted() {
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
    fn what_is_hidden_is_forgotten_only_when_it_is_gone() {
        let mut lost = lost(Some(Loss::Gone));
        lost.is_shown = false;
        assert_eq!(fate(&lost, &beside()), Some(Fate::Forgotten));
        for loss in [Loss::Told, Loss::Missing, Loss::Moved] {
            lost.loss = Some(loss);
            assert_eq!(fate(&lost, &beside()), Some(Fate::Stays), "{loss:?}");
        }
    }

    #[test]
    fn what_moved_goes_when_it_is_found_elsewhere_or_nowhere() {
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
    fn a_site_has_two_schemes_and_may_have_www_before_it() {
        let are_one =
            |one: &str, other: &str| are_one_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(are_one("http://example.com/a", "https://www.example.com/b"));
        assert!(!are_one("http://example.com/", "http://sso.example.com/"));
    }

    #[test]
    fn an_outcome_tells_where_a_redirect_led() {
        let outcome = "not described: answer: status 301, moved to https://b.example/";
        assert_eq!(moved_to(outcome), Some("https://b.example/"));
        assert_eq!(moved_to("not described: answer: status 404"), None);
    }
}
