//! Sample robots.txt files for the benchmarks, and URLs for queries.

use std::fmt::Write as _;

/// A sample file with the URLs of its queries.
pub(crate) struct Sample {
    /// Short description.
    pub(crate) name: &'static str,
    /// Text of the file.
    pub(crate) text: String,
    /// URL paths of the queries.
    pub(crate) urls: Vec<String>,
}

/// Robot of the queries; some files have a group for it.
pub(crate) const ROBOT: &str = "Robot7";

/// Returns files of all sizes and shapes.
pub(crate) fn samples() -> Vec<Sample> {
    vec![small(), common(), plain(), wildcards(), groups(), large()]
}

fn sample(name: &'static str, text: String, url: impl Fn(usize) -> String) -> Sample {
    Sample {
        name,
        text,
        urls: (0..256).map(url).collect(),
    }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

fn small() -> Sample {
    let text = "User-agent: *\nDisallow: /private\nAllow: /private/open\n";
    sample("small, 2 rules", text.to_owned(), |n| match n % 3 {
        0 => format!("/private/{n}"),
        1 => format!("/private/open/{n}"),
        _ => format!("/a/{n}.html"),
    })
}

/// Returns a typical file of a shop or a blog.
fn common() -> Sample {
    let mut text = String::from("# See https://www.example.com/robots.html\n\n");
    for robot in ["Robot7", "Robot8", "*"] {
        let _ = write!(
            text,
            "User-agent: {robot}\nDisallow: /cart/\nDisallow: /checkout\nDisallow: /search?\n\
             Disallow: /*?sort=\nDisallow: /*.pdf$\nAllow: /search/about\n\
             {}Crawl-delay: 2\n\n",
            lines(24, |n| format!("Disallow: /department-{n}/internal/\n"))
        );
    }
    text.push_str("Sitemap: https://www.example.com/sitemap.xml\n");
    sample("common, 3 groups of 30", text, |n| match n % 4 {
        0 => format!("/department-{}/internal/{n}", n % 24),
        1 => format!("/shop/{n}?sort=price"),
        2 => format!("/papers/{n}.pdf"),
        _ => format!("/articles/{n}/title-of-it.html"),
    })
}

fn plain() -> Sample {
    let rules = lines(5_615, |n| {
        let field = if n % 7 == 0 { "Allow" } else { "Disallow" };
        format!("{field}: /section-{}/topic-{}/page{n}\n", n % 97, n % 13)
    });
    sample(
        "5,615 plain rules",
        format!("User-agent: *\n{rules}"),
        |n| format!("/section-{}/topic-{}/page{}/a?q={n}", n % 97, n % 13, n * 7),
    )
}

fn wildcards() -> Sample {
    let rules = lines(600, |n| {
        format!("Disallow: /shop-{n}/*/private/*.html$\nAllow: /*/area{n}/*?p{n}=\n")
    });
    let text = format!("User-agent: *\n{rules}");
    sample("1,200 wildcard rules", text, |n| match n % 2 {
        0 => format!("/shop-{}/a/private/b{n}.html", n * 2),
        _ => format!("/x/area{}/y?p{}=1", n * 2, n * 2),
    })
}

fn groups() -> Sample {
    let groups = lines(2_000, |n| {
        format!(
            "# about {n}\nUser-agent: Robot{n}\nCrawl-delay: 5\nDisallow: /a{n}/\nAllow: /a{n}/b\n\n"
        )
    });
    sample("2,000 groups", groups, |n| format!("/a{}/b/c?x={n}", n % 9))
}

fn large() -> Sample {
    let rules = lines(17_500, |n| format!("Disallow: /catalogue/{n}/hidden\n"));
    sample("500 KiB", format!("User-agent: *\n{rules}"), |n| {
        format!("/catalogue/{}/hidden/{n}", n * 31)
    })
}
