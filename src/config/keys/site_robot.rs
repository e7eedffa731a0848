//! The site robot.

use super::super::key::{Key, Kind, key};

pub(super) const SITE_ROBOT: &[Key] = &[
    key(
        "site_robot.starting_points",
        Kind::List,
        "",
        "URLs at which the site robot begins; empty: it visits nothing",
    ),
    key(
        "site_robot.public_url",
        Kind::Text,
        "",
        "URL by which visitors know the site, such as https://www.example.com, where the robot begins at its upstream: pages are described as of there; empty: heaven.url or the first of server.hosts, for starting points at server.upstream",
    ),
    key(
        "site_robot.depth",
        Kind::Integer {
            min: -1,
            max: 4_294_967_295,
        },
        "10",
        "Links that it follows from a starting point; -1: any number; where it is not set, depth of robot.conf counts",
    ),
    key(
        "site_robot.only_below",
        Kind::List,
        "",
        "Paths of which one must begin what it visits; empty: any",
    ),
    key(
        "site_robot.never_below",
        Kind::List,
        "",
        "Paths that it keeps away from, beside those of heaven and of the admin page",
    ),
    key(
        "site_robot.schedule",
        Kind::Text,
        "",
        "When it runs, as a cron expression in UTC: minute, hour, day, month, day of the week, such as 30 3 * * *; onCompletion=loop keeps to it, and pauses for an hour without it; empty: only when asked",
    ),
    key(
        "site_robot.publish",
        Kind::Text,
        "",
        "Directory that heaven is published into after a run, such as that of heaven.directory; empty: none, it is served from the database",
    ),
    key(
        "site_robot.login",
        Kind::Text,
        "",
        "How it logs in at its starting points: bearer TOKEN, cookie NAME=VALUE or basic NAME:PASSWORD; empty: as robot.conf says",
    ),
    key(
        "site_robot.robot_conf",
        Kind::Text,
        "",
        "robot.conf with all its other settings; empty: none",
    ),
    key(
        "site_robot.robot",
        Kind::List,
        "",
        "Lines of robot.conf that count before those of the file, such as server-delay=2",
    ),
    key(
        "site_robot.filter_conf",
        Kind::Text,
        "",
        "filter.conf with its filters; empty: those that come with the program",
    ),
    key(
        "site_robot.converters",
        Kind::List,
        "",
        "Programs that make HTML of documents, from standard input to standard output: TYPE=PROGRAM ARGUMENTS",
    ),
    key(
        "site_robot.signing_key",
        Kind::Text,
        "",
        "File of the Ed25519 key with which it signs its requests (Web Bot Auth), made if it is not there; empty: it signs none",
    ),
    key(
        "site_robot.signature_agent",
        Kind::Text,
        "",
        "Site that serves the directory of that key, such as https://www.example.com; empty: that of the first starting point",
    ),
];
