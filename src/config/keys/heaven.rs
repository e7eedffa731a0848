//! Robot heaven.

use super::super::key::{Key, Kind, key};

pub(super) const HEAVEN: &[Key] = &[
    key(
        "heaven.serve",
        Kind::Bool,
        "true",
        "Whether this program serves the pages of robot heaven; false: the upstream does",
    ),
    key(
        "heaven.path",
        Kind::Text,
        "/robot-heaven/",
        "Path under which they are served",
    ),
    key(
        "heaven.directory",
        Kind::Text,
        "",
        "Directory of the pages; empty: the page that comes with the program",
    ),
    key(
        "heaven.source",
        Kind::Text,
        "files",
        "Where the pages come from: files (heaven.directory), or database (made from the site robot's descriptions as they are asked for)",
    ),
    key(
        "heaven.url",
        Kind::Text,
        "",
        "URL of the site that the pages are about, such as https://www.example.com; empty: the first of server.hosts",
    ),
    key(
        "heaven.name",
        Kind::Text,
        "",
        "Name of the site on these pages; empty: its host",
    ),
    key(
        "heaven.own_pages",
        Kind::Bool,
        "true",
        "Whether a robot that is sent to heaven.path, by redirect_url or by a rule, is redirected to the page made from the one it asked for, where there is one; pages of a heaven.directory that is published to are known within seconds",
    ),
    key(
        "heaven.markdown_files",
        Kind::Bool,
        "false",
        "Whether heaven that the site robot publishes as files has one in Markdown beside each page; pages made from the database always have one",
    ),
];
