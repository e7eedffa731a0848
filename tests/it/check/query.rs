//! Rules that see the query: the same decision from our own proxy, the endpoint, live rules and
//! `explain`, for every spelling of the query.

use std::fmt::Write as _;

use super::house::House;
use crate::support::{eventually::eventually, program::succeed};

const ROBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

/// The items of `query`, the queries that match, and those that do not.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "add-to-cart",
        &[
            "add-to-cart",
            "add-to-cart=",
            "add-to-cart=1",
            "a=1&add-to-cart=1",
            "add-to-cart=1&a=1",
            "&&add-to-cart",
            "ADD-TO-CART=1",
            "add%2Dto%2dcart=1",
            "%61dd-to-cart=1",
            "add-to-cart[]=1",
            "add-to-cart%5B%5D=1",
            "add-to-cart[x][y]=1",
            "a;add-to-cart=1",
            "add-to-cart;a",
            "a=%zz&add-to-cart",
            "a=%FF%FE&add-to-cart=%FF",
            "=&add-to-cart",
            "add-to-cart=1&add-to-cart=2",
            "a=/../b&add-to-cart=1",
        ],
        &[
            "",
            "a=add-to-cart",
            "=add-to-cart",
            "add-to-cart2=1",
            "xadd-to-cart=1",
            "add_to_cart=1",
            "add-to-cart%3D1",
            "add%252Dto-cart=1",
            "add-to-cart%00=1",
            "a[add-to-cart]=1",
            "add+to+cart=1",
            "add.to.cart",
            "a?add-to-cart",
        ],
    ),
    (
        "sort=price*",
        &[
            "sort=price",
            "sort=price-asc",
            "sort=PRICE",
            "SORT=Price",
            "sort=%70rice",
            "sort=name&sort=price",
            "sort[]=price",
            "page=2&sort=price&a=b",
            "sort=price%00",
            "sort=price+asc",
            "sort=price%26a",
            "sort=price;page=2",
        ],
        &[
            "sort",
            "sort=",
            "sort=xprice",
            "sort=+price",
            "sort==price",
            "sort=pric",
            "price=sort",
            "sort=%2570rice",
            "sort%5B=pricf",
        ],
    ),
    (
        "tags=*,*",
        &[
            "tags=a,b",
            "tags=a%2Cb",
            "tags=a%2cb",
            "tags=,",
            "tags=a&tags=b,c",
        ],
        &["tags=a", "tags=a%252Cb", "tags=a&tags=b"],
    ),
    (
        "q=a?b",
        &["q=a+b", "q=a%20b", "q=a-b", "q=A%2BB"],
        &["q=ab", "q=a++b", "q=a%C3%A9b"],
    ),
    (
        "empty=",
        &["empty", "empty=", "a&empty&b"],
        &["empty=1", "empty=%20", "empty=+", ""],
    ),
    (
        "tags !page",
        &[
            "tags",
            "tags=1&a=2",
            "tags&pages=2",
            "tags=page",
            "a=page&tags",
        ],
        &[
            "tags&page",
            "tags;page",
            "page=2&tags=1",
            "tags=1&PAGE=1",
            "tags&p%61ge",
            "tags&page[]=1",
            "page",
            "",
        ],
    ),
    (
        "!page",
        &["", "a=1", "pages", "a=page", "a;page=1"],
        &["page", "page=1", "a&page", "Page=", "page%5Bx%5D"],
    ),
    (
        "a b c",
        &["a&b&c", "c=1&b=2&a=3", "b&x&a&y&c", "a;b;c"],
        &["a&b", "a&a&a", "a=b&c", ""],
    ),
    (
        "x=1 x=2",
        &["x=1&x=2", "x=2&y&x=1", "x[]=2&x[]=1"],
        &["x=1", "x=12", "x=1,2", "x=2&x=2", "y=1&y=2", ""],
    ),
    (
        "filter[color]",
        &[
            "filter[color]=red",
            "filter%5Bcolor%5D=red",
            "filter[color][]=red",
        ],
        &["filter[size]=1", "filter", "filter[]=color"],
    ),
];

fn is_refused(status: u16, expected: bool, what: &str) {
    assert_eq!(status, if expected { 403 } else { 200 }, "{what}");
}

fn expected() -> impl Iterator<Item = (usize, &'static str, bool)> {
    let cases = CASES.iter().enumerate();
    cases.flat_map(|(at, (_, matching, others))| {
        let matching = matching.iter().map(move |query| (at, *query, true));
        matching.chain(others.iter().map(move |query| (at, *query, false)))
    })
}

fn target(at: usize, query: &str) -> String {
    let mark = if query.is_empty() { "" } else { "?" };
    format!("/queried/{at}/x{mark}{query}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_decides_about_every_spelling_of_a_query() {
    let mut rules = String::from(
        "[server]\nmax_header_bytes = 262144\nmax_header_line_bytes = 131072\n[check]\nlisten = \"unix:check.sock\"\n",
    );
    for (at, (items, ..)) in CASES.iter().enumerate() {
        let items: Vec<_> = items.split(' ').collect();
        let _ = write!(
            rules,
            "[[rule]]\nname = \"{at}\"\npath = \"/queried/{at}/*\"\nvisitors = \"robots\"\nquery = {items:?}\naction = \"refuse\"\n"
        );
    }
    let house = House::with(&rules).await;
    assert!(expected().count() >= 120);
    for (at, query, is_matching) in expected() {
        let target = target(at, query);
        is_refused(
            house.own("GET", &target, ROBOT).status,
            is_matching,
            &target,
        );
        for dialect in ["nginx", "caddy", "haproxy"] {
            let asked = house.check(dialect, "GET", &target, ROBOT);
            is_refused(asked.status, is_matching, &format!("{dialect} {target}"));
        }
    }
    for parameters in [300, 15_000] {
        let many = target(0, &format!("{}add-to-cart=1", "a=1&".repeat(parameters)));
        let what = format!("{parameters} parameters");
        is_refused(house.own("GET", &many, ROBOT).status, true, &what);
        let asked = house.check("caddy", "GET", &many, ROBOT);
        is_refused(asked.status, true, &what);
    }
    for (at, query, is_matching) in expected().step_by(9) {
        let path = target(at, query);
        let explained = succeed(
            house.directory.path(),
            &["explain", "--path", &path, "--user-agent", ROBOT],
        );
        assert_eq!(
            explained.ends_with("decision  refuse 403\n"),
            is_matching,
            "{path}\n{explained}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_rule_decides_about_every_spelling_of_a_query() {
    let house = House::with("").await;
    for (at, (items, ..)) in CASES.iter().enumerate() {
        let path = format!("/queried/{at}/*");
        succeed(
            house.directory.path(),
            &[
                "rules", "add", "refuse", "--robot", "gptbot", "--path", &path, "--query", items,
            ],
        );
    }
    let known = || {
        house
            .own("GET", "/queried/9/x?filter[color]=1", ROBOT)
            .status
            == 403
    };
    eventually("the live rules", known);
    for (at, query, is_matching) in expected() {
        let target = target(at, query);
        is_refused(
            house.own("GET", &target, ROBOT).status,
            is_matching,
            &target,
        );
    }
}
