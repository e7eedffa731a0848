//! Name and version of the browser that a User-Agent names.

/// Words that a version stands behind, the name that is told first: Edge and Opera name Chrome too.
const FAMILIES: [&str; 7] = [
    "Edg/",
    "OPR/",
    "SamsungBrowser/",
    "FxiOS/",
    "Firefox/",
    "Chrome/",
    "Version/",
];

/// Returns the family of a browser and its main version.
pub(crate) fn version(user_agent: &str) -> Option<(&'static str, u32)> {
    FAMILIES.into_iter().find_map(|family| {
        let (_, rest) = user_agent.split_once(family)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((family, digits.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_is_the_one_that_names_itself_and_others() {
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36",
                Some(("Chrome/", 150)),
            ),
            (
                "… Chrome/150.0.0.0 Safari/537.36 Edg/151.0",
                Some(("Edg/", 151)),
            ),
            ("Gecko/20100101 Firefox/153.0", Some(("Firefox/", 153))),
            ("Version/18.3 Safari/605.1.15", Some(("Version/", 18))),
            ("Chrome/99999999999999999999", None),
            ("w3m/0.5.3", None),
        ] {
            assert_eq!(version(user_agent), expected, "{user_agent}");
        }
    }
}
