//! The part of a document that a URL selects.

/// Part of a document that a list's URL selects with its fragment.
///
/// Some documents list more than a robot's addresses: `#hooks` selects what
/// stands under that member, `#service=CHECKS` the objects that have it so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Selection<'a> {
    /// No fragment: all of it.
    All,
    /// The value of this member.
    Member(&'a str),
    /// The objects in which this member has this text.
    Text {
        /// Name of the member.
        member: &'a str,
        /// Its text.
        text: &'a str,
    },
}

impl<'a> Selection<'a> {
    /// Returns what the fragment of a URL selects.
    pub(super) fn of_url(url: &'a str) -> Self {
        let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
        match fragment.split_once('=') {
            _ if fragment.is_empty() => Self::All,
            Some((member, text)) => Self::Text { member, text },
            None => Self::Member(fragment),
        }
    }

    /// Returns `true` if what stands under a member is selected.
    pub(super) fn is_member(&self, name: &str) -> bool {
        matches!(self, Self::Member(member) if *member == name)
    }

    /// Returns `true` if a member with a text selects its object.
    pub(super) fn is_text(&self, name: &str, value: &str) -> bool {
        matches!(self, Self::Text { member, text } if *member == name && *text == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragment_of_a_url_selects() {
        for (url, selection) in [
            ("https://lists.example/ips.json", Selection::All),
            ("https://lists.example/ips.json#", Selection::All),
            (
                "https://lists.example/meta#hooks",
                Selection::Member("hooks"),
            ),
            (
                "https://lists.example/ips.json#service=A#B=C",
                Selection::Text {
                    member: "service",
                    text: "A#B=C",
                },
            ),
        ] {
            assert_eq!(Selection::of_url(url), selection, "{url}");
        }
    }
}
